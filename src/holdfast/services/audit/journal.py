"""The journal: a log entry for each change of a hold and for each batch of seats that was blocked
or unblocked, and the audit of failed attempts. The engine calls it for every committed group."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import structlog

from holdfast.domain.access.tokens import HolderToken
from holdfast.domain.group.command import Command
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.transitions import FactType, SeatTransition, Transition
from holdfast.domain.holds.placement import Asked
from holdfast.domain.orders.cancellation import Cancellation
from holdfast.domain.orders.facts import REFUNDED
from holdfast.domain.orders.order_change import OrderChange
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.ports.audit.attempts import AttemptLog, EndedKey, FailedAttempt, Stranger
from holdfast.ports.store import Rejected, StoreError
from holdfast.services.audit.attempt_buffer import AttemptBuffer, StrangerBuffer, folded

BATCH_SIZE = 500

# Our own failures go to the log.
_NOT_AN_ATTEMPT = {RefusalCode.SERVICE_UNAVAILABLE, RefusalCode.INTERNAL_ERROR}

# Refusals for other reasons than the hold's time, e.g. the hold does not exist.
_NOT_AN_EXTENSION = {
    RefusalCode.EMPTY_CART,
    RefusalCode.HOLD_NOT_FOUND,
    RefusalCode.EVENT_NOT_AVAILABLE,
    RefusalCode.EVENT_UNAVAILABLE,
    RefusalCode.CART_OF_ANOTHER_HOLDER,
    RefusalCode.IDEMPOTENCY_KEY_REUSED,
}

# A buyer may have paid for nothing, or may be trying to use a payment twice.
_OF_PAYMENTS = {
    RefusalCode.PAYMENT_REFUSED.value,
    RefusalCode.PAYMENT_ALREADY_USED.value,
    RefusalCode.ALREADY_PAID.value,
}

_log = structlog.get_logger("holdfast.holds")


LogEntry = Mapping[str, object]


def _log_one_by_one(entries: Sequence[LogEntry]) -> None:
    for entry in entries:
        _log.info(**entry)


class Journal:
    """Implements Observer and AttemptJournal. A duty of its own writes the attempts: while the
    database is slow or down they are kept here, and beyond a limit the oldest are dropped and
    counted. Equal attempts in one batch become one entry. `log_all` logs the changes of a
    group."""

    def __init__(
        self,
        attempts: AttemptLog,
        log_all: Callable[[Sequence[LogEntry]], None] = _log_one_by_one,
    ) -> None:
        self._attempts = attempts
        self._log_all = log_all
        self._waiting = AttemptBuffer()
        self._strangers = StrangerBuffer()
        self._not_extended: Counter[str] = Counter()

    def committed(
        self,
        transitions: Sequence[Transition],
        seat_transitions: Sequence[SeatTransition],
        order_changes: Sequence[OrderChange] = (),
    ) -> None:
        entries = [_change(transition) for transition in transitions]
        if seat_transitions:
            entries += _blocked(seat_transitions)
        if order_changes:
            entries = [*map(_order_changed, order_changes), *entries]
        self._log_all(entries)

    def refused(self, command: Command, refusal: Refusal) -> None:
        if command.gives_time:
            self._log_not_extended(command, refusal)
        failed = None if refusal.code in _NOT_AN_ATTEMPT else command.failed_action(refusal)
        if failed is not None:
            organization_id, origin = command.organization_id, command.origin
            self.failed(FailedAttempt.now(failed, organization_id, refusal, origin))

    def failed(self, attempt: FailedAttempt) -> None:
        if attempt.code in _OF_PAYMENTS:
            _log.warning(
                "payment.refused",
                organization_id=str(attempt.organization_id),
                hold_id=str(attempt.hold_id),
                code=attempt.code,
                actor=attempt.origin.actor,
                request_id=attempt.origin.request_id,
            )
        self._waiting.add(attempt)

    def unauthorized(self, stranger: Stranger) -> None:
        self._strangers.add(stranger)

    def _log_not_extended(self, command: Command, refusal: Refusal) -> None:
        """Operators have to notice buyers who start to pay and do not get the time for it."""
        if refusal.code in _NOT_AN_EXTENSION:
            return
        is_late = refusal.code is RefusalCode.EXPIRED_BEFORE_CHECKOUT
        what = "hold.expired_before_checkout" if is_late else "hold.extension_failed"
        self._not_extended[what] += 1
        write = _log.error if refusal.code in _NOT_AN_ATTEMPT else _log.warning
        write(
            what,
            organization_id=str(command.organization_id),
            code=refusal.code.value,
            count=self._not_extended[what],
            actor=command.origin.actor,
            request_id=command.origin.request_id,
        )

    def run_once(self) -> bool:
        """Write one batch to the store; returns whether there are more."""
        self._identify_strangers()
        batch = folded(self._waiting.take(BATCH_SIZE))
        dropped = self._waiting.dropped()
        if dropped:
            _log.warning("attempts.dropped", count=dropped)
        pieces = [batch]
        while pieces:
            piece = pieces.pop()
            try:
                self._attempts.record(piece)
            except Rejected:
                pieces += _halves(piece)
            except StoreError as error:
                _log.warning("attempts.failed", problem=error.problem)
                left = [attempt for each in (piece, *pieces[::-1]) for attempt in each]
                self._waiting.put_back(left)
                return False
        return bool(self._waiting)

    def _identify_strangers(self) -> None:
        """Audit the use of ended keys and tokens for their organizations, which need to know who
        still uses them. All others share one log entry."""
        by_credential, count = self._strangers.take()
        strangers = [stranger for stranger, _ in by_credential.values()]
        hashes = {each.secret_hash for each in strangers if each.secret_hash is not None}
        ended: Mapping[bytes, EndedKey] = {}
        if hashes:
            try:
                ended = self._attempts.ended_keys(list(hashes))
            except StoreError as error:
                _log.warning("attempts.failed", problem=error.problem)
        for (credential, _), (stranger, times) in by_credential.items():
            key = ended.get(credential)
            if stranger.token is not None:
                self._waiting.add(_with_ended_token(stranger, stranger.token, times))
            elif key is not None:
                self._waiting.add(_with_ended_key(stranger, key, times))
            else:
                count += times
        if count:
            _log.warning("requests.unauthorized", count=count)


def _with_ended_key(stranger: Stranger, key: EndedKey, times: int) -> FailedAttempt:
    return FailedAttempt(
        "request.refused",
        key.organization_id,
        "unauthorized",
        replace(stranger.origin, actor=f"key:{key.key_id}"),
        key_id=key.key_id,
        details=stranger.details,
        times=times,
    )


def _with_ended_token(stranger: Stranger, token: HolderToken, times: int) -> FailedAttempt:
    return FailedAttempt(
        "request.refused",
        token.organization_id,
        "unauthorized",
        replace(stranger.origin, actor=f"token:{token.id}"),
        asked=Asked(holder=token.holder),
        details=stranger.details,
        times=times,
    )


def _halves(batch: list[FailedAttempt]) -> list[list[FailedAttempt]]:
    """A batch holds rows of many tenants: bisect it, to drop only the row that the database
    rejects. The first half comes last and is popped first."""
    if len(batch) == 1:
        _log.error("attempts.rejected", action=batch[0].action, code=batch[0].code)
        return []
    middle = len(batch) // 2
    return [batch[middle:], batch[:middle]]


def _change(transition: Transition) -> LogEntry:
    hold = transition.after
    email = hold.holder.email
    return {
        "organization_id": hold.organization_id,
        "hold_id": hold.id,
        "session_id": hold.session_id,
        "quantity": 0 if transition.ends_waiting else hold.quantity,
        "customer_email": email.redacted if email else None,
        "actor": transition.origin.actor,
        "request_id": transition.origin.request_id,
        "event": transition.fact_type.value,
    }


def _order_changed(change: OrderChange) -> LogEntry:
    """One log entry for any number of tickets."""
    order = change.after
    event = FactType.ORDER_CANCELLED.value if isinstance(change, Cancellation) else REFUNDED
    email = order.holder.email
    return {
        "organization_id": str(order.organization_id),
        "order_id": str(order.id),
        "quantity": len(change.tickets),
        "customer_email": email.redacted if email else None,
        "actor": change.origin.actor,
        "request_id": change.origin.request_id,
        "event": event,
    }


def _blocked(seat_transitions: Sequence[SeatTransition]) -> list[LogEntry]:
    """One log entry per call, for any number of seats: the audit has a row for each."""
    calls: dict[tuple[Origin, FactType], list[SeatTransition]] = {}
    for each in seat_transitions:
        calls.setdefault((each.origin, each.fact_type), []).append(each)
    return [
        {
            "organization_id": str(changed[0].after.organization_id),
            "session_id": str(changed[0].after.session_id),
            "seats": len(changed),
            "actor": origin.actor,
            "request_id": origin.request_id,
            "event": fact_type.value,
        }
        for (origin, fact_type), changed in calls.items()
    ]
