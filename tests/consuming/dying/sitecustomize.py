"""A consumer that kills itself at a given point, as by kill -9. Python imports this file first when
its directory is on PYTHONPATH."""

import os
import signal
from functools import wraps
from typing import Any

from holdfast.adapters.mail.smtp import SmtpNotifier
from holdfast.services.facts.notices import NoticeSender
from holdfast.services.orders.confirmations import OrderTaker

POINTS: dict[str, tuple[type, str, bool]] = {
    "before the order": (OrderTaker, "handle", False),
    "after the order": (OrderTaker, "handle", True),
    "before the mail": (SmtpNotifier, "send", False),
    "after the mail": (SmtpNotifier, "send", True),
    "after the receipt": (NoticeSender, "handle", True),
}


def _die(owner: type, method: str, is_after: bool) -> None:
    original = getattr(owner, method)

    @wraps(original)
    def dying(*arguments: Any) -> None:
        if is_after:
            original(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, method, dying)


_die(*POINTS[os.environ["DIE"]])
