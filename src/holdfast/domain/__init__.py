"""The rules of holding tickets, in plain Python: no input, no output, no clock of its own."""
