"""What Holdfast needs of the world, as Protocols; and what its services need of the engine."""
