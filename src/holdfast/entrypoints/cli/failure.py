"""How a command says that it cannot do what was asked."""


class CommandFailed(Exception):
    """One clear sentence for the person at the terminal."""
