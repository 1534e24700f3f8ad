"""Throttles buyers, in the project's cache. For servers with a secret key, only Holdfast's own rate
limits apply."""

from hashlib import sha256
from typing import Any

from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle
from rest_framework.views import APIView

from holdfast.entrypoints.drf.authentication import SECRET_PREFIX, Credential
from holdfast.entrypoints.drf.conf import conf


class _BuyerThrottle(SimpleRateThrottle):
    def get_rate(self) -> Any:
        assert self.scope is not None
        return conf().throttle_rates[self.scope]

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        if (request.method in SAFE_METHODS) is not (self.scope == "read"):
            return None
        auth = request.auth
        if isinstance(auth, Credential):
            if auth.startswith(SECRET_PREFIX):
                return None
            ident = sha256(auth.encode()).hexdigest()
        else:
            ident = f"user-{request.user.pk}"
        return f"holdfast-{self.scope}-{ident}"


class ReadThrottle(_BuyerThrottle):
    scope = "read"


class ChangeThrottle(_BuyerThrottle):
    scope = "change"
