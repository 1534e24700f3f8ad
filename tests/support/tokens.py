"""Holder tokens as a server of the tests makes them, with any claims."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from holdfast.domain.access.scopes import Mode
from holdfast.domain.access.tokens import HolderToken
from holdfast.domain.ids import ApiKeyId, OrganizationId
from holdfast.domain.values import Holder
from holdfast.services.access.token_box import TokenBox
from tests.support.platform import Platform
from tests.support.servers import INSTALLATION_SECRET


def made_token(platform: Platform, seconds: float = 1800, **claims: Any) -> str:
    """A token of the platform's first key that lasts for this long."""
    (first,) = platform.client.get("/api/keys").json()["data"][-1:]
    now = datetime.now(UTC)
    given: dict[str, Any] = {
        "id": uuid4(),
        "organization_id": OrganizationId(UUID(platform.organization_id)),
        "mode": Mode.TEST,
        "key_id": ApiKeyId(UUID(first["key_id"])),
        "holder": Holder(user_id="user-1"),
        "issued_at": now,
        "expires_at": now + timedelta(seconds=seconds),
    }
    secret = claims.pop("secret", INSTALLATION_SECRET)
    return TokenBox([secret]).sealed(HolderToken(**given | claims))
