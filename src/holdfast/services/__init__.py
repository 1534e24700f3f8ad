"""The use cases. They import only the domain and the ports."""
