"""The Protocols that adapters implement, and the engine's interface to the services."""
