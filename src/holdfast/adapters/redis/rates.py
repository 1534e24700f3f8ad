"""Counts rate limits in Valkey or Redis for all processes. One round trip at a time serves all
requests that arrived during the previous one.

A server that hangs delays the requests of that round trip by a quarter of a second. From then on, a
separate task tries to reach it, and no request waits for it. A server that refuses one call, for
example because it is out of memory, affects only that call.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import structlog
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, ResponseError

from holdfast.ports.rates import SLOTS, Count, Level, RatesUnavailable, Want

# A round trip takes less than a millisecond, but if this process is the slow one, its event loop is
# late by much more. So it looks several times before it gives up on the server.
LOOKS, LOOK_SECONDS = 5, 0.05
ANSWER_SECONDS_MAX = LOOKS * LOOK_SECONDS
CONNECT_SECONDS_MAX = 1.0
# Between two attempts to reach a server that failed.
PAUSE_SECONDS = 0.5
BATCH_MAX = 64

_HERE = Path(__file__).parent
_SCRIPTS = tuple(
    (_HERE / name).read_text(encoding="utf-8") for name in ("rates.lua", "rates_back.lua")
)
_TAKE, _GIVE_BACK = range(2)
_Answer = list[int] | ResponseError

_log = structlog.get_logger("holdfast.rates")


class _Call(NamedTuple):
    script: int
    keys: Sequence[str]
    arguments: Sequence[int]
    answer: "asyncio.Future[list[int]] | None" = None


class ValkeyRates:
    """Implements SharedRates. Uses one connection, on one event loop at a time."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: Redis | None = None
        self._hashes: list[str] = []
        self._queue: deque[_Call] = deque()
        self._running: asyncio.Task[None] | None = None
        self._is_down = False
        self._is_refusing = False

    async def take(self, wants: Sequence[Want]) -> Count:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._begin(loop)
        if self._is_down:
            raise RatesUnavailable
        arguments = [SLOTS]
        for _, _, rate, units in wants:
            arguments += (rate.count, rate.seconds * 1000, units)
        answer: asyncio.Future[list[int]] = loop.create_future()
        self._add(_Call(_TAKE, [want.key for want in wants], arguments, answer))
        is_taken, *values = await answer
        levels = [_level(values[at : at + 4]) for at in range(0, len(values), 4)]
        return Count(bool(is_taken), levels)

    def give_back(self, wants: Sequence[Want], slots: Sequence[int]) -> None:
        if self._is_down or self._loop is None:
            return
        arguments: list[int] = []
        for slot, want in zip(slots, wants, strict=True):
            arguments += (slot, want.units)
        self._add(_Call(_GIVE_BACK, [want.key for want in wants], arguments))

    def close(self) -> None:
        """At the end of the event loop, which closes the connection."""
        if self._running is not None and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._running.cancel)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._client = self._running = None
        self._queue.clear()
        self._is_down = False

    def _add(self, call: _Call) -> None:
        self._queue.append(call)
        if self._running is None:
            self._go_on(self._run)

    def _go_on(self, work: Callable[[], Awaitable[None]]) -> None:
        assert self._loop is not None
        self._running = self._loop.create_task(work())  # type: ignore[arg-type]

    async def _run(self) -> None:
        try:
            while self._queue:
                batch = [self._queue.popleft() for _ in range(min(BATCH_MAX, len(self._queue)))]
                # If it fails, it stays first in the queue, so that it is answered.
                self._queue.extendleft(reversed(batch))
                answers = await self._exchange(batch)
                for call, answer in zip(batch, answers, strict=True):
                    self._queue.popleft()
                    _tell(call, answer)
                self._note_refusals(answers)
        except Exception as error:
            _log.warning("rates.shared_lost", problem=type(error).__name__)
            await self._fail()
            self._go_on(self._recover)
        except asyncio.CancelledError:
            await self._fail()
            self._running = None
            raise
        else:
            self._running = None

    def _note_refusals(self, answers: Sequence[_Answer]) -> None:
        """Log only the first in a row: a server out of memory refuses thousands a second."""
        refused = next((each for each in answers if isinstance(each, ResponseError)), None)
        if refused is not None and not self._is_refusing:
            _log.warning("rates.shared_refused", problem=type(refused).__name__)
        self._is_refusing = refused is not None

    async def _fail(self) -> None:
        """Answer everybody before anything else."""
        self._is_down = True
        while self._queue:
            _tell(self._queue.popleft(), None)
        await self._disconnect()

    async def _recover(self) -> None:
        while self._is_down:
            await asyncio.sleep(PAUSE_SECONDS)
            try:
                await self._connect()
            except Exception:  # try again after any error
                await self._disconnect()
            else:
                self._is_down = False
                _log.info("rates.shared_restored")
        self._running = None

    async def _exchange(self, batch: Sequence[_Call]) -> list[_Answer]:
        client = self._client or await self._connect()
        answers = await self._send(client, batch)
        unrun = [at for at, each in enumerate(answers) if isinstance(each, NoScriptError)]
        if unrun:
            # It was restarted or flushed.
            await self._load(client)
            again = await self._send(client, [batch[at] for at in unrun])
            for at, answer in zip(unrun, again, strict=True):
                answers[at] = answer
        return answers

    async def _send(self, client: Redis, batch: Sequence[_Call]) -> list[_Answer]:
        pipeline: Any = client.pipeline(transaction=False)
        for script, keys, arguments, _ in batch:
            pipeline.evalsha(self._hashes[script], len(keys), *keys, *arguments)
        sending: asyncio.Task[list[_Answer]] = asyncio.ensure_future(
            pipeline.execute(raise_on_error=False)
        )
        for _ in range(LOOKS):
            await asyncio.wait({sending}, timeout=LOOK_SECONDS)
            if sending.done():
                return sending.result()
        sending.cancel()
        raise TimeoutError

    async def _connect(self) -> Redis:
        self._client = Redis.from_url(
            self._url,
            socket_connect_timeout=CONNECT_SECONDS_MAX,
            max_connections=1,
            retry=Retry(NoBackoff(), 0),  # a retry would count twice
        )
        await self._load(self._client)
        return self._client

    async def _load(self, client: Redis) -> None:
        async with asyncio.timeout(CONNECT_SECONDS_MAX):
            self._hashes = [await client.script_load(script) for script in _SCRIPTS]

    async def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(Exception):  # the connection is of no use anyway
                async with asyncio.timeout(ANSWER_SECONDS_MAX):
                    await client.connection_pool.disconnect()


def _tell(call: _Call, answer: _Answer | None) -> None:
    if call.answer is None or call.answer.done():
        return
    if answer is None or isinstance(answer, ResponseError):
        call.answer.set_exception(RatesUnavailable())
    else:
        call.answer.set_result(answer)


def _level(values: Sequence[int]) -> Level:
    used, slot, reset_ms, wait_ms = values
    return Level(used, slot, reset_ms / 1000, None if wait_ms < 0 else wait_ms / 1000)
