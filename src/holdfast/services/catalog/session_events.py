"""Finds the event of a session. It never changes, so this process remembers it."""

from collections import OrderedDict

from holdfast.domain.ids import EventId, SessionKey
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.catalog import CatalogStore
from holdfast.services import reads

REMEMBERED_MAX = 10_000


class SessionEvents:
    def __init__(self, catalog: CatalogStore) -> None:
        self._catalog = catalog
        self._known: OrderedDict[SessionKey, EventId] = OrderedDict()

    def remembered(self, key: SessionKey) -> EventId | None:
        """Never blocks."""
        return self._known.get(key)

    def find(self, key: SessionKey) -> EventId | Refusal:
        """Blocks, unless it is remembered. Unknown sessions are not remembered: one may be created
        with any id."""
        known = self._known.get(key)
        if known is not None:
            return known
        session = reads.session(self._catalog, *key)
        if isinstance(session, Refusal):
            return session
        self._known[key] = session.event_id
        if len(self._known) > REMEMBERED_MAX:
            self._known.popitem(last=False)
        return session.event_id
