"""Extend, check out, pay and read orders, as a platform does."""

from typing import Any
from uuid import uuid4

import httpx

from tests.e2e.answers import placed
from tests.support.platform import Json, Platform, Sale, sent


def post(
    platform: Platform, path: str, body: Json, headers: dict[str, str] | None = None
) -> httpx.Response:
    return platform.client.post(path, json=body, headers=headers or {})


def keyed(key: str | None = None) -> dict[str, str]:
    return {"Idempotency-Key": key or uuid4().hex}


def held(platform: Platform, sale: Sale, quantity: int = 1, **more: Any) -> Json:
    return placed(platform.place(sale, quantity, **more))


def extended(platform: Platform, hold: Json, **body: Any) -> httpx.Response:
    return post(platform, f"/api/holds/{hold['hold_id']}/extend", body)


def confirmed(platform: Platform, hold: Json, **body: Any) -> httpx.Response:
    return post(platform, f"/api/holds/{hold['hold_id']}/confirm", body)


def checked_out(platform: Platform, *holds: Json, **body: Any) -> httpx.Response:
    hold_ids = [hold["hold_id"] for hold in holds]
    return post(platform, "/api/checkouts", {"hold_ids": hold_ids} | body)


def completed(
    platform: Platform, checkout: Json, reference: str = "pay-1", **body: Any
) -> httpx.Response:
    path = f"/api/checkouts/{checkout['checkout_id']}/complete"
    return post(platform, path, {"payment_reference": reference} | body)


def read(platform: Platform, path: str, **query: Any) -> Json:
    answer = platform.client.get(path, **sent(**query))
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def hold_now(platform: Platform, hold: Json) -> Json:
    return read(platform, f"/api/holds/{hold['hold_id']}")


def ok(answer: httpx.Response, status: int = 200) -> Json:
    assert answer.status_code == status, answer.text
    return dict(answer.json())
