"""Checks of the states of a reservation, of repeats, and of calls that overtake each other."""

from collections.abc import Callable, Sequence
from uuid import uuid4

from holdfast.entrypoints.inventory.conformance.probe import Broken, Service, expect


def holds_tickets(service: Service) -> None:
    """A hold answers 201 with the reservation, and takes the tickets"""
    before, mine = service.counts(), service.new_hold()
    mine.hold(3).expect_status(201).expect_reservation(mine, "held", 3)
    service.expect_counts(before, held=3, committed=0)
    mine.read().expect_status(200).expect_reservation(mine, "held", 3)


def repeats_a_hold(service: Service) -> None:
    """A repeated hold answers 200 with the same reservation, and takes nothing more"""
    before, mine = service.counts(), service.new_hold()
    mine.hold(3).expect_status(201)
    for _ in range(2):
        mine.hold(3).expect_status(200).expect_reservation(mine, "held", 3)
    service.expect_counts(before, held=3, committed=0)


def refuses_other_lines(service: Service) -> None:
    """A different hold with the same id is refused with 422, and changes nothing"""
    before, mine = service.counts(), service.new_hold()
    mine.hold(3).expect_status(201)
    for quantity in (2, 4):
        mine.hold(quantity).expect_problem(422, "idempotency_key_reused")
    # Whether the unknown session or the id is refused first is up to the service.
    mine.hold(3, session_id=str(uuid4())).expect_status(400, 422)
    service.expect_counts(before, held=3, committed=0)
    mine.read().expect_reservation(mine, "held", 3)


def says_how_many_are_left(service: Service) -> None:
    """A hold of too many tickets is refused with 409 and the number left, and takes nothing"""
    before, mine = service.counts(), service.new_hold()
    service.new_hold().hold(3).expect_status(201)
    left = before.available - 3
    problem = mine.hold(left + 1).expect_problem(409, "insufficient_inventory")
    expect(problem.get("available_quantity"), left, "available_quantity")
    service.expect_counts(before, held=3, committed=0)
    mine.read().expect_problem(404, "hold_not_found")


def takes_all_lines_or_none(service: Service) -> None:
    """A hold with a line that is short takes none of its lines (needs a second ticket type)"""
    before, mine = service.counts(), service.new_hold()
    short = {"ticket_type_id": service.other_type_id, "quantity": 100_000}
    lines = [*service.lines(1), short]
    mine.hold(1, lines=lines).expect_problem(409, "insufficient_inventory")
    service.expect_counts(before, held=0, committed=0)


def takes_no_line_beside_an_unknown_one(service: Service) -> None:
    """A hold with an unknown ticket type takes none of its lines"""
    before, mine = service.counts(), service.new_hold()
    lines = [*service.lines(1), {"ticket_type_id": str(uuid4()), "quantity": 1}]
    mine.hold(1, lines=lines).expect_problem(400, "invalid_ticket_type")
    service.expect_counts(before, held=0, committed=0)


def releases_tickets(service: Service) -> None:
    """A release gives the tickets back, and its repeat gets the same answer"""
    before, mine = service.counts(), service.new_hold()
    mine.hold(3).expect_status(201)
    answer = mine.release().expect_status(200).expect_reservation(mine, "released")
    expect(mine.release().expect_status(200).body, answer.body, "the answer to a repeat")
    service.expect_counts(before, held=0, committed=0)
    mine.read().expect_status(200).expect_reservation(mine, "released")


def refuses_what_was_released(service: Service) -> None:
    """After a release, hold and commit are refused with 409"""
    before, mine = service.counts(), service.new_hold()
    mine.hold(3).expect_status(201)
    mine.release().expect_status(200)
    for call in (mine.hold, mine.commit):
        problem = call(3).expect_problem(409, "invalid_hold_state")
        expect(problem.get("current_status"), "released", "current_status")
    service.expect_counts(before, held=0, committed=0)


def lets_an_early_release_win(service: Service) -> None:
    """A release that arrives before its hold wins: the hold is refused with 409"""
    before, mine, late = service.counts(), service.new_hold(), service.new_hold()
    early = mine.release().expect_status(200).expect_reservation(mine, "released")
    problem = mine.hold(3).expect_problem(409, "invalid_hold_state")
    expect(problem.get("current_status"), "released", "current_status")
    service.expect_counts(before, held=0, committed=0)
    late.hold(3).expect_status(201)
    same = late.release().expect_status(200).body | {"hold_id": mine.hold_id}
    expect(same, early.body, "the answer to a release after its hold")


def sells_tickets(service: Service) -> None:
    """A commit sells the tickets, and its repeat gets the same answer"""
    before, mine = service.counts(), service.new_hold()
    mine.hold(3).expect_status(201)
    answer = mine.commit(3).expect_status(200).expect_reservation(mine, "committed", 3)
    expect(mine.commit(3).expect_status(200).body, answer.body, "the answer to a repeat")
    service.expect_counts(before, held=0, committed=3)
    mine.hold(3).expect_status(200).expect_reservation(mine, "committed", 3)
    service.expect_counts(before, held=0, committed=3)


def keeps_what_was_sold(service: Service) -> None:
    """After a commit, a release is refused with 409"""
    before, mine = service.counts(), service.new_hold()
    mine.hold(3).expect_status(201)
    mine.commit(3).expect_status(200)
    problem = mine.release().expect_problem(409, "invalid_hold_state")
    expect(problem.get("current_status"), "committed", "current_status")
    service.expect_counts(before, held=0, committed=3)


def refuses_an_early_commit(service: Service) -> None:
    """A commit that arrives before its hold is refused with 404, and works when it is sent again"""
    before, mine = service.counts(), service.new_hold()
    mine.commit(3).expect_problem(404, "hold_not_found")
    service.expect_counts(before, held=0, committed=0)
    mine.hold(3).expect_status(201)
    mine.commit(3).expect_status(200)
    service.expect_counts(before, held=0, committed=3)


def takes_cancelled_tickets_back(service: Service) -> None:
    """A commit with fewer tickets, or none, puts the others on sale again"""
    before, mine = service.counts(), service.new_hold()
    mine.hold(4).expect_status(201)
    for quantity in (4, 3, 1, 0):
        mine.commit(quantity).expect_status(200).expect_reservation(mine, "committed", quantity)
        service.expect_counts(before, held=0, committed=quantity)
    mine.read().expect_status(200).expect_reservation(mine, "committed", 0)


def sells_fewer_than_were_held(service: Service) -> None:
    """A first commit with fewer tickets than were held puts the others on sale again"""
    before, mine = service.counts(), service.new_hold()
    mine.hold(4).expect_status(201)
    mine.commit(1).expect_status(200).expect_reservation(mine, "committed", 1)
    service.expect_counts(before, held=0, committed=1)


def counts_the_smallest_sale(service: Service) -> None:
    """A commit that was overtaken by one with fewer tickets sells nothing more"""
    before, mine = service.counts(), service.new_hold()
    mine.hold(4).expect_status(201)
    mine.commit(1).expect_status(200)
    for quantity in (4, 2, 1):
        mine.commit(quantity).expect_status(200).expect_reservation(mine, "committed", 1)
    service.expect_counts(before, held=0, committed=1)
    mine.commit(0).expect_status(200)
    mine.commit(4).expect_status(200).expect_reservation(mine, "committed", 0)
    service.expect_counts(before, held=0, committed=0)


def recognizes_a_hold_after_cancellations(service: Service) -> None:
    """A repeated hold is recognized by what it asked for, even if fewer tickets are sold now"""
    mine = service.new_hold()
    mine.hold(4).expect_status(201)
    mine.commit(1).expect_status(200)
    mine.hold(4).expect_status(200).expect_reservation(mine, "committed", 1)
    mine.hold(1).expect_problem(422, "idempotency_key_reused")


def sells_no_more_than_was_held(service: Service) -> None:
    """A commit with more tickets than were held is refused with 422"""
    before, mine = service.counts(), service.new_hold()
    mine.hold(3).expect_status(201)
    mine.commit(4).expect_problem(422, "idempotency_key_reused")
    service.expect_counts(before, held=3, committed=0)


def lists_oldest_first(service: Service) -> None:
    """The list has every reservation with a status once, oldest first, page by page"""
    mine = [service.new_hold() for _ in range(3)]
    for each in mine:
        each.hold(1).expect_status(201)
    wanted = [each.hold_id for each in mine]
    for limit in (2, 100):
        found = [each for each in _listed(service, "held", limit) if each in wanted]
        expect(found, wanted, f"the order of holds in the list with limit={limit}")
    mine[0].release().expect_status(200)
    mine[1].commit(1).expect_status(200)
    expect(
        [each for each in _listed(service, "held", 100) if each in wanted],
        wanted[2:],
        "what is left in the list of held reservations",
    )


def _listed(service: Service, status: str, limit: int) -> list[str]:
    found: list[str] = []
    query = {"status": status, "limit": str(limit)}
    while True:
        page = service.call("GET", "/inventory/holds", query=query).expect_status(200).body
        try:
            held, has_more = page["data"], page["has_more"]
            others = {each["status"] for each in held} - {status}
            found += [each["hold_id"] for each in held]
        except (KeyError, TypeError):
            raise Broken("a page of reservations lacks a field") from None
        if others or len(held) > limit:
            raise Broken(
                f"a page with status={status}&limit={limit} has other reservations, or too many"
            )
        if not has_more:
            return found
        if not isinstance(page.get("next"), str) or not held:
            raise Broken("a page with has_more has no next, or is empty")
        query["after"] = page["next"]


STATES: Sequence[Callable[[Service], None]] = (
    holds_tickets,
    repeats_a_hold,
    refuses_other_lines,
    says_how_many_are_left,
    takes_no_line_beside_an_unknown_one,
    takes_all_lines_or_none,
    releases_tickets,
    refuses_what_was_released,
    lets_an_early_release_win,
    sells_tickets,
    keeps_what_was_sold,
    refuses_an_early_commit,
    takes_cancelled_tickets_back,
    sells_fewer_than_were_held,
    counts_the_smallest_sale,
    recognizes_a_hold_after_cancellations,
    sells_no_more_than_was_held,
    lists_oldest_first,
)
