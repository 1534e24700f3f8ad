"""Everybody who must not get through, by the reason."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg

from holdfast.domain.access.roles import SCOPES_OF_ROLE, Role
from holdfast.domain.access.scopes import Mode, Scope
from holdfast.domain.values import Holder
from holdfast.entrypoints.api.http.route import Route
from holdfast.services.access.authentication import new_secret_key, new_session_secret
from tests.matrix.attempts import Ids
from tests.matrix.tenants import Tenant
from tests.support.people import add_staff
from tests.support.platform import Platform
from tests.support.tokens import made_token

UNAUTHORIZED, FORBIDDEN = 401, 403

# What a holder must not learn of another one. The catalog is the same for all.
PRIVATE = {
    *("hold_id", "checkout_id", "order_id", "cart_token", "reference", "payment_reference"),
    *("idempotency-key", "request_id", "acting_user", "user_id", "customer_email", "cart_item_id"),
}


@dataclass(frozen=True)
class Caller:
    """`own` are the caller's ids, if the credential is good for something. `hidden` are the kinds
    of ids that must look unknown; None means all."""

    dimension: str
    name: str
    secret: str | None
    refused: int | None = None
    own: Ids | None = None
    hidden: frozenset[str] | None = None
    role: Role | None = None
    scope: Scope | None = None  # that is missing
    is_browser: bool = False
    is_member: bool = False
    only_closed: bool = False  # tries only what is closed to holder tokens

    def __str__(self) -> str:
        return f"{self.dimension}: {self.name}"

    def tries(self, route: Route[Any]) -> bool:
        if route.is_public:
            return False  # asks for no credential
        if self.scope is not None:
            return route.scope is self.scope
        if self.role is not None:
            return route.scope is not None and route.scope not in SCOPES_OF_ROLE[self.role]
        if self.only_closed:
            return not route.is_for_holders
        # Signing out ends the caller's own session and concerns nobody else.
        return not (self.is_member and route.scope is None)

    def refusal(self, route: Route[Any]) -> int | None:
        """The status of every answer, or None if the caller may call this route."""
        if self.refused is None and self.is_browser and not route.is_for_holders:
            return FORBIDDEN
        return self.refused


class Sessions:
    """Sessions of members, made by the owner of the database as a log-in would."""

    def __init__(self, owner_url: str) -> None:
        self._url = owner_url

    def new(self, organization_id: str, role: Role, **columns: timedelta) -> str:
        """`columns` move these times into the past."""
        staff = add_staff(self._url, organization_id, role.value)
        secret, hashed = new_session_secret()
        with psycopg.connect(self._url) as owner:
            owner.execute(
                "INSERT INTO member_session (organization_id, id, member_id, secret_hash,"
                " created_at, last_used_at, ends_at) VALUES (%s, %s, %s, %s, now(), now(),"
                " now() + interval '8 hours')",
                [organization_id, uuid4(), staff.member_id, hashed],
            )
            for column, age in columns.items():
                query = f"UPDATE member_session SET {column} = now() - %s WHERE secret_hash = %s"
                owner.execute(query.encode(), [age, hashed])
        return secret

    def end(self, secret: str, platform: Platform) -> str:
        headers = {"Authorization": f"Bearer {secret}"}
        signed_out = platform.client.delete("/api/member-sessions/current", headers=headers)
        assert signed_out.status_code == 200, signed_out.text
        return secret

    def dismiss(self, secret: str, organization_id: str) -> str:
        """Remove the member."""
        with psycopg.connect(self._url) as owner:
            owner.execute(
                "DELETE FROM member WHERE organization_id = %s AND id = (SELECT member_id FROM"
                " member_session WHERE secret_hash = sha256(%s))",
                [organization_id, secret.encode()],
            )
        return secret


def foreign_callers(dimension: str, tenant: Tenant, sessions: Sessions) -> Iterator[Caller]:
    """Valid credentials of somebody else: a key, a member and a buyer."""
    platform, own = tenant.platform, tenant.own()
    yield Caller(dimension, "key", platform.secret_key, own=own)
    owner = sessions.new(tenant.organization_id, Role.OWNER)
    yield Caller(dimension, "owner's session", owner, own=own, is_member=True)
    token = platform.token(user_id=tenant.other_buyer.user_id)
    bought = tenant.own(tenant.other_buyer)
    yield Caller(dimension, "holder token", token, own=bought, is_browser=True)


def strangers() -> Iterator[Caller]:
    for name, secret in (
        ("no credential", None),
        ("unknown key", new_secret_key(Mode.TEST)[0]),
        ("unknown session", new_session_secret()[0]),
        ("invalid key", "hk_test_x"),
        ("forged token", f"ht_test_{'A' * 120}"),
    ):
        yield Caller("none", name, secret, UNAUTHORIZED)


def ended_callers(victim: Tenant, owner_url: str, sessions: Sessions) -> Iterator[Caller]:
    """Credentials that were the victim's."""
    platform, buyer = victim.platform, Holder(user_id=victim.buyer.user_id)

    def ended(column: str) -> tuple[str, str]:
        """A key, and a token that it issued before this column ended it."""
        key = platform.made("/api/keys", {"name": "ended", "scopes": ["all"]})
        issued = platform.client.post(
            "/api/holder-tokens",
            json={"user_id": victim.buyer.user_id},
            headers={"Authorization": f"Bearer {key['secret_key']}"},
        )
        with psycopg.connect(owner_url) as owner:
            query = f"UPDATE api_key SET {column} = now() - interval '1 hour' WHERE id = %s"
            owner.execute(query.encode(), [key["key_id"]])
        return key["secret_key"], issued.json()["token"]

    for dimension, column in (("expired", "expires_at"), ("revoked", "revoked_at")):
        key, token = ended(column)
        yield Caller(dimension, "key", key, UNAUTHORIZED)
        yield Caller(dimension, "token of an ended key", token, UNAUTHORIZED)
    over = made_token(platform, -3600, holder=buyer)
    yield Caller("expired", "holder token", over, UNAUTHORIZED)
    organization_id = victim.organization_id
    for column in ("ends_at", "last_used_at"):
        secret = sessions.new(organization_id, Role.OWNER, **{column: timedelta(hours=9)})
        yield Caller("expired", f"session, {column}", secret, UNAUTHORIZED)
    revoked = platform.token(user_id="leaver")
    assert platform.client.post("/api/holder-tokens/revoke", json={"user_id": "leaver"}).is_success
    yield Caller("revoked", "holder token", revoked, UNAUTHORIZED)
    left = sessions.end(sessions.new(organization_id, Role.OWNER), platform)
    yield Caller("revoked", "session", left, UNAUTHORIZED)
    dismissed = sessions.dismiss(sessions.new(organization_id, Role.OWNER), organization_id)
    yield Caller("revoked", "session of a former member", dismissed, UNAUTHORIZED)


def limited_callers(victim: Tenant, sessions: Sessions) -> Iterator[Caller]:
    """Valid credentials of the victim that lack the right."""
    for scope in Scope:
        others = [each.value for each in Scope if each is not scope]
        made = victim.platform.made("/api/keys", {"name": scope.value, "scopes": others})
        yield Caller("wrong scope", f"without {scope}", made["secret_key"], FORBIDDEN, scope=scope)
    for role in Role:
        if role is not Role.OWNER:
            secret = sessions.new(victim.organization_id, role)
            yield Caller("wrong role", role.value, secret, FORBIDDEN, role=role)
    own = victim.platform.token(user_id=victim.buyer.user_id)
    yield Caller("holder token", "closed route", own, FORBIDDEN, is_browser=True, only_closed=True)


def other_holders(victim: Tenant) -> Iterator[Caller]:
    """Browsers of other people at the same organization."""
    platform, own = victim.platform, victim.own(victim.other_buyer)
    email = victim.other_buyer.customer_email
    people: Mapping[str, Any] = {
        "another user": {"user_id": victim.other_buyer.user_id, "customer_email": email},
        "another address": {"customer_email": email},
        # Somebody may register the victim's address under another user id.
        "another user with the same address": {
            "user_id": victim.other_buyer.user_id,
            "customer_email": victim.buyer.customer_email,
        },
        "the same name in capitals": {"user_id": victim.buyer.user_id.upper()},
    }
    for name, holder in people.items():
        yield Caller(
            "other holder",
            name,
            platform.token(**holder),
            own=own,
            hidden=frozenset(PRIVATE),
            is_browser=True,
        )
