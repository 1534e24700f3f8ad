"""Finds the event of a session for holder tokens, to which sessions of drafts don't exist. An event
stays announced once it was, so this process remembers it."""

from collections import OrderedDict
from typing import TypeVar

from holdfast.domain import refusals
from holdfast.domain.ids import EventId, OrganizationId, SessionKey
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.catalog import CatalogStore
from holdfast.services import reads

K = TypeVar("K")
REMEMBERED_MAX = 10_000


class SessionEvents:
    def __init__(self, catalog: CatalogStore) -> None:
        self._catalog = catalog
        self._known: OrderedDict[SessionKey, EventId] = OrderedDict()
        self._announced: OrderedDict[tuple[OrganizationId, EventId], EventId] = OrderedDict()

    def remembered(self, key: SessionKey) -> EventId | None:
        """Never blocks."""
        return self._known.get(key)

    def is_announced(self, key: tuple[OrganizationId, EventId]) -> bool:
        """Whether this process remembers it as announced. Never blocks."""
        return key in self._announced

    def find(self, key: SessionKey) -> EventId | Refusal:
        """Blocks, unless it is remembered. Unknown sessions are not remembered: one may be created
        with any id."""
        known = self._known.get(key)
        if known is not None:
            return known
        session = reads.session(self._catalog, *key)
        if isinstance(session, Refusal):
            return session
        event_id = self.find_event((key[0], session.event_id))
        if isinstance(event_id, Refusal):
            is_unknown = event_id == refusals.event_not_found()
            return refusals.session_not_found() if is_unknown else event_id
        return _remember(self._known, key, event_id)

    def find_event(self, key: tuple[OrganizationId, EventId]) -> EventId | Refusal:
        """The event itself, unless it is unknown or a draft. Blocks, unless it is remembered."""
        if key in self._announced:
            return key[1]
        event = reads.event(self._catalog, *key)
        if isinstance(event, Refusal):
            return event
        if not event.sale.is_announced:
            return refusals.event_not_found()
        return _remember(self._announced, key, event.id)


def _remember(memory: OrderedDict[K, EventId], key: K, event_id: EventId) -> EventId:
    memory[key] = event_id
    if len(memory) > REMEMBERED_MAX:
        memory.popitem(last=False)
    return event_id
