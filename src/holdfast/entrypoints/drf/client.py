"""Holdfast for the project's own code: pages that list what is on sale, or a payment that
succeeded."""

from typing import Any, NamedTuple

import msgspec

from holdfast.entrypoints.api.http.exchange import Call
from holdfast.entrypoints.api.http.problems import Problem
from holdfast.entrypoints.drf.backends.backend import backend, new_call
from holdfast.entrypoints.drf.conf import conf
from holdfast.entrypoints.drf.holders import send_for_user

HTTP_REFUSED = 400


class Answer(NamedTuple):
    """`data` is the JSON that a client of the API would have got."""

    status: int
    data: Any

    @property
    def is_success(self) -> bool:
        return self.status < HTTP_REFUSED


def call_holdfast(
    method: str,
    *path_parts: str,
    body: object = None,
    query: str = "",
    user: Any = None,
    idempotency_key: str | None = None,
) -> Answer:
    """Call any route of the API, as `user` or with the project's key:
    `call_holdfast("GET", "holds", hold_id)`. If Holdfast cannot be reached, the status is 503."""
    headers = [] if idempotency_key is None else [(b"idempotency-key", idempotency_key.encode())]
    sent = None if body is None else msgspec.json.encode(body)

    def call_with(secret: str) -> Call:
        return new_call(
            method,
            path_parts,
            secret=secret,
            body=b"" if sent is None and method != "GET" else sent,
            query_string=query.encode(),
            headers=headers,
        )

    try:
        if user is None:
            reply = backend().send(call_with(conf().key))
        else:
            reply = send_for_user(user, call_with)
    except Problem as problem:
        reply = problem.reply("")
    return Answer(reply.status, msgspec.json.decode(reply.body))
