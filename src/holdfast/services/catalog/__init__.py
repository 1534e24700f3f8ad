"""Setting up what is for sale, and importing seats."""
