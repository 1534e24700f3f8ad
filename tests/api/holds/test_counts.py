"""One count answers for any number of hours, and large sales are counted less often."""

from datetime import timedelta
from uuid import UUID

from holdfast.domain.ids import OrganizationId, SessionId
from holdfast.ports.statistics import HoldStatistics, SaleHistory, SaleHour
from holdfast.services.holds.statistics import HOURS_MAX, CountedSale, SaleCounter, statistics_key
from tests.api.world import NOW, ORGANIZATION

OTHER = OrganizationId(UUID(int=2))


def an_hour(holds: int, first_hour_ago: float) -> SaleHour:
    return SaleHour(
        first_at=NOW - timedelta(hours=first_hour_ago),
        holds=holds,
        holders=holds - 1,
        expired=1,
        converted=2,
        cancelled=0,
        renewed=1,
        changed=1,
        promoted=1,
        left_waitlist=0,
        waited_seconds=60.0 * holds,
        checkouts=2,
        abandoned=0,
    )


class Counted:
    """Both readers, counting their calls."""

    def __init__(self, active: int) -> None:
        self.active = active
        self.counts = 0

    def statistics(
        self, organization_id: OrganizationId, session_id: SessionId | None, soon: timedelta
    ) -> HoldStatistics:
        return HoldStatistics(self.active, 0, 0, 0, 0, 0, 0, NOW)

    def history(
        self, organization_id: OrganizationId, session_id: SessionId | None, hours: int
    ) -> SaleHistory:
        self.counts += 1
        hours_ago = {0: an_hour(2, 0.5), 5: an_hour(4, 5.9), 100: an_hour(6, 100.2)}
        return SaleHistory(NOW, {ago: hour for ago, hour in hours_ago.items() if ago < hours})


def counter_of(counted: Counted, now: list[float]) -> SaleCounter:
    return SaleCounter(None, counted, counted, lambda: now[0])  # type: ignore[arg-type]


def read(counter: SaleCounter, hours: int, organization_id: OrganizationId = ORGANIZATION) -> int:
    counted = counter.count(statistics_key(organization_id, None, hours))
    assert isinstance(counted, CountedSale)
    return counted.last(hours).sale.holds


def test_one_count_answers_for_any_number_of_hours() -> None:
    counted = Counted(active=100_000)
    counter = counter_of(counted, [0.0])
    assert [read(counter, hours) for hours in range(1, 25)] == [2] * 5 + [6] * 19
    assert [read(counter, hours) for hours in (25, 100, 101, HOURS_MAX)] == [6, 6, 12, 12]
    assert counted.counts == 2
    assert read(counter, 24, OTHER) == 6
    assert counted.counts == 3


def test_a_large_sale_is_counted_again_after_a_while() -> None:
    counted, now = Counted(active=100_000), [0.0]
    counter = counter_of(counted, now)
    for at, counts in ((0.0, 1), (4.9, 1), (5.1, 2), (10.0, 2)):
        now[0] = at
        read(counter, 24)
        assert counted.counts == counts, at


def test_a_small_sale_is_counted_for_every_request() -> None:
    counted = Counted(active=9_000)
    counter = counter_of(counted, [0.0])
    for counts in (1, 2, 3):
        read(counter, 24)
        assert counted.counts == counts


def test_hourly_counts_add_up() -> None:
    sale = Counted(0).history(ORGANIZATION, None, 24).last(6)
    assert (sale.holds, sale.holders, sale.converted) == (6, 4, 4)
    assert sale.first_at == NOW - timedelta(hours=5.9)
    assert sale.since == NOW - timedelta(hours=6)
    assert sale.average_wait_seconds == (120.0 + 240.0) / 2
    assert SaleHistory(NOW, {}).last(24).average_wait_seconds is None
