"""Sends an export while it is read. Whatever happens, the audit log says how much was sent."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from datetime import tzinfo

import structlog
from asgiref.sync import sync_to_async
from django.db import connection
from django.http import StreamingHttpResponse
from django.utils import timezone

from holdfast.domain.group.origin import Origin
from holdfast.domain.slices import giving_way
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.admin.exports.csv_text import BYTE_ORDER_MARK, Cell, csv_text
from holdfast.entrypoints.admin.exports.slots import SECONDS_MAX
from holdfast.ports.audit.exports import Export
from holdfast.ports.store import StoreError

# Reading and writing rows takes at most half of a processor.
PAUSE_SECONDS_MAX = 0.5

_log = structlog.get_logger("holdfast.exports")

Page = Sequence[Sequence[Cell]]


class ExportAborted(Exception):
    """Aborts the response, so that nobody mistakes a part of the file for all of it."""


class Download:
    """The body of a response. Django closes it when it has been sent, or when the client has gone
    away, but not if it fails; then it closes itself."""

    def __init__(
        self,
        export: Export,
        origin: Origin,
        *,
        headers: Sequence[str],
        pages: Iterator[Page],
        zone: tzinfo,
        on_close: Callable[[], None],
    ) -> None:
        self._export = export
        self._origin = origin
        self._headers = headers
        self._pages = pages
        self._zone = zone
        self._on_close = on_close
        self._until = time.monotonic() + SECONDS_MAX
        self._rows = 0
        self._is_complete = self._is_closed = False

    def response(self, name: str) -> StreamingHttpResponse:
        response = StreamingHttpResponse(self, content_type="text/csv; charset=utf-8")
        day = timezone.now().astimezone(self._zone)
        file_name = f"{name}-{day:%Y-%m-%d-%H%M}.csv"
        response.headers["Content-Disposition"] = f'attachment; filename="{file_name}"'
        response.headers["Cache-Control"] = "no-store"
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield (BYTE_ORDER_MARK + csv_text([self._headers], self._zone)).encode()
        while True:
            begun = time.monotonic()
            part = await sync_to_async(self._next_part)()
            if part is None:
                self._is_complete = True
                return
            if part:
                yield part
            await asyncio.sleep(min(PAUSE_SECONDS_MAX, time.monotonic() - begun))

    def _next_part(self) -> bytes | None:
        """On a thread. No connection is kept while the client reads."""
        try:
            page = self._next_page()
            if page is None:
                return None
            self._rows += len(page)
            return csv_text(giving_way(page), self._zone).encode()
        except Exception:
            self.close()
            raise
        finally:
            connection.close()

    def _next_page(self) -> Page | None:
        if time.monotonic() > self._until:
            raise ExportAborted(f"took more than {SECONDS_MAX} s")
        return next(self._pages, None)

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._on_close()
        log = AdminConfig.services.exports
        rows, is_complete = self._rows, self._is_complete
        try:
            log.finished(self._export, self._origin, rows, is_complete=is_complete)
        except StoreError as error:
            _log.error(
                "export.not_recorded",
                organization_id=str(self._export.organization_id),
                export=self._export.what,
                rows=rows,
                actor=self._origin.actor,
                request_id=self._origin.request_id,
                problem=error.problem,
            )
