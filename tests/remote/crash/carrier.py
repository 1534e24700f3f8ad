"""Carries the messages of the Hold Service to the Inventory Service, badly."""

import json
import random
import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Self
from uuid import UUID, uuid4

from holdfast.adapters.rabbitmq.consumer import RabbitConsumer
from holdfast.adapters.rabbitmq.publisher import RabbitPublisher
from holdfast.ports.facts.deliveries import INVENTORY
from holdfast.ports.facts.log import Handled, Message

DELAY_SECONDS_MAX = 3.0
TICK_SECONDS = 0.05
# What becomes of a message, and how often out of a hundred.
FATES = {"lost": 25, "late": 20, "doubled": 20, "again": 20, "delayed": 15}


def renamed(message: Message) -> Message:
    """The same news as another message, which no inbox recognizes."""
    event_id = uuid4()
    body = json.loads(message.body) | {"event_id": str(event_id)}
    return replace(message, id=event_id, body=json.dumps(body).encode())


@dataclass
class Carrier:
    """From one virtual host to another. Late messages are sent when it is told to."""

    source_url: str
    target_url: str
    seed: int
    loses_all: bool = False
    fates: Counter[str] = field(default_factory=Counter)
    seen: list[Message] = field(default_factory=list)
    late: list[Message] = field(default_factory=list)
    _due: list[tuple[float, Message]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._dice = random.Random(self.seed)

    def __enter__(self) -> Self:
        consumer = RabbitConsumer(self.source_url, INVENTORY.queue)
        self._threads = [
            threading.Thread(target=consumer.run, args=(self._take, self._stopped)),
            threading.Thread(target=self._carry),
        ]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def deliver_late(self) -> None:
        """What was held back and, once more, everything that there ever was, in any order."""
        messages = self.late + [renamed(each) for each in self.seen] + self.seen
        self._dice.shuffle(messages)
        self.send(messages)

    def send(self, messages: list[Message]) -> None:
        with closing(RabbitPublisher(self.target_url)) as publisher:
            publisher.publish(messages)

    def has_seen(self, message_type: str, hold_id: str) -> bool:
        return any(
            message.type == message_type and hold_id.encode() in message.body
            for message in list(self.seen)
        )

    def _take(self, message: Message) -> Handled:
        with self._lock:
            self.seen.append(message)
            (fate,) = self._dice.choices(list(FATES), list(FATES.values()))
            if self.loses_all:
                fate = "lost"
            self.fates[fate] += 1
            match fate:
                case "late":
                    self.late.append(message)
                case "doubled":
                    self._delay(message, message)
                case "again":
                    self._delay(message, renamed(message), renamed(message))
                case "delayed":
                    self._delay(message)
        return Handled.DONE

    def _delay(self, *messages: Message) -> None:
        """Each by its own time, so they overtake each other."""
        for message in messages:
            seconds = self._dice.uniform(0, DELAY_SECONDS_MAX)
            self._due.append((time.monotonic() + seconds, message))

    def _carry(self) -> None:
        while not self._stopped.wait(TICK_SECONDS):
            with self._lock:
                now = time.monotonic()
                due = [message for at, message in self._due if at <= now]
                self._due = [(at, message) for at, message in self._due if at > now]
                self._dice.shuffle(due)
            if due:
                self.send(due)


def news_of_nothing(session_id: str) -> tuple[str, Message]:
    """The end of a hold that never was: the Inventory Service writes that down."""
    hold_id, event_id = str(uuid4()), uuid4()
    payload = {"hold_id": hold_id, "session_id": session_id}
    envelope = {"event_id": str(event_id), "event_type": "hold.failed", "payload": payload}
    return hold_id, Message(UUID(str(event_id)), "hold.failed", json.dumps(envelope).encode(), {})
