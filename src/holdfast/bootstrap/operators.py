"""Who changes something at the command line, for the audit log."""

from getpass import getuser

from uuid_utils.compat import uuid7

from holdfast.domain.group.origin import Origin


def operator_origin() -> Origin:
    return Origin(actor="operator", request_id=str(uuid7()), acting_user=_login_name())


def _login_name() -> str | None:
    try:
        return getuser()
    except (KeyError, OSError):  # the user of a container may have no name
        return None
