"""Personal data at rest: erased, and sealed with another secret."""
