"""`holdfast demo` and `holdfast demo-services`."""
