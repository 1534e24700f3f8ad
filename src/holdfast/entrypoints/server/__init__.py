"""The HTTP server: connections, one process, and the processes of `holdfast serve`."""
