"""The names under which failed logins are counted."""

from unicodedata import normalize

from holdfast.domain.access.members import USERNAME_LENGTH_MAX


def counted(username: str) -> str:
    """One name for all spellings that find the same account. PostgreSQL's lower() and Python's
    differ: in the dot of a capital I, and in the last sigma of a word."""
    return normalize("NFKC", username).casefold().replace("\u0307", "")[:USERNAME_LENGTH_MAX]
