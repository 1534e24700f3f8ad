"""The error of a failed command."""


class CommandFailed(Exception):
    """The message is shown at the terminal."""
