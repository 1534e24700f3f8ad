"""What a holder token may act on."""

from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import EventId, SessionId
from holdfast.domain.immutable import immutable
from holdfast.domain.values import Holder


@immutable
class Reach:
    """The holds of one holder, in one event or session if the token is limited to it. To the token,
    nothing else exists. `quantity_max` limits the tickets that the holder may have in an event."""

    holder: Holder
    event_id: EventId | None = None
    session_id: SessionId | None = None
    quantity_max: int | None = None

    @property
    def is_limited(self) -> bool:
        return self.event_id is not None or self.session_id is not None

    def includes(self, session_id: SessionId, event_id: EventId) -> bool:
        return self.session_id in {None, session_id} and self.event_id in {None, event_id}

    def covers(self, hold: Hold, event_id: EventId) -> bool:
        return hold.belongs_to(self.holder) and self.includes(hold.session_id, event_id)


def caller(holder: Holder | None, reach: Reach | None) -> Holder | None:
    """The person who sent a command: the token's holder or, with a key, the holder it names."""
    return holder if reach is None else reach.holder


def limit_of(reach: Reach | None) -> int | None:
    """The token's own limit of tickets."""
    return None if reach is None else reach.quantity_max
