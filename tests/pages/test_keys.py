"""API keys in the admin: created, rotated and revoked by a person."""

import re
from typing import Any, cast
from uuid import uuid4

import psycopg
import pytest
from django.http import HttpResponse
from django.test import Client

from holdfast.adapters.postgres.access.keys import PostgresKeys
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.services.access.authentication import secret_hash
from tests.pages.sales import Sale, page

KEYS = "/admin/holdfast/apikey/"


def is_valid(database: Database, secret: str) -> bool:
    hashed = secret_hash(secret.encode())
    assert hashed is not None
    return hashed in PostgresKeys(database).find([hashed])


def submitted(client: Client, path: str, **entered: Any) -> HttpResponse:
    return cast("HttpResponse", client.post(f"{KEYS}{path}", entered))


def text_of(answer: HttpResponse) -> str:
    assert answer.status_code == 200
    assert "no-store" in answer.headers["Cache-Control"]
    return answer.content.decode()


def secret_in(text: str) -> str:
    (secret,) = re.findall(r"hk_(?:test|live)_[\w-]{43}", text)
    return str(secret)


def create(operator: Client, sale: Sale) -> str:
    entered = {"name": "Scanner", "scopes": ["holds", "facts:read"], "days": "90"}
    return secret_in(text_of(submitted(operator, f"new/{sale.organization_id}/", **entered)))


def key_id_of(database_url: str, secret: str) -> str:
    with psycopg.connect(database_url) as connection:
        query = "SELECT id FROM api_key WHERE secret_hash = %s"
        row = connection.execute(query, [secret_hash(secret.encode())]).fetchone()
    assert row is not None
    return str(row[0])


def test_a_key_is_created_shown_once_and_works(
    operator: Client, sale: Sale, database: Database, database_url: str
) -> None:
    assert "New API key" in page(operator, f"organization/{sale.organization_id}/change/")
    form = text_of(cast("HttpResponse", operator.get(f"{KEYS}new/{sale.organization_id}/")))
    assert "Creates a key for the live data" in form
    secret = create(operator, sale)
    assert is_valid(database, secret)
    shown = page(operator, f"apikey/{key_id_of(database_url, secret)}/change/")
    assert secret not in shown
    assert secret[:12] in shown
    assert "catalog:read, facts:read" not in shown  # in the usual order of the scopes
    assert "holds:write" in shown
    with psycopg.connect(database_url) as connection:
        query = "SELECT actor, action FROM audit WHERE organization_id = %s AND key_id = %s"
        names = [sale.organization_id, key_id_of(database_url, secret)]
        assert connection.execute(query, names).fetchall() == [
            ("operator:head-of-desk", "key.created")
        ]


def test_a_key_is_rotated_and_revoked(
    operator: Client, sale: Sale, database: Database, database_url: str
) -> None:
    old = create(operator, sale)
    key_id = key_id_of(database_url, old)
    new = secret_in(text_of(submitted(operator, f"{key_id}/rotate/", hours="1")))
    assert is_valid(database, old)
    assert is_valid(database, new)
    assert "refused immediately" in text_of(
        cast("HttpResponse", operator.get(f"{KEYS}{key_id}/revoke/"))
    )
    assert submitted(operator, f"{key_id}/revoke/").status_code == 302
    assert not is_valid(database, old)
    shown = page(operator, f"apikey/{key_id}/change/")
    assert "revoked" in shown
    assert "/rotate/" not in shown
    again = text_of(submitted(operator, f"{key_id}/rotate/", hours="1"))
    assert "This key is revoked. Create a new one instead" in again


@pytest.mark.parametrize(
    ("entered", "problem"),
    [
        ({"name": "", "scopes": ["holds"]}, "This field is required"),
        ({"name": "x", "scopes": []}, "This field is required"),
        ({"name": "x", "scopes": ["everything"]}, "not one of the available choices"),
        ({"name": "x", "scopes": ["holds"], "days": "0"}, "greater than or equal to 1"),
        ({"name": "x" * 201, "scopes": ["holds"]}, "at most 200 characters"),
    ],
)
def test_wrong_input_creates_no_key(
    operator: Client, sale: Sale, database: Database, entered: dict[str, Any], problem: str
) -> None:
    text = text_of(submitted(operator, f"new/{sale.organization_id}/", **entered))
    assert problem in text
    assert not re.search(r"hk_(?:test|live)_[\w-]{43}", text)


def test_unknown_ids_are_not_found(operator: Client, database: Database) -> None:
    for path in (f"new/{uuid4()}/", f"{uuid4()}/rotate/", f"{uuid4()}/revoke/"):
        assert submitted(operator, path).status_code == 404


def test_nobody_else_gets_in(sale: Sale, database: Database) -> None:
    client = Client(SERVER_NAME="localhost")
    answer = submitted(client, f"new/{sale.organization_id}/", name="x", scopes=["all"])
    assert answer.status_code == 302
    assert "/admin/login/" in answer.headers["Location"]
