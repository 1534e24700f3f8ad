"""The registry of all commands. Add new ones here."""

from holdfast.domain.carts.empty_cart import EmptyCart
from holdfast.domain.carts.fill_cart import FillCart
from holdfast.domain.carts.renew_cart import RenewCart
from holdfast.domain.group.command import Command
from holdfast.domain.holds.due_holds import ExpireHolds, WarnHolds
from holdfast.domain.holds.extend_hold import ExtendHold
from holdfast.domain.holds.place_hold import PlaceHold
from holdfast.domain.holds.release_hold import ReleaseHold
from holdfast.domain.holds.settle_hold import SettleHold
from holdfast.domain.inventory.commit_tickets import CommitTickets
from holdfast.domain.inventory.release_tickets import ReleaseTickets
from holdfast.domain.inventory.reserve_tickets import ReserveTickets
from holdfast.domain.orders.cancel_order import CancelOrder
from holdfast.domain.orders.convert_holds import ConvertHolds
from holdfast.domain.orders.record_refund import RecordRefund
from holdfast.domain.orders.start_checkout import StartCheckout
from holdfast.domain.seats.block_seats import BlockSeats
from holdfast.domain.seats.move_seats import MoveSeats
from holdfast.domain.waitlist.explain_waiting import ExplainWaiting
from holdfast.domain.waitlist.promote_hold import PromoteHold
from holdfast.domain.waitlist.promote_waiting import PromoteWaiting

COMMANDS: tuple[type[Command], ...] = (
    PlaceHold,
    SettleHold,
    ReleaseHold,
    ExtendHold,
    ExpireHolds,
    WarnHolds,
    BlockSeats,
    MoveSeats,
    FillCart,
    EmptyCart,
    RenewCart,
    PromoteWaiting,
    PromoteHold,
    ExplainWaiting,
    StartCheckout,
    ConvertHolds,
    CancelOrder,
    RecordRefund,
    ReserveTickets,
    ReleaseTickets,
    CommitTickets,
)


def incomplete(commands: tuple[type[Command], ...] = COMMANDS) -> list[str]:
    """The problems of the registry; empty if it is complete."""
    problems = [
        f"{each.__name__} does not define {', '.join(sorted(each.__abstractmethods__))}"
        for each in commands
        if each.__abstractmethods__
    ]
    # By name: a dataclass with slots is created twice, and the first class may still exist.
    known = {(each.__module__, each.__name__) for each in commands}
    problems += [
        f"{name} of {module} is not registered"
        for module, name in sorted(_concrete_subclasses(Command) - known)  # type: ignore[type-abstract]
    ]
    return problems


def _concrete_subclasses(base: type[Command]) -> set[tuple[str, str]]:
    found = set()
    for each in base.__subclasses__():
        found |= _concrete_subclasses(each)
        if not each.__abstractmethods__:
            found.add((each.__module__, each.__name__))
    return found


if _problems := incomplete():
    raise TypeError("; ".join(_problems))
