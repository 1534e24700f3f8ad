"""The reaper: writes down that holds have lapsed, so that the facts are timely. It is never
safety: a lapsed hold blocks nobody, whether the reaper came by or not."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, wait
from dataclasses import dataclass

import structlog
from uuid_utils.compat import uuid7

from holdfast.domain.commands import EXPIRE_BATCH_MAX, ExpireHolds, Origin
from holdfast.domain.ids import HoldId, SessionKey
from holdfast.domain.outcomes import Expired
from holdfast.ports.engine import Answer, Submit
from holdfast.ports.holds import Housekeeping, LapsedHold
from holdfast.ports.store import StoreError

HOLDS_PER_RUN = 8 * EXPIRE_BATCH_MAX
WAIT_SECONDS = 30.0

_log = structlog.get_logger("holdfast.reaper")


@dataclass(frozen=True, slots=True)
class Reaped:
    """`left` were found lapsed and not expired by this run: refused, unanswered, or ended by
    somebody else meanwhile. The next run finds those that remain."""

    found: int = 0
    expired: int = 0

    @property
    def left(self) -> int:
        return self.found - self.expired

    @property
    def may_be_more(self) -> bool:
        """The run was full and moved on: another one is due at once."""
        return self.found >= HOLDS_PER_RUN and self.expired > 0


@dataclass(frozen=True, slots=True)
class Reaper:
    """Looks without locks and submits commands like everybody else."""

    housekeeping: Housekeeping
    submit: Submit
    wait_seconds: float = WAIT_SECONDS

    def run_once(self) -> Reaped:
        try:
            lapsed = self.housekeeping.lapsed_holds(HOLDS_PER_RUN)
        except StoreError as error:
            _log.warning("reaper.failed", problem=type(error).__name__)
            return Reaped()
        if not lapsed:
            return Reaped()
        origin = Origin(actor="reaper", request_id=str(uuid7()))
        futures = [self.submit.submit(command) for command in _commands(lapsed, origin)]
        finished, unanswered = wait(futures, timeout=self.wait_seconds)
        if unanswered:
            _log.warning("reaper.unanswered", commands=len(unanswered))
        expired = sum(map(_expired, finished))
        return Reaped(found=len(lapsed), expired=expired)


def _commands(lapsed: Iterable[LapsedHold], origin: Origin) -> Iterator[ExpireHolds]:
    """One session at a time: a command then locks the pools of one session only."""
    by_session: defaultdict[SessionKey, list[HoldId]] = defaultdict(list)
    for hold in lapsed:
        by_session[hold.organization_id, hold.session_id].append(hold.hold_id)
    for (organization_id, _), hold_ids in by_session.items():
        for start in range(0, len(hold_ids), EXPIRE_BATCH_MAX):
            batch = tuple(hold_ids[start : start + EXPIRE_BATCH_MAX])
            yield ExpireHolds(organization_id, batch, origin)


def _expired(future: Future[Answer]) -> int:
    outcome = future.result().outcome
    return len(outcome.hold_ids) if isinstance(outcome, Expired) else 0
