"""Bots that hold, release and hold again as fast as they can, in a process of their own.

Reads an `Order` as JSON from the first line of its input, writes "attacking" once every bot is at
it, and goes on until its input ends. Then it writes what the bots got."""

import asyncio
import json
import sys
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

RESPONSES_FIRST = 5  # of each bot, before the attack counts as begun
UNITS_PER_HOLD = 4


@dataclass(frozen=True)
class Order:
    host: str
    port: int
    session_id: str
    ticket_type_id: str
    tokens: list[str]
    addresses: list[str]  # one for each token


@dataclass
class Loot:
    """Responses by call and code, and the seats that the bots had in the end."""

    responses: Counter[str] = field(default_factory=Counter)
    kept: int = 0


class Bot:
    def __init__(self, order: Order, number: int, loot: Loot) -> None:
        self._order, self._loot, self._random = order, loot, Random(number)
        self._head = (
            f"Host: {order.host}\r\nAuthorization: Bearer {order.tokens[number]}\r\n"
            f"X-Forwarded-For: {order.addresses[number]}\r\nContent-Type: application/json\r\n"
        )
        self._holds: dict[str, int] = {}
        self._keeps = number % 2 == 0  # what it has, and only wants more
        self._is_begun = asyncio.Event()

    async def attack(self, is_over: asyncio.Event) -> None:
        order = self._order
        self._streams = await asyncio.open_connection(order.host, order.port)
        for number in range(sys.maxsize):
            if is_over.is_set():
                break
            if number == RESPONSES_FIRST:
                self._is_begun.set()
            await self._act()
        self._loot.kept += sum(self._holds.values())
        self._streams[1].close()

    async def begun(self) -> None:
        await self._is_begun.wait()

    async def _act(self) -> None:
        """Mostly hold. Half of the bots also give up a hold for a new one that lasts longer."""
        chance = self._random.random()
        if chance < 0.1:
            await self._ask("map", "GET", f"/api/sessions/{self._order.session_id}/seats")
        elif chance < 0.3 and self._holds and not self._keeps:
            hold_id = next(iter(self._holds))
            status, _ = await self._ask("release", "POST", f"/api/holds/{hold_id}/release")
            if status == 200:
                del self._holds[hold_id]
        else:
            wish = {
                "session_id": self._order.session_id,
                "ticket_type_id": self._order.ticket_type_id,
                "quantity": UNITS_PER_HOLD,
            }
            status, answer = await self._ask("hold", "POST", "/api/holds", wish)
            if status == 201:
                self._holds[answer["hold_id"]] = answer["quantity"]

    async def _ask(
        self, name: str, verb: str, path: str, body: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        reader, writer = self._streams
        content = b"" if body is None else json.dumps(body).encode()
        head = f"{verb} {path} HTTP/1.1\r\n{self._head}Content-Length: {len(content)}\r\n\r\n"
        writer.write(head.encode() + content)
        fields = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(fields.partition("content-length: ")[2].partition("\r\n")[0])
        received = await reader.readexactly(length)
        status = int(fields.split(" ", 2)[1])
        answer = json.loads(received) if name != "map" or status >= 400 else {}
        self._loot.responses[" ".join([name, str(status), answer.get("error", "")]).strip()] += 1
        return status, answer


async def attack(order: Order) -> Loot:
    loot, is_over = Loot(), asyncio.Event()
    bots = [Bot(order, number, loot) for number in range(len(order.tokens))]
    attacks = [asyncio.create_task(bot.attack(is_over)) for bot in bots]
    begun: asyncio.Future[list[None]] = asyncio.gather(*(bot.begun() for bot in bots))
    ended: asyncio.Future[list[None]] = asyncio.gather(*attacks)  # no bot ends by itself
    await asyncio.wait([begun, ended], return_when=asyncio.FIRST_COMPLETED)
    if ended.done():
        await ended
    sys.stdout.write("attacking\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    is_over.set()
    await ended
    return loot


if __name__ == "__main__":
    given = json.loads(sys.stdin.readline())
    sys.stdout.write(json.dumps(vars(asyncio.run(attack(Order(**given))))))
