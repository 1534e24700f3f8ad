"""Forgetting a person: what was erased, and the user id that replaces the address."""

from uuid import UUID

from holdfast.domain.immutable import immutable

# A hold or order needs a holder, so a random user id replaces the address.
_PSEUDONYM = "forgotten:"


@immutable
class Forgotten:
    """How many rows of each kind no longer identify the person. `is_complete` is false if there may
    be more than one request erases, or if a hold was placed in the meantime."""

    holds: int = 0
    orders: int = 0
    tickets: int = 0
    facts: int = 0
    audit_entries: int = 0
    is_complete: bool = True

    def counts(self) -> dict[str, int]:
        return {
            "holds": self.holds,
            "orders": self.orders,
            "tickets": self.tickets,
            "facts": self.facts,
            "audit_entries": self.audit_entries,
        }

    @property
    def is_empty(self) -> bool:
        return not any(self.counts().values())

    def plus(self, other: "Forgotten") -> "Forgotten":
        sums = {name: count + other.counts()[name] for name, count in self.counts().items()}
        return Forgotten(**sums, is_complete=other.is_complete)


def pseudonym(number: UUID) -> str:
    return f"{_PSEUDONYM}{number}"
