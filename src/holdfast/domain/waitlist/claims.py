"""The claims of those who wait, gathered in one pass over the waitlist of a session.

Parties are looked at in the order in which they came. The first party of a queue keeps its claim on
what queues share while it cannot be served. So each later party is compared with sums of claims,
and not with every queue again.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from uuid import UUID

from holdfast.domain.catalog.model import SessionCatalogue
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import BlockId, HoldKey, PoolId
from holdfast.domain.waitlist.fairness import Claim, Taking, claim_of, may_be_passed, passed_by
from holdfast.domain.waitlist.queues import WaitingLine, Waitlist
from holdfast.domain.waitlist.seating import wished_blocks


@dataclass(slots=True)
class Claims:
    """Of the parties that were looked at so far."""

    session: SessionCatalogue
    by_line: dict[UUID, Claim] = field(default_factory=dict)
    # Of parties that must not be overtaken: the units that they need, and the blocks that they keep
    # closed because the free seats there are too few for them.
    _units: Counter[PoolId] = field(default_factory=Counter)
    _closed: set[BlockId] = field(default_factory=set)
    _unseated: set[HoldKey] = field(default_factory=set)

    def unseated(self, party: Hold) -> None:
        """There are too few seats for them at the moment."""
        self._unseated.add(party.key)

    def kept_by(self, line: WaitingLine, party: Hold) -> Claim:
        """This party was not served: the claim of the first of its queue."""
        claim = self.by_line.get(line.id)
        if claim is None:
            claim = self.by_line[line.id] = claim_of(self.session, line, party)
            self._keep(claim)
        return claim

    def passes(self, ledger: Ledger, taking: Taking) -> tuple[UUID, ...] | None:
        """The queues whose first is overtaken by it; None where it has to wait for its turn."""
        if any(units < self._units[pool] for pool, units in taking.left.items()):
            return None
        if any(ledger.seats[id_].place.block_id in self._closed for id_ in taking.seats):
            return None
        shared = (
            claim for claim in self.by_line.values() if not taking.wants.isdisjoint(claim.wants)
        )
        return passed_by(ledger, self.session, taking, shared)

    def moved(self, waitlist: Waitlist, passed: Iterable[UUID], *, has_freed: bool) -> None:
        """Somebody was served. A party that was overtaken may have borne it for the last time, and
        seats that were freed meanwhile may be enough for others."""
        if has_freed:
            self._closed.clear()
            self._unseated.clear()
        for line_id in passed:
            claim = self.by_line[line_id]
            if not may_be_passed(self.session, waitlist.lines[line_id], claim.first):
                self.by_line[line_id] = replace(claim, may_be_passed=False)
                self._keep(self.by_line[line_id])

    def _keep(self, claim: Claim) -> None:
        if claim.may_be_passed:
            return
        self._units.update(claim.units)
        if claim.first.key in self._unseated:
            self._closed |= wished_blocks(claim.first, self.session)
