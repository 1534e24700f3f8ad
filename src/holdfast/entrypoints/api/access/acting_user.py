"""The person behind a call: the member whose session it is, or, with a key, the one whom the caller
names in `X-Acting-User`. That name is recorded, never checked."""

from holdfast.domain.access.members import ACTING_USER_LENGTH_MAX
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.exchange import Call
from holdfast.entrypoints.api.http.problems import Problem

_HEADER = b"x-acting-user"


def acting_user(call: Call) -> str | None:
    sent, member = call.headers.get(_HEADER), call.principal.member
    if member is not None:
        if sent is not None:
            raise _invalid("Leave out X-Acting-User: this session belongs to a member")
        return member.username
    if sent is None:
        return None
    if call.principal.holder is not None:
        raise _invalid("Leave out X-Acting-User: a holder token acts for its holder only")
    try:
        name = sent.decode("utf-8").strip()
    except UnicodeDecodeError:
        name = ""
    if not name or len(name) > ACTING_USER_LENGTH_MAX or not name.isprintable():
        raise _invalid(
            f"X-Acting-User must be 1 to {ACTING_USER_LENGTH_MAX} printable characters in UTF-8"
        )
    return name


def _invalid(message: str) -> Problem:
    return Problem(ProblemCode.INVALID_ACTING_USER, message)
