"""The health check of Redis, which Holdfast does not need to be ready."""

import redis

TIMEOUT_SECONDS = 0.5


class RedisDependency:
    name = "redis"
    is_required = False

    def __init__(self, url: str) -> None:
        self._client = redis.Redis.from_url(
            url, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS
        )

    def problem(self) -> str | None:
        try:
            self._client.ping()
        except (redis.RedisError, OSError):
            return "does not answer"
        return None
