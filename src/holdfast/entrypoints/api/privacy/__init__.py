"""Personal data, erased on request."""
