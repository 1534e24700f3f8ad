"""Where calls are answered: by the engine in this process, or by a Holdfast server."""
