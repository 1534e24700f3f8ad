"""How far a queue is read whose first parties can never be served."""

from dataclasses import replace

import pytest

from holdfast.domain.catalog.model import Pool
from holdfast.domain.waitlist import queues
from holdfast.domain.waitlist.fairness import unread_parties
from holdfast.domain.waitlist.queues import LOOK_AHEAD, Waitlist
from tests.domain.waitlist.test_queues import (
    ORGANIZATION,
    POOLS,
    SESSION,
    a_ledger,
    a_session,
    a_waitlist,
    pools_of,
    queue_of,
    waits,
)

KEY = (ORGANIZATION, SESSION)
TOO_LARGE = 11  # of 10


def show(waitlist: Waitlist, kind: str, *, read: int, waiting: int) -> None:
    """Let this many of the parties be read."""
    first = tuple(waits(kind, TOO_LARGE, second) for second in range(1, read + 1))
    queue = waitlist.queues[queue_of(waitlist, first[0])]
    waitlist.queues[queue.id] = replace(queue, first=first, waiting=waiting)


@pytest.mark.parametrize(
    ("read", "waiting", "sold", "is_settled", "wants", "further"),
    [
        pytest.param(1, 99, 9, True, "guest", 1 + LOOK_AHEAD, id="few were read"),
        pytest.param(20, 999, 9, True, "guest", 160, id="many were read"),
        pytest.param(20, 20, 9, True, "guest", None, id="all were read"),
        pytest.param(1, 99, 10, True, "guest", None, id="all is sold"),
        pytest.param(1, 99, 9, False, "guest", None, id="the promoter reads them"),
        pytest.param(1, 99, 9, True, "parking", None, id="something else is wanted"),
    ],
)
def test_a_newcomer_looks_further_only_where_it_helps(
    read: int,
    waiting: int,
    sold: int,
    *,
    is_settled: bool,
    wants: str,
    further: int | None,
) -> None:
    waitlist = a_waitlist(waits("guest", TOO_LARGE, 1))
    show(waitlist, "guest", read=read, waiting=waiting)
    waitlist.is_settled = is_settled
    ledger = a_ledger(waitlist)
    ledger.pools[POOLS["house"]] = Pool(ORGANIZATION, POOLS["house"], 10, sold=sold)
    (queue_id,) = waitlist.queues
    found = unread_parties(ledger, a_session(), frozenset(pools_of(wants)))
    assert found == ({} if further is None else {(KEY, queue_id): further})


def test_the_parties_read_in_all_queues_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queues, "LOOK_AHEAD_MAX", 500)
    kinds = ("guest", "adult", "child")
    waitlist = a_waitlist(*(waits(kind, TOO_LARGE, 1) for kind in kinds))
    read = dict.fromkeys(kinds, 1)
    seen = []
    for _ in range(10):
        for kind in kinds:
            show(waitlist, kind, read=read[kind], waiting=9999)
        further = waitlist.further([*waitlist.queues])
        if not further:
            break
        for kind in kinds:
            read[kind] = further[KEY, queue_of(waitlist, waits(kind, 1, 1))]
        seen.append(sum(read.values()))
    assert seen[0] == 3 * (1 + LOOK_AHEAD)
    assert 500 - len(kinds) < seen[-1] <= 500 + len(kinds)
    assert len(seen) < 10, "it never ends"
    assert not waitlist.can_read_more()
