"""`holdfast release-expired`."""

import argparse

from holdfast.bootstrap.duties import keep_releasing
from holdfast.bootstrap.engine_room import EngineRoom
from holdfast.bootstrap.settings import Settings
from holdfast.entrypoints.cli.terminal import needs_database, say, stop_signal
from holdfast.services.holds.sweep import Swept, sweep

LOOKED_AT_MAX = 100_000


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "release-expired",
        help="expire lapsed holds and release their tickets",
        description="Expires every hold whose time is up, and reports the number of holds and of "
        "tickets that are on sale again. Lapsed places on the waitlist are counted separately, "
        "because they hold no tickets. Safe to run at any time, and several times at once. Exit "
        "code 0: none is left; 1: some could not be expired.",
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--dry-run", action="store_true", help="show what would be done, but change nothing"
    )
    how.add_argument(
        "--watch",
        action="store_true",
        help="keep running and expire each hold when its time is up, until stopped by a signal",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="list each lapsed hold")
    parser.set_defaults(run=run)


def run(settings: Settings, options: argparse.Namespace) -> int:
    with needs_database("the holds could not be read"), EngineRoom(settings).running() as room:
        if options.watch:
            keep_releasing(room, stop_signal())
            return 0
        if options.verbose or options.dry_run:
            _show_lapsed(room, verbose=options.verbose)
        return 0 if options.dry_run else _release(room)


def _show_lapsed(room: EngineRoom, *, verbose: bool) -> None:
    """The holds that a release would end, oldest first."""
    lapsed = [hold for hold in room.holds.due_holds(LOOKED_AT_MAX) if hold.is_lapsed]
    if verbose:
        for due in lapsed:
            seen = room.holds.hold(due.organization_id, due.hold_id)
            if seen is not None:
                hold = seen.hold
                had = "waiting" if due.is_waiting else f"{hold.quantity} ticket(s)"
                say(
                    f"{hold.reference}  {hold.id}  session {hold.session_id}  {had}  "
                    f"lapsed since {hold.expires_at:%Y-%m-%d %H:%M:%S}Z"
                )
    more = "at least " if len(lapsed) >= LOOKED_AT_MAX else ""
    waiting = sum(hold.is_waiting for hold in lapsed)
    holds, tickets = len(lapsed) - waiting, sum(hold.quantity for hold in lapsed)
    say(f"Found {more}{holds:,} lapsed hold(s) with {more}{tickets:,} ticket(s).")
    if waiting:
        say(f"Found {more}{waiting:,} lapsed place(s) on the waitlist, which hold no tickets.")


def _release(room: EngineRoom) -> int:
    swept = sweep(room.reaper, _show_progress)
    say(f"Expired {swept.expired:,} hold(s), released {swept.tickets_released:,} ticket(s).")
    if swept.waiting:
        say(f"Expired {swept.waiting:,} place(s) on the waitlist, which held no tickets.")
    if swept.failed:
        say(
            f"Failed to expire {swept.failed:,} hold(s) or place(s) on the waitlist: another "
            "transaction has locked them, or the database did not answer. Run this again."
        )
    return 1 if swept.failed else 0


def _show_progress(swept: Swept) -> None:
    say(f"... {swept.expired:,} expired, {swept.tickets_released:,} tickets released")
