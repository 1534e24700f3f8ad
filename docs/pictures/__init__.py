"""The pictures of the documentation that are drawn from the code. `make pictures` draws them."""
