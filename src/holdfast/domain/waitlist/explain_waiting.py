"""Explains why the parties on a session's waitlist are not served."""

from collections.abc import Mapping

from holdfast.domain import refusals
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import Decision, Explained, NeedsMore
from holdfast.domain.ids import HoldId, SessionKey
from holdfast.domain.immutable import immutable
from holdfast.domain.waitlist.obstacles import Explanation, Findings, Obstacle, closed_by
from holdfast.domain.waitlist.promote_waiting import WaitlistCommand
from holdfast.domain.waitlist.promotion import missing_of, settle


@immutable
class ExplainWaiting(WaitlistCommand):
    """Ask what `PromoteWaiting` would do now, and why not more. It locks what a promotion locks,
    and changes nothing."""

    def decide(self, ledger: Ledger) -> Decision:
        session = ledger.sessions.get(self.session_key)
        if session is None:
            return Decision(refusals.session_not_found())
        if not session.has_waitlist:
            return Decision(Explained({}, ledger.now))
        if not ledger.knows_waitlist_of(session):
            return Decision(NeedsMore())
        found = explain(ledger, self.session_key, self.origin)
        return Decision(found if isinstance(found, NeedsMore) else Explained(found, ledger.now))


def explain(
    ledger: Ledger, session_key: SessionKey, origin: Origin
) -> Mapping[HoldId, Explanation | None] | NeedsMore:
    """What keeps each party that was read from being served; None for those whom a promotion would
    serve now. It runs the promotion on a copy, so it gives the reasons of the promotion itself."""
    parties = ledger.waitlists[session_key].in_order()
    session = ledger.sessions[session_key]
    closed = closed_by(session, ledger.now)
    if closed is not None:
        return {party.id: Explanation(closed) for party in parties}
    trial, findings = ledger.trial(session_key), Findings(session)
    settle(trial, session_key, origin, findings=findings)
    missing = missing_of(trial.waitlists[session_key])
    if missing is not None:
        return missing
    later = Explanation(Obstacle.NEXT_BATCH)
    return {
        party.id: None
        if (after := trial.holds.get(party.key)) is not None and after.occupies_places()
        else findings.of_party.get(party.id, later)
        for party in parties
    }
