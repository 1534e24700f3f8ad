"""The only place that joins services to adapters: one function per process."""
