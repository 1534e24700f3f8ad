"""Answers about hold statistics."""

from typing import Annotated, Any, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from holdfast.entrypoints.api.http.fields import Moment
from holdfast.entrypoints.api.http.shapes import AnswerShape, utc
from holdfast.ports.statistics import SaleStatistics
from holdfast.services.holds.statistics import Statistics

_DECIMALS = 4

Rate: TypeAlias = Annotated[
    float | UnsetType, Meta(description="From 0 to 1; absent if there is nothing to compare.")
]


class WindowAnswer(AnswerShape, frozen=True, kw_only=True):
    """Holds made since `since`; a waiting hold counts once it is promoted. Rates are shares of the
    ended holds: expired, paid or released. `abandonment_rate` is the share of those with a checkout
    that ended without an order."""

    since: Annotated[Moment, Meta(description="Start of the window.")]
    holds: Annotated[int, Meta(description="Holds made.")]
    holders: Annotated[int, Meta(description="Holders who made them.")]
    holds_per_holder: Annotated[float, Meta(description="Holds per holder.")] | UnsetType = UNSET
    reservations_per_minute: Annotated[
        float,
        Meta(
            description="Holds per minute since the first hold of the window, over at least "
            "a minute."
        ),
    ]
    expired: Annotated[int, Meta(description="Holds that expired.")]
    expiration_rate: Rate = UNSET
    converted: Annotated[int, Meta(description="Holds that were paid.")]
    conversion_rate: Rate = UNSET
    cancelled: Annotated[int, Meta(description="Holds that were released.")]
    renewed: Annotated[int, Meta(description="Carts renewed after their hold had expired.")]
    changed: Annotated[int, Meta(description="Carts whose hold was changed.")]
    promoted: Annotated[int, Meta(description="Holds promoted from the waitlist.")]
    left_waitlist: Annotated[
        int,
        Meta(description="Parties that left the waitlist, or expired on it, before their turn."),
    ]
    average_wait_seconds: (
        Annotated[float, Meta(description="Average wait of promoted parties.")] | UnsetType
    ) = UNSET
    checkouts: Annotated[int, Meta(description="Holds whose holder started a checkout or paid.")]
    hold_to_checkout_rate: Rate = UNSET
    abandonment_rate: Rate = UNSET


class StatsAnswer(AnswerShape, frozen=True):
    """Holds at one moment. Parties on the waitlist are counted separately."""

    active_holds: Annotated[int, Meta(description="Live holds.")]
    expired_holds: Annotated[
        int,
        Meta(description="Lapsed holds not cleaned up yet; their places are already free."),
    ]
    total_held_tickets: Annotated[int, Meta(description="Tickets of live holds.")]
    total_held_seats: Annotated[int, Meta(description="Those of them with an assigned seat.")]
    holds_expiring_soon: Annotated[
        int, Meta(description="Live holds that expire within five minutes.")
    ]
    waiting_parties: Annotated[int, Meta(description="Parties on the waitlist.")]
    expired_waiting_parties: Annotated[
        int,
        Meta(description="Parties that expired on the waitlist and are not cleaned up yet."),
    ]
    at: Moment
    window: Annotated[WindowAnswer, Meta(description="Statistics of the last `hours`.")]


def stats_answer(statistics: Statistics) -> StatsAnswer:
    now = statistics.now
    return StatsAnswer(
        active_holds=now.active,
        expired_holds=now.lapsed,
        total_held_tickets=now.tickets,
        total_held_seats=now.seats,
        holds_expiring_soon=now.expiring_soon,
        waiting_parties=now.waiting,
        expired_waiting_parties=now.lapsed_waiting,
        at=utc(now.at),
        window=_window(statistics.sale),
    )


def _window(sale: SaleStatistics) -> WindowAnswer:
    shown = {name: _shown(getattr(sale, name)) for name in WindowAnswer.__struct_fields__}
    return WindowAnswer(**shown | {"since": utc(sale.since)})


def _shown(value: Any) -> Any:
    if value is None:
        return UNSET
    return round(value, _DECIMALS) if isinstance(value, float) else value
