"""Limiting the length of a stream without losing unread messages."""

from typing import Any

import structlog

from holdfast.adapters.redis.streams import Client

# At this multiple of `kept` even unread messages are deleted, because memory is finite.
BOUND = 10

_log = structlog.get_logger("holdfast.valkey")


def trim(client: Client, stream: str, kept: int) -> None:
    """Trim to about `kept` messages, but keep those that a group has not finished. A stream without
    groups has no known readers."""
    excess = client.xlen(stream) - kept
    if excess <= 0:
        return
    groups = client.xinfo_groups(stream)
    if not groups:
        client.xtrim(stream, maxlen=kept, approximate=True)
        return
    needed = {group["name"].decode(): _needed_from(client, stream, group) for group in groups}
    oldest = min(needed.values(), key=_position)
    # Approximate: the server only drops whole blocks, so some more stay.
    client.xtrim(stream, minid=oldest, approximate=True, limit=excess)
    _bound(client, stream, kept * BOUND, needed)


def _needed_from(client: Client, stream: str, group: dict[str, Any]) -> bytes:
    """The oldest message that the group may still need, or an earlier one."""
    unfinished = client.xpending(stream, group["name"])["min"] if group["pending"] else None
    needed: bytes = unfinished or group["last-delivered-id"]
    return needed


def _bound(client: Client, stream: str, bound: int, needed: dict[str, bytes]) -> None:
    lost = client.xtrim(stream, maxlen=bound, approximate=True)
    if not lost:
        return
    ((first, _),) = client.xrange(stream, count=1)
    behind = sorted(name for name, since in needed.items() if _position(since) < _position(first))
    _log.warning("stream.lost", stream=stream, messages=lost, groups=behind)


def _position(entry_id: bytes) -> tuple[int, ...]:
    return tuple(map(int, entry_id.split(b"-")))
