"""Limits of what one holder may have in an event. Waiting holds count like active ones, so a
promotion never exceeds a limit; sold tickets count towards the limit of tickets."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from math import ceil

from holdfast.domain import refusals
from holdfast.domain.access.reach import Reach, limit_of
from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.outcomes import NeedsMore
from holdfast.domain.holds.hold import Hold
from holdfast.domain.holds.holdings import Holdings, LiveHold, live_hold
from holdfast.domain.ids import HoldId
from holdfast.domain.immutable import immutable
from holdfast.domain.policy import HoldPolicy, lowest_limit
from holdfast.domain.refusal_codes import Refusal

# What each limit counts of a live hold.
_COUNTED: dict[str, Callable[[LiveHold], int]] = {
    "holder_units_max": lambda hold: hold.quantity,
    "holder_holds_max": lambda hold: 1,
    "holder_carts_max": lambda hold: int(hold.is_cart),
}


def refuse_above_limits(
    ledger: Ledger,
    session: SessionCatalog,
    hold: Hold,
    *replaced: Hold,
    reach: Reach | None = None,
) -> Refusal | NeedsMore | None:
    """Refuse a hold that would exceed a limit of its ticket types or of the caller's token; of
    several, the lowest applies. `hold` is as it would become, and ends those that it replaces, such
    as its own earlier state. What a limit counts may always shrink or stay, even above a limit that
    was lowered since."""
    own_limit = limit_of(reach)
    if not session.limits_holders and own_limit is None:
        return None
    policies = [session.offers[line.ticket_type_id].policy for line in hold.lines]
    if own_limit is not None:
        policies.append(replace(policies[0], holder_units_max=own_limit))
    if not any(policy.limits_holders for policy in policies):
        return None
    known = ledger.holdings_in_event(session, hold.holder)
    if known is None:
        return NeedsMore()  # the policy has changed since the survey
    change = _Change(live_hold(hold), frozenset(each.id for each in replaced), known, ledger.now)
    cooldown = timedelta(seconds=max(policy.cooldown_seconds for policy in policies))
    return change.refuse_cooldown(cooldown) or change.refuse_excess(policies, cooldown)


@immutable
class _Change:
    """A hold that a holder wants, the ids of the holds it replaces, and what the holder has."""

    hold: LiveHold
    replaced: frozenset[HoldId]
    known: Holdings
    now: datetime

    def refuse_cooldown(self, cooldown: timedelta) -> Refusal | None:
        had = sum(each.quantity for each in self.known.live(self.now) if each.id in self.replaced)
        if not cooldown or self.hold.quantity <= had:
            return None
        given_up_at = self.known.last_given_up(self.now)
        left = 0 if given_up_at is None else self._seconds_until(given_up_at + cooldown)
        if left > 0:
            return refusals.holder_cooldown(left)
        # The hold given up last may be one that was not read.
        is_known = self.known.is_complete
        return None if is_known else refusals.too_many_to_count("cooldown_seconds")

    def refuse_excess(self, policies: Sequence[HoldPolicy], cooldown: timedelta) -> Refusal | None:
        live = self.known.live(self.now)
        for name, counted in _COUNTED.items():
            limit = lowest_limit(getattr(policy, name) for policy in policies)
            if not limit:
                continue
            bought = self.known.sold if name == "holder_units_max" else 0
            current = bought + sum(map(counted, live))
            replaced = sum(counted(each) for each in live if each.id in self.replaced)
            wanted = current - replaced + counted(self.hold)
            is_known = self.known.is_complete or (
                name == "holder_carts_max" and self.known.has_all_carts
            )
            is_above = wanted > limit or not is_known
            if is_above and wanted > current:
                seconds = self._seconds_until_fewer(wanted - limit, counted, cooldown)
                return refusals.holder_limit_reached(name, limit, current, seconds)
        return None

    def _seconds_until_fewer(
        self, excess: int, counted: Callable[[LiveHold], int], cooldown: timedelta
    ) -> int | None:
        """When enough of the other live holds have expired, if ever; their end starts a cooldown.
        Waiting holds may be promoted before their time is up, so they promise nothing."""
        if not self.known.is_complete:
            return None
        for hold in self.known.live(self.now):
            if hold.id not in self.replaced and not hold.is_waiting:
                excess -= counted(hold)
            if excess <= 0:
                return self._seconds_until(hold.expires_at + cooldown)
        return None

    def _seconds_until(self, moment: datetime) -> int:
        return ceil((moment - self.now).total_seconds())
