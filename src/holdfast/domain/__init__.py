"""The rules of holding tickets in plain Python, without I/O or a clock."""
