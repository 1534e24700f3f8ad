"""A countable capacity."""

from dataclasses import dataclass, replace

from holdfast.domain.ids import OrganizationId, PoolId


@dataclass(frozen=True, slots=True)
class Pool:
    """held + sold <= total, each at least 0, always. PostgreSQL checks the same."""

    organization_id: OrganizationId
    id: PoolId
    total: int
    held: int = 0
    sold: int = 0

    def __post_init__(self) -> None:
        if self.held < 0 or self.sold < 0 or self.held + self.sold > self.total:
            raise ValueError(
                f"impossible pool: total {self.total}, held {self.held}, sold {self.sold}"
            )

    @property
    def free(self) -> int:
        """What nobody holds and nobody bought. Lapsed holds still count as held here."""
        return self.total - self.held - self.sold

    def moved(self, held: int, sold: int) -> "Pool":
        """The pool after `held` and `sold` have changed by these differences."""
        return replace(self, held=self.held + held, sold=self.sold + sold)
