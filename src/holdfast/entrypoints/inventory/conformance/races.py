"""Checks of calls that arrive at the same moment."""

from collections.abc import Callable, Sequence
from functools import partial

from holdfast.entrypoints.inventory.conformance.probe import (
    AT_ONCE,
    Broken,
    Service,
    at_once,
    expect,
)

ROUNDS = 5
LEFT = 3


def never_oversells(service: Service) -> None:
    """Of many holds for the last tickets at once, exactly as many succeed as there are tickets"""
    for _ in range(ROUNDS):
        before = service.counts()
        service.new_hold().hold(before.available - LEFT).expect_status(201)
        rivals = [service.new_hold() for _ in range(3 * AT_ONCE)]
        answers = at_once([partial(each.hold, 1) for each in rivals])
        for answer in answers:
            if answer.expect_status(201, 409).status != 201:
                answer.expect_problem(409, "insufficient_inventory")
        won = sum(answer.status == 201 for answer in answers)
        expect(won, LEFT, f"the number of holds that succeeded for the last {LEFT} tickets")
        service.expect_counts(before, held=before.available, committed=0)
        service.give_back()


def takes_equal_holds_once(service: Service) -> None:
    """The same hold, sent several times at once, takes the tickets once"""
    for _ in range(ROUNDS):
        before, mine = service.counts(), service.new_hold()
        answers = at_once([partial(mine.hold, 2)] * AT_ONCE)
        created = [answer.expect_status(200, 201).status for answer in answers].count(201)
        expect(created, 1, "the number of equal holds that were answered 201")
        service.expect_counts(before, held=2, committed=0)
        service.give_back()


def gives_back_what_is_released_at_once(service: Service) -> None:
    """A hold and its release at the same moment leave no tickets held"""
    for _ in range(ROUNDS):
        before = service.counts()
        pairs = [service.new_hold() for _ in range(AT_ONCE // 2)]
        calls = [call for each in pairs for call in (partial(each.hold, 1), each.release)]
        answers = at_once(calls)
        for held, released in zip(answers[::2], answers[1::2], strict=True):
            held.expect_status(201, 409)
            released.expect_status(200)
        service.expect_counts(before, held=0, committed=0)


def ends_once(service: Service) -> None:
    """Of a commit and a release at the same moment, exactly one succeeds"""
    for _ in range(ROUNDS):
        before, pairs = service.counts(), [service.new_hold() for _ in range(AT_ONCE // 2)]
        for each in pairs:
            each.hold(1).expect_status(201)
        calls = [call for each in pairs for call in (partial(each.commit, 1), each.release)]
        answers = at_once(calls)
        sold = 0
        for committed, released in zip(answers[::2], answers[1::2], strict=True):
            statuses = {committed.status, released.status}
            if statuses != {200, 409}:
                raise Broken(f"commit and release at once answered {sorted(statuses)}")
            sold += committed.status == 200
        service.expect_counts(before, held=0, committed=sold)
        service.give_back()


RACES: Sequence[Callable[[Service], None]] = (
    never_oversells,
    takes_equal_holds_once,
    gives_back_what_is_released_at_once,
    ends_once,
)
