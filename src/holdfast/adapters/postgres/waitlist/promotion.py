"""Promotion within a change of the catalog: what it frees goes to those who wait, in the same
transaction, before anybody who comes later can see it."""

from collections.abc import Sequence
from uuid import UUID

from uuid_utils.compat import uuid7

from holdfast.adapters.postgres.catalog.cache import OfferCache
from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.adapters.postgres.engine.group import Reading
from holdfast.adapters.postgres.engine.survey import Surveyor
from holdfast.adapters.postgres.engine.writes import write_group
from holdfast.adapters.postgres.seats.map_cache import SeatMaps
from holdfast.adapters.postgres.waitlist import statements as sql
from holdfast.adapters.postgres.waitlist.rows import LinedSessions
from holdfast.domain.group.footprint import lock_order
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import NOTHING_MORE
from holdfast.domain.group.planning import GroupPlan
from holdfast.domain.ids import OrganizationId, SessionId
from holdfast.domain.waitlist.promote_waiting import PromoteWaiting
from holdfast.domain.waitlist.promotion import ACTOR, settle
from holdfast.domain.waitlist.queues import LOOK_AHEAD
from holdfast.ports.store import GroupWrites, Wanted


def settle_lines(
    connection: Connection, organization_id: OrganizationId, session_ids: Sequence[UUID]
) -> None:
    """Under the exclusive lock of the first session, so that nothing else is decided there. It is
    served here, as far as one transaction may; the others are left to the promoter."""
    wanted = (organization_id, list(session_ids))
    lined = connection.execute(sql.UNSETTLE, wanted).fetchall()
    session_id = SessionId(session_ids[0])
    if (session_id,) in lined:
        command = PromoteWaiting(organization_id, session_id, Origin(ACTOR, str(uuid7())))
        _promote(connection, command)


def _promote(connection: Connection, command: PromoteWaiting) -> None:
    """As the engine would, with what this transaction has just changed: it knows nothing from
    before."""
    offers, lined = OfferCache(), LinedSessions()
    survey = Surveyor(offers, SeatMaps(), lined).look(
        connection, command.needs(NOTHING_MORE), is_patient=True
    )
    footprint = GroupPlan(survey).footprint(command)
    resources = footprint.required | footprint.optional
    wanted = Wanted(resources, known=survey.known_holds(), look_ahead=LOOK_AHEAD)
    with connection.pipeline():
        reading = Reading(connection, sorted(resources, key=lock_order), wanted)
    ledger = reading.ledger()
    ledger.sessions = dict(survey.sessions)
    ledger.seatings = survey.seatings
    transitions = settle(ledger, command.session_key, command.origin)
    with connection.pipeline():
        write_group(connection, GroupWrites(ledger, transitions, []), str(reading.position))
