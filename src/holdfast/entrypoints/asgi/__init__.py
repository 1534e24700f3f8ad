"""What is served beside the API on the same port."""
