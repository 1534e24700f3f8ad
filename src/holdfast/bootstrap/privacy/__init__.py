"""Personal data: how it is stored, and how it is erased."""
