"""What people see in a browser: the start page, the error pages and the way into the admin."""
