"""A small sold-out venue with a waitlist. Holds are paid for and their orders cancelled, so that
waiting parties are promoted; then theirs are, in turn."""

from collections import Counter
from dataclasses import dataclass, field

from holdfast.domain.ids import HoldId
from holdfast.domain.policy import HoldPolicy
from tests.contract.asking import placed
from tests.contract.venues import Hall, Plan, Venue
from tests.faults.arena import Arena
from tests.race.lines import promoter_of, somebody
from tests.support.auditing import rows
from tests.support.patience import wait_until

PLACES = 4  # standing, and as many seats
KINDS = ("standing", "seat")
# Nobody reaps here, and a long storm must not let a promoted hold lapse.
UNHURRIED = HoldPolicy(ttl_seconds=3600, lifetime_max_seconds=3600, waitlist=True)


@dataclass
class Resale:
    arena: Arena
    venue: Venue = field(init=False)
    parties: list[HoldId] = field(default_factory=list)
    _kind_of: dict[HoldId, str] = field(default_factory=dict)  # of holds and parties
    _resold: set[HoldId] = field(default_factory=set)

    def __post_init__(self) -> None:
        hall = Hall({"Stalls": {"A": PLACES}}, {"seat": ()})
        plan = Plan({"floor": PLACES}, {"standing": ("floor",)}, UNHURRIED, hall)
        self.venue = self.arena.world.build(plan)
        for kind in KINDS * PLACES:
            hold = placed(self.arena.engine, self.venue.place((kind, 1), holder=somebody()))
            self._kind_of[hold.id] = kind

    def begin_trades(self) -> None:
        """For each hold with a place: a party joins the waitlist, the hold is paid for, and its
        order is cancelled."""
        for hold_id in self._active() - self._resold:
            kind, venue = self._kind_of[hold_id], self.venue
            party = venue.place((kind, 1), holder=somebody(), key=venue.key())
            sale = venue.convert(hold_id, key=venue.key())
            cancellation = venue.cancel(sale.purchase.order_id, key=venue.key())
            self.arena.trades.append([party, sale, cancellation])
            self.parties.append(party.hold_id)
            self._kind_of[party.hold_id] = kind
            self._resold.add(hold_id)

    def assert_one_party_for_each_order(self) -> None:
        """Once all trades are finished. The promoter serves parties for which a cancellation lacked
        a lock."""
        with promoter_of(self.arena.world, self.arena.engine) as promoter:

            def is_served() -> bool:
                promoter.run_once()
                return len(self._promoted()) >= len(self.parties)

            wait_until(is_served, "a party for each cancelled order")
        assert sorted(self._promoted()) == sorted(self.parties)
        statuses = Counter(self._statuses().values())
        assert statuses == {"active": len(KINDS) * PLACES, "converted": len(self.parties)}

    def _active(self) -> set[HoldId]:
        return {hold_id for hold_id, status in self._statuses().items() if status == "active"}

    def _statuses(self) -> dict[HoldId, str]:
        query = "SELECT id, status FROM hold WHERE organization_id = %s"
        return dict(rows(self.arena.url, query, self.venue.organization_id))

    def _promoted(self) -> list[HoldId]:
        query = "SELECT hold_id FROM outbox WHERE organization_id = %s AND type = 'hold.promoted'"
        found = rows(self.arena.url, query, self.venue.organization_id)
        return [HoldId(hold_id) for (hold_id,) in found]
