"""Imports the seats of a session. Every call blocks, for seconds with many seats."""

from collections.abc import Iterable, Sequence

from holdfast.domain.catalog.layout import BlockLayout, draft_layouts
from holdfast.domain.catalog.seat_import import DraftBlock
from holdfast.domain.ids import SessionId
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.catalog import CatalogAnswer
from holdfast.services.catalog.changes import CatalogEditor
from holdfast.services.catalog.seat_csv import draft_csv


def import_layouts(
    editor: CatalogEditor, session_id: SessionId, layouts: Sequence[BlockLayout]
) -> CatalogAnswer:
    return _import(editor, session_id, draft_layouts(layouts))


def import_csv(editor: CatalogEditor, session_id: SessionId, content: bytes) -> CatalogAnswer:
    return _import(editor, session_id, draft_csv(content))


def _import(
    editor: CatalogEditor, session_id: SessionId, drafted: Iterable[DraftBlock] | Refusal
) -> CatalogAnswer:
    if isinstance(drafted, Refusal):
        return CatalogAnswer(drafted)
    return editor.import_seats(session_id, drafted)
