"""What the tests stand on: real services, real server processes, small worlds."""
