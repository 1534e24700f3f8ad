"""Looks up credentials that this process has not cached. Anybody can send keys that nobody has, so
keys have a thread and a connection of their own; all are looked up in batches."""

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import structlog

from holdfast.domain.immutable import immutable
from holdfast.entrypoints.api.http.problems import unavailable
from holdfast.ports.access import Principal
from holdfast.ports.store import StoreError, StoreUnavailable
from holdfast.services.access.authentication import Authenticator

BATCH_MAX = 64
# Pending look-ups. A key that was valid before is always looked up, so strangers behind the same
# proxy cannot lock out known callers.
LOOKUPS_MAX = 1024
LOOKUPS_OF_ADDRESS_MAX = 64

_log = structlog.get_logger("holdfast.api")


class TooManyLookups(Exception):
    """Too many look-ups are pending, in total or from this address."""


@immutable
class _Lookup:
    """`address` is None for a key that was valid before."""

    answer: "asyncio.Future[Principal | StoreError | None]"
    address: str | None


class KeyLookups:
    """Collects a batch while the last one is looked up. Requests with the same key share one."""

    def __init__(
        self, authenticator: Authenticator, bound_seconds: float, name: str = "keys"
    ) -> None:
        self._authenticator = authenticator
        self._bound_seconds = bound_seconds
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"holdfast-{name}")
        self._lookups: dict[bytes, _Lookup] = {}  # oldest first
        self._strangers: Counter[str] = Counter()
        self._running: asyncio.Task[None] | None = None

    async def find(self, hashed: bytes, address: str) -> Principal | None:
        lookup = self._lookups.get(hashed) or self._begin(hashed, address)
        try:
            async with asyncio.timeout(self._bound_seconds):
                # Others may share the look-up: a cancelled request must not cancel it.
                found = await asyncio.shield(lookup.answer)
        except TimeoutError:
            raise unavailable() from None
        if isinstance(found, StoreError):
            raise unavailable()
        return found

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _begin(self, hashed: bytes, sent_from: str) -> _Lookup:
        address = None if self._authenticator.was_known(hashed) else sent_from
        if address is not None:
            is_full = len(self._lookups) >= LOOKUPS_MAX
            if is_full or self._strangers[address] >= LOOKUPS_OF_ADDRESS_MAX:
                raise TooManyLookups
            self._strangers[address] += 1
        loop = asyncio.get_running_loop()
        lookup = _Lookup(loop.create_future(), address)
        self._lookups[hashed] = lookup
        if self._running is None:
            self._running = loop.create_task(self._run())
        return lookup

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._lookups:
                batch = list(islice(self._lookups, BATCH_MAX))
                found = await loop.run_in_executor(self._thread, self._authenticator.find, batch)
                for hashed in batch:
                    self._end(hashed, found.get(hashed))
        except StoreError as error:
            _log.warning("keys.failed", problem=error.problem)
        except Exception:
            _log.exception("keys.failed")
        finally:
            # After a failure, fail the next batch too: it would hit the same problem.
            for hashed in list(self._lookups):
                self._end(hashed, StoreUnavailable())
            self._running = None

    def _end(self, hashed: bytes, found: Principal | StoreError | None) -> None:
        lookup = self._lookups.pop(hashed)
        if lookup.address is not None:
            self._strangers[lookup.address] -= 1
            if not self._strangers[lookup.address]:
                del self._strangers[lookup.address]
        if not lookup.answer.done():
            lookup.answer.set_result(found)
