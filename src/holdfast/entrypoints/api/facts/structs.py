"""The shapes of requests about facts."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.structs import Limit, RequestShape, ruled
from holdfast.ports.paging import PAGE_SIZE_MAX

POSITION_LENGTH = 22


class FactsQuery(RequestShape, frozen=True):
    """Without `after`, from the oldest fact that is kept."""

    after: (
        Annotated[
            str,
            Meta(
                min_length=POSITION_LENGTH,
                max_length=POSITION_LENGTH,
                description="`next` of the page before, or `position` of a fact.",
                extra=ruled(ProblemCode.INVALID_CURSOR, "Use next of the page before, unchanged"),
            ),
        ]
        | UnsetType
    ) = UNSET
    limit: Limit = PAGE_SIZE_MAX
