"""The plain content of compressed answers."""

import sys

import httpx

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from_zstd = zstd.decompress


def plain_body(answer: httpx.Response) -> bytes:
    """httpx decompresses gzip by itself, but not zstd."""
    is_zstd = answer.headers.get("content-encoding") == "zstd"
    return from_zstd(answer.content) if is_zstd else answer.content
