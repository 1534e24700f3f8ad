"""Where an event takes place, as requests give it."""

from msgspec import UnsetType

from holdfast.domain.catalog.changes import PlaceChange
from holdfast.domain.catalog.model import NOWHERE, Place, place_errors
from holdfast.domain.policy import UNCHANGED, Unchanged
from holdfast.entrypoints.api.catalog.structs import ChangeEventRequest, CreateEventRequest
from holdfast.entrypoints.api.http.problems import FieldError, invalid


def place_of(body: CreateEventRequest) -> Place:
    return _checked(Place(body.venue, body.time_zone))


def place_change(body: ChangeEventRequest) -> PlaceChange | None:
    change = PlaceChange(_or_unchanged(body.venue), _or_unchanged(body.time_zone))
    _checked(change.applied_to(NOWHERE))
    return None if change == PlaceChange() else change


def _or_unchanged(text: str | UnsetType | None) -> str | Unchanged | None:
    return UNCHANGED if isinstance(text, UnsetType) else text


def _checked(place: Place) -> Place:
    errors = place_errors(place)
    if errors:
        raise invalid([FieldError(name, "invalid_value", text) for name, text in errors.items()])
    return place
