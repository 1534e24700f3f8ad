"""What people see: the pages in a real browser."""
