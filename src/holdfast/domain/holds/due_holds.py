"""The base of the reaper's commands."""

from dataclasses import dataclass, field

from holdfast.domain.group.command import Command
from holdfast.domain.group.footprint import Needs
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import NeedsMore
from holdfast.domain.ids import HoldId, HoldKey, OrganizationId

# A few milliseconds of work, the longest that people's commands wait for it.
DUE_BATCH_MAX = 16


@dataclass(frozen=True, slots=True)
class DueHolds(Command):
    """Holds of one organization that are due. Those that are not are left alone."""

    is_background = True

    organization_id: OrganizationId
    hold_ids: tuple[HoldId, ...]
    origin: Origin
    idempotency: None = field(default=None, init=False)  # repeats are harmless

    def __post_init__(self) -> None:
        assert 1 <= len(self.hold_ids) <= DUE_BATCH_MAX

    @property
    def hold_keys(self) -> tuple[HoldKey, ...]:
        return tuple((self.organization_id, hold_id) for hold_id in self.hold_ids)

    def needs(self, learnt: NeedsMore) -> Needs:
        del learnt
        return Needs(holds=frozenset(self.hold_keys))
