"""The journal: one log line per hold that came, went or ran out of time, and the audit of attempts
that failed. The engine tells it of every group that it has committed."""

import threading
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime

import structlog

from holdfast.domain.commands import Command, PlaceHold, ReleaseHold
from holdfast.domain.refusals import Refusal, RefusalCode
from holdfast.domain.transitions import Transition
from holdfast.ports.attempts import AttemptLog, FailedAttempt
from holdfast.ports.store import Rejected, StoreError

ATTEMPTS_KEPT_MAX = 10_000
BATCH_SIZE = 500

# Our own trouble is in the log; it is no attempt that somebody made and failed.
_NOT_AN_ATTEMPT = {RefusalCode.SERVICE_UNAVAILABLE, RefusalCode.INTERNAL_ERROR}

_log = structlog.get_logger("holdfast.holds")


class Journal:
    """Implements Observer. Writing the attempts down is a duty of its own: when the database is
    slow or away they wait here, and when there are too many the oldest are dropped and counted."""

    def __init__(self, attempts: AttemptLog) -> None:
        self._attempts = attempts
        self._lock = threading.Lock()
        self._waiting: deque[FailedAttempt] = deque()
        self._dropped = 0

    def committed(self, transitions: Sequence[Transition]) -> None:
        for transition in transitions:
            hold = transition.after
            email = hold.holder.email
            _log.info(
                transition.fact_type.value,
                organization_id=str(hold.organization_id),
                hold_id=str(hold.id),
                session_id=str(hold.session_id),
                quantity=hold.quantity,
                customer_email=email.redacted if email else None,
                actor=transition.origin.actor,
                request_id=transition.origin.request_id,
            )

    def refused(self, command: Command, refusal: Refusal) -> None:
        match command:
            case PlaceHold():
                action = "hold.create_failed"
            case ReleaseHold():
                action = "hold.release_failed"
            case _:
                return
        if refusal.code in _NOT_AN_ATTEMPT:
            return
        attempt = FailedAttempt(
            datetime.now(UTC), action, command.hold_key, refusal.code.value, command.origin
        )
        with self._lock:
            self._waiting.append(attempt)
            if len(self._waiting) > ATTEMPTS_KEPT_MAX:
                self._waiting.popleft()
                self._dropped += 1

    def run_once(self) -> bool:
        """Write one batch down; says whether more is waiting."""
        with self._lock:
            batch = [self._waiting.popleft() for _ in range(min(BATCH_SIZE, len(self._waiting)))]
            dropped, self._dropped = self._dropped, 0
        if dropped:
            _log.warning("attempts.dropped", count=dropped)
        try:
            self._attempts.record(batch)
        except StoreError as error:
            _log.warning("attempts.failed", problem=type(error).__name__)
            if not isinstance(error, Rejected):  # what is refused once is refused for ever
                self._put_back(batch)
            return False
        return bool(self._waiting)

    def _put_back(self, batch: list[FailedAttempt]) -> None:
        with self._lock:
            room = ATTEMPTS_KEPT_MAX - len(self._waiting)
            kept = batch[-room:] if room else []
            self._waiting.extendleft(reversed(kept))
            self._dropped += len(batch) - len(kept)
