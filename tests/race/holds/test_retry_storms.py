"""Every request is sent five times at once with one key, over two engines: it has one effect and
one byte-identical answer. The control ignores keys."""

from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import uuid4

import psycopg
import pytest

from holdfast.domain.carts import cart
from holdfast.domain.group import command as commands
from holdfast.domain.group.command import Command
from holdfast.domain.group.origin import IdempotencyKey
from holdfast.domain.holds import place_hold
from holdfast.domain.orders import convert_holds, start_checkout
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.seats import block_seats
from holdfast.engine import Admission
from holdfast.ports.engine import Answer
from tests.contract.asking import ask, placed, render_plainly, started
from tests.contract.venues import Plan, Venue, a_purchase
from tests.contract.worlds import PostgresWorld
from tests.race.guards import TwoEngines
from tests.race.lines import ANSWER_SECONDS, empty, fill, renew, waiting
from tests.support.auditing import assert_sound

SENT = 5
ROUNDS = 12
PLAN = Plan(
    {"floor": 1000, "box": 1},
    {"standing": ("floor",), "rare": ("box",)},
    HoldPolicy(waitlist=True),
)
Send = Callable[[IdempotencyKey], Command]


@dataclass
class Scene:
    """A cart, an engine for the setup, and the command to send. Each call makes a new command, as a
    request does."""

    world: PostgresWorld
    engine: Admission
    venue: Venue
    cart: str = field(default_factory=lambda: f"cart-{uuid4()}")

    def placing(self) -> Send:
        return lambda key: self.venue.place(("standing", 2), key=key)

    def joining_the_waitlist(self) -> Send:
        placed(self.engine, self.venue.place(("rare", 1)))
        return lambda key: self.venue.place(("rare", 1), key=key)

    def releasing_to_the_next(self) -> Send:
        hold = placed(self.engine, self.venue.place(("rare", 1)))
        waiting(ask(self.engine, self.venue.place(("rare", 1))))
        return lambda key: self.venue.release(hold.id, key)

    def filling(self) -> Send:
        return lambda key: fill(self.venue, self.cart, ("standing", 2), key=key)

    def changing(self) -> Send:
        placed(self.engine, fill(self.venue, self.cart, ("standing", 1)))
        return self.filling()

    def emptying(self) -> Send:
        placed(self.engine, fill(self.venue, self.cart, ("standing", 1)))
        return lambda key: empty(self.venue, self.cart, key)

    def renewing(self) -> Send:
        placed(self.engine, fill(self.venue, self.cart, ("standing", 1)))
        self.world.let_pass(self.venue, 601)
        return lambda key: renew(self.venue, self.cart, key)

    def checking_out(self) -> Send:
        hold = placed(self.engine, fill(self.venue, self.cart, ("standing", 2)))
        return lambda key: self.venue.check_out(hold.id, key=key)

    def paying(self) -> Send:
        hold = placed(self.engine, fill(self.venue, self.cart, ("standing", 2)))
        checkout = started(self.engine, self.venue.check_out(hold.id))
        return lambda key: self.venue.convert(
            hold.id, purchase=a_purchase(), checkout_id=checkout.checkout_id, key=key
        )


# The facts of each request, once.
EFFECTS: dict[Callable[[Scene], Send], list[str]] = {
    Scene.placing: ["hold.created"],
    Scene.joining_the_waitlist: ["hold.waiting"],
    Scene.releasing_to_the_next: ["hold.cancelled", "hold.promoted"],
    Scene.filling: ["hold.created"],
    Scene.changing: ["hold.changed"],
    Scene.emptying: ["hold.cancelled"],
    Scene.renewing: ["hold.created", "hold.expired"],
    Scene.checking_out: ["hold.extended"],
    Scene.paying: ["hold.converted", "order.confirmed"],
}


@dataclass
class Stormed:
    answers: list[Answer]
    facts: list[str]

    @property
    def bodies(self) -> set[bytes | None]:
        return {answer.body for answer in self.answers}


def storm(two_engines: TwoEngines, request: Callable[[Scene], Send]) -> Stormed:
    """Run each request in its own venue, to tell their facts apart."""
    world, engines = two_engines
    scene = Scene(world, engines[0], world.build(PLAN))
    send, key = request(scene), scene.venue.key()
    before = len(world.facts(scene.venue))
    futures = [
        engines[number % len(engines)].submit(send(key), render_plainly) for number in range(SENT)
    ]
    answers = [future.result(ANSWER_SECONDS) for future in futures]
    facts = [fact.type for fact in world.facts(scene.venue)[before:]]
    return Stormed(answers, sorted(facts))


@pytest.mark.parametrize("request_", EFFECTS, ids=lambda each: each.__name__)
def test_five_concurrent_requests_with_one_key_have_one_effect_and_one_answer(
    two_engines: TwoEngines, request_: Callable[[Scene], Send]
) -> None:
    world, _ = two_engines
    for _ in range(ROUNDS):
        stormed = storm(two_engines, request_)
        assert stormed.facts == EFFECTS[request_]
        (body,) = stormed.bodies
        assert body is not None
        assert sum(not answer.is_replay for answer in stormed.answers) == 1
    assert_sound(world.url)


@pytest.mark.parametrize("request_", EFFECTS, ids=lambda each: each.__name__)
def test_control_without_keys_the_answers_differ(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch, request_: Callable[[Scene], Send]
) -> None:
    """Without a lock on the key, nobody looks for its stored answer either."""
    world, _ = two_engines
    with psycopg.connect(world.url, autocommit=True) as owner:
        owner.execute("ALTER TABLE idempotency DROP CONSTRAINT idempotency_pkey")
    for module in (cart, commands, place_hold, start_checkout, convert_holds, block_seats):
        monkeypatch.setattr(module, "key_of", lambda _command: set())
    assert len(storm(two_engines, request_).bodies) > 1
