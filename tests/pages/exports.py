"""Downloads of exports, read as a spreadsheet would read them."""

import asyncio
import csv
from io import StringIO
from typing import Any, cast

from django.http import StreamingHttpResponse
from django.test import Client

from tests.pages.sales import Sale


def download(client: Client, path: str, **query: object) -> StreamingHttpResponse:
    given = {name: str(value) for name, value in query.items()}
    answer: Any = client.get(f"/admin/exports/{path}/", given)
    assert answer.status_code == 200, answer.content
    return cast("StreamingHttpResponse", answer)


def text_of(answer: StreamingHttpResponse) -> str:
    async def whole() -> bytes:
        return b"".join([part async for part in answer])

    try:
        return asyncio.run(whole()).decode()
    finally:
        answer.close()


def rows_of(text: str) -> list[dict[str, str]]:
    assert text.startswith("\ufeff"), "Excel would not know that it is UTF-8"
    return list(csv.DictReader(StringIO(text[1:], newline="")))


def exported(client: Client, what: str, sale: Sale, **query: object) -> list[dict[str, str]]:
    own = {"organization__id__exact": sale.organization_id}
    return rows_of(text_of(download(client, what, **own, **query)))


def door_list(client: Client, sale: Sale) -> list[dict[str, str]]:
    return rows_of(text_of(download(client, f"door-list/{sale.session_id}")))
