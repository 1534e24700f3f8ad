"""The demo: embedded services and an example sale."""
