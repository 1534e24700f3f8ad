"""Collects the claims of waiting parties in one pass over a session's waitlist.

Parties are visited in order of arrival. While the first party of a queue cannot be served, it keeps
its claim on what queues share. Later parties are compared with sums of claims instead of with every
queue again.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from uuid import UUID

from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import BlockId, HoldKey, PoolId
from holdfast.domain.waitlist.fairness import Claim, Taking, claim_of, may_be_passed, passed_by
from holdfast.domain.waitlist.queues import Waitlist, WaitlistQueue
from holdfast.domain.waitlist.seating import wished_blocks


@dataclass(slots=True)
class Claims:
    """The claims of the parties visited so far."""

    session: SessionCatalog
    by_queue: dict[UUID, Claim] = field(default_factory=dict)
    # Of parties that must not be overtaken: the units they need, and the blocks they keep closed
    # because too few seats are free there.
    _units: Counter[PoolId] = field(default_factory=Counter)
    _closed: set[BlockId] = field(default_factory=set)
    _unseated: set[HoldKey] = field(default_factory=set)

    def unseated(self, party: Hold) -> None:
        """Record that too few seats are free for this party."""
        self._unseated.add(party.key)

    def first_claim(self, queue: WaitlistQueue, party: Hold) -> Claim:
        """The claim of the queue's first party, which is `party` unless one was recorded before."""
        claim = self.by_queue.get(queue.id)
        if claim is None:
            claim = self.by_queue[queue.id] = claim_of(self.session, queue, party)
            self._keep(claim)
        return claim

    def passes(self, ledger: Ledger, taking: Taking) -> tuple[UUID, ...] | None:
        """The queues it overtakes; None if it has to wait for its turn."""
        if any(units < self._units[pool] for pool, units in taking.left.items()):
            return None
        if any(ledger.seats[id_].place.block_id in self._closed for id_ in taking.seats):
            return None
        shared = (
            claim for claim in self.by_queue.values() if not taking.wants.isdisjoint(claim.wants)
        )
        return passed_by(ledger, self.session, taking, shared)

    def moved(self, waitlist: Waitlist, passed: Iterable[UUID], *, has_freed: bool) -> None:
        """Update the claims after a promotion: an overtaken party may have reached its limit, and
        freed seats may suffice for others."""
        if has_freed:
            self._closed.clear()
            self._unseated.clear()
        for queue_id in passed:
            claim = self.by_queue[queue_id]
            if not may_be_passed(self.session, waitlist.queues[queue_id], claim.first):
                self.by_queue[queue_id] = replace(claim, may_be_passed=False)
                self._keep(self.by_queue[queue_id])

    def _keep(self, claim: Claim) -> None:
        if claim.may_be_passed:
            return
        self._units.update(claim.units)
        if claim.first.key in self._unseated:
            self._closed |= wished_blocks(claim.first, self.session)
