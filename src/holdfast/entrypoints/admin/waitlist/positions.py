"""The queue positions of waiting holds."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import IntegerField
from django.db.models.expressions import RawSQL

from holdfast.adapters.postgres.models import Hold

POSITION_COUNTED_MAX = 1_000

# Counts all earlier parties that want any of the same, up to a limit.
_POSITION = """
(SELECT 1 + count(*) FROM (
    SELECT FROM waiting_place p
    JOIN waiting_line own ON own.organization_id = p.organization_id
        AND own.session_id = p.session_id AND own.id = p.line_id
    JOIN waiting_line l ON l.organization_id = p.organization_id
        AND l.session_id = p.session_id AND l.wants && own.wants
    JOIN waiting_place e ON e.organization_id = p.organization_id
        AND e.session_id = p.session_id AND e.line_id = l.id
        AND (e.since, e.hold_id) < (p.since, p.hold_id)
    WHERE p.organization_id = hold.organization_id AND p.hold_id = hold.id
    LIMIT %s) AS earlier)
"""


def shown_positions(holds: Iterable[Hold]) -> dict[tuple[UUID, UUID], str]:
    """The queue positions of waiting holds, by organization and id; 1 is next. A separate query: as
    a column of a list, it would also be counted for every row that the list skips."""
    keys = {(hold.organization_id, hold.id) for hold in holds}
    if not keys:
        return {}
    position = RawSQL(  # noqa: S611 -- nothing of a request is in it
        _POSITION, [POSITION_COUNTED_MAX], output_field=IntegerField()
    )
    rows = Hold.objects.filter(
        organization_id__in={organization_id for organization_id, _ in keys},
        id__in={id_ for _, id_ in keys},
    )
    counted = rows.annotate(position=position).values_list("organization_id", "id", "position")
    return {
        (organization_id, id_): _shown(position)
        for organization_id, id_, position in counted
        if (organization_id, id_) in keys
    }


def _shown(counted: int) -> str:
    return f"{counted:,}" if counted <= POSITION_COUNTED_MAX else f"beyond {POSITION_COUNTED_MAX:,}"
