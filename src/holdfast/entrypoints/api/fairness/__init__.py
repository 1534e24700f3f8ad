"""Fair shares of threads, of the event loop and of memory."""
