"""Finds the best available seats: together in one row without leaving an orphan; else together;
else in rows as close to each other as possible."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise

from holdfast.domain.ids import BlockId
from holdfast.domain.immutable import immutable
from holdfast.domain.seats.seat_plan import FreeSeats, Row, SeatPlan, Spot


@immutable
class Search:
    """A number of seats in these blocks, some of them accessible. `limits` cap the seats taken
    from a block. Seats are side by side if possible; `is_together` requires it."""

    quantity: int
    blocks: frozenset[BlockId]
    accessible: int = 0
    limits: Mapping[BlockId, int] = field(default_factory=dict)
    is_together: bool = False


def best_available(plan: SeatPlan, free: FreeSeats, search: Search) -> tuple[Spot, ...] | None:
    """The best seats, or None if there are too few."""
    for refuses_orphans in (True, False):
        for withheld in _withheld(plan, free, search):
            found = _together(plan, free, search, withheld, refuses_orphans)
            if found:
                return found
    if search.is_together or count_available(plan, free, search) < search.quantity:
        return None
    for withheld in _withheld(plan, free, search):
        found = _near(plan, free, search, withheld)
        if found:
            return found
    return None


Withheld = Callable[[Row], int]  # the places of a row that must not be given, free or not


def _nothing(_: Row) -> int:
    return 0


def _special(row: Row) -> int:
    return row.special


def count_available(
    plan: SeatPlan, free: FreeSeats, search: Search, withheld: Withheld = _nothing
) -> int:
    counts: dict[BlockId, int] = dict.fromkeys(search.blocks, 0)
    for number in plan.rows_in(search.blocks):
        row = plan.rows[number]
        counts[row.block_id] += (free.masks[number] & ~withheld(row)).bit_count()
    return sum(min(count, search.limits.get(block, count)) for block, count in counts.items())


def orphans(free: int, picked: int) -> tuple[int, ...]:
    """The bits of single seats that this pick leaves over, except unavoidable ones: a run of free
    seats one longer than the pick always leaves one."""
    rest = free & ~picked
    lonely = _lonely(rest) & (picked << 1 | picked >> 1)
    return tuple(bit for bit in _bits(lonely) if (_run_around(free, bit) & rest).bit_count() > 1)


def _withheld(plan: SeatPlan, free: FreeSeats, search: Search) -> Iterator[Withheld]:
    """The places to withhold, one attempt after another. Restricted views are used last. Accessible
    and companion places are kept until nothing else is left (or nothing else side by side, if
    that is required)."""
    if not search.accessible:
        if plan.has_restricted_views:
            yield lambda row: row.special | row.restricted
        yield _special
        if search.is_together:
            is_enough = bool(_together(plan, free, search, _special, refuses_orphans=False))
        else:
            is_enough = count_available(plan, free, search, _special) >= search.quantity
        if is_enough:
            return
    yield _nothing


def _together(
    plan: SeatPlan, free: FreeSeats, search: Search, withheld: Withheld, refuses_orphans: bool
) -> tuple[Spot, ...]:
    """Seats side by side in the first row that has enough, without orphans if `refuses_orphans`."""
    wanted, longest = search.quantity, free.longest
    for number in plan.rows_in(search.blocks):
        if longest[number] < wanted:
            continue
        row, everything = plan.rows[number], free.masks[number]
        starts = _starts(everything & ~withheld(row), wanted)
        if not starts or search.limits.get(row.block_id, wanted) < wanted:
            continue
        if refuses_orphans:
            leaves_left = (everything & ~(everything << 1)) << 1
            leaves_right = (everything & ~(everything >> 1)) >> wanted
            starts &= ~(leaves_left | leaves_right)
        start = _choose_start(row, starts, search)
        if start is not None:
            return tuple(Spot(number, start + offset) for offset in range(wanted))
    return ()


def _choose_start(row: Row, starts: int, search: Search) -> int | None:
    """The start nearest to the middle of the row. For accessible seats, first minimize the regular
    places used."""
    middle = (row.width - search.quantity) / 2
    if not search.accessible:
        return _nearest(starts, middle)
    window = (1 << search.quantity) - 1
    candidates = [
        (((~row.special >> start) & window).bit_count(), abs(start - middle), start)
        for start in _bits(starts)
        if ((row.accessible >> start) & window).bit_count() >= search.accessible
    ]
    return min(candidates)[2] if candidates else None


def _nearest(starts: int, middle: float) -> int | None:
    """The bit nearest to the middle; the left one if two are equally near."""
    split = int(middle) + 1
    left = (starts & (1 << split) - 1).bit_length() - 1
    beyond = starts >> split
    if not beyond:
        return left if left >= 0 else None
    right = split + (beyond & -beyond).bit_length() - 1
    return left if left >= 0 and middle - left <= right - middle else right


Rows = Mapping[int, int]  # the available places by row number


def _near(plan: SeatPlan, free: FreeSeats, search: Search, withheld: Withheld) -> tuple[Spot, ...]:
    """Seats in the fewest consecutive rows of one block, or in the best rows overall if no block
    has enough."""
    rows = {
        number: free.masks[number] & ~withheld(plan.rows[number])
        for number in plan.rows_in(search.blocks)
    }
    windows = [window for block in search.blocks if (window := _window(plan, search, rows, block))]
    if windows:
        chosen: Sequence[int] = min(windows, key=lambda window: (len(window), window[0]))
    else:
        chosen = tuple(rows)
    return _take(plan, search, {number: rows[number] for number in chosen})


def _window(plan: SeatPlan, search: Search, rows: Rows, block: BlockId) -> Sequence[int]:
    if search.limits.get(block, search.quantity) < search.quantity:
        return ()
    own = plan.rows_of.get(block, ())
    counts = [rows[number].bit_count() for number in own]
    accessible = [(rows[number] & plan.rows[number].accessible).bit_count() for number in own]
    best: Sequence[int] = ()
    start = total = total_accessible = 0
    for end, count in enumerate(counts):
        total += count
        total_accessible += accessible[end]
        while total >= search.quantity and total_accessible >= search.accessible:
            if not best or end - start + 1 < len(best):
                best = own[start : end + 1]
            total -= counts[start]
            total_accessible -= accessible[start]
            start += 1
    return best


def _take(plan: SeatPlan, search: Search, rows: Rows) -> tuple[Spot, ...]:
    """Take the requested accessible places first, then the longest runs to seat people together,
    with three and two rather than four and one."""
    taken: list[Spot] = []
    left = dict(search.limits)
    used: dict[int, int] = dict.fromkeys(rows, 0)

    def take(number: int, bits: Iterator[int], enough: int) -> None:
        block = plan.rows[number].block_id
        for bit in bits:
            if len(taken) == enough or left.get(block, 1) <= 0:
                return
            taken.append(Spot(number, bit))
            used[number] |= 1 << bit
            if block in left:
                left[block] -= 1

    for number, mask in rows.items():
        take(number, _bits(mask & plan.rows[number].accessible), search.accessible)
    if len(taken) < search.accessible:
        return ()
    runs = sorted(
        (-run.bit_count(), number, run)
        for number, mask in rows.items()
        for run in _runs(mask & ~used[number])
    )
    for (length, number, run), (following, next_number, _) in pairwise([*runs, (0, 0, 0)]):
        missing = search.quantity - len(taken)
        leaves_one_alone = missing + length == 1 and length < -2 and following < -1
        block, next_block = plan.rows[number].block_id, plan.rows[next_number].block_id
        for_two = missing if next_block == block else 2
        can_be_two = leaves_one_alone and left.get(next_block, for_two) >= for_two
        take(number, _bits(run), search.quantity - (2 if can_be_two else 0))
    return tuple(taken) if len(taken) == search.quantity else ()


def _starts(free: int, wanted: int) -> int:
    """The bits where a run of at least this many free places starts."""
    starts, length = free, 1
    while starts and length < wanted:
        more = min(length, wanted - length)
        starts &= starts >> more
        length += more
    return starts


def _bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _runs(mask: int) -> Iterator[int]:
    while mask:
        # Adding the lowest bit carries through the lowest run and clears it.
        run = mask & ~(mask + (mask & -mask))
        yield run
        mask &= ~run


def _run_around(mask: int, bit: int) -> int:
    run = 1 << bit
    while (wider := (run | run << 1 | run >> 1) & mask) != run:
        run = wider
    return run


def _lonely(mask: int) -> int:
    return mask & ~(mask << 1) & ~(mask >> 1)
