"""Every published message fits its contract, and the contracts are complete."""

import json
import re
from collections.abc import Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from jsonschema import Draft202012Validator

from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.postgres.mails.requests import PostgresMailRequests
from holdfast.domain.group.transitions import FactType
from holdfast.domain.holds.hold import Hold, Remarks
from holdfast.domain.holds.settle_hold import SettleHold
from holdfast.domain.ids import OrderId
from holdfast.domain.mails.kinds import MailKind
from holdfast.domain.mails.resend import MailRequest
from holdfast.domain.policy import POLICY_FIELDS, HoldPolicy
from holdfast.domain.refusals import insufficient_inventory
from holdfast.domain.values import Holder, Metadata
from holdfast.ports.facts.log import Message
from holdfast.services.facts.envelope import SCHEMA
from holdfast.services.orders.confirmations import paid_order_of
from tests.contract.asking import (
    cancelled,
    changed,
    converted,
    extended,
    placed,
    started,
    waiting,
    warned,
)
from tests.contract.venues import ORIGIN, Hall, Plan, a_purchase
from tests.relay.contracts import (
    CONTRACTS,
    INBOUND,
    Json,
    fact_files,
    misfits,
    schema_in,
    schema_of,
)
from tests.relay.stage import HALL, Listed, Stage
from tests.support.catalog_life import change_catalog

METADATA = Metadata({"campaign": "spring", "note": ""})

every_file = pytest.mark.parametrize("path", [*fact_files(), INBOUND], ids=lambda path: path.stem)


def test_every_fact_has_a_contract() -> None:
    assert {path.stem for path in fact_files()} == set(FactType)
    for path in fact_files():
        schema = schema_in(path)
        assert schema["$id"] == SCHEMA.format(type=path.stem)
        assert schema["properties"]["event_type"] == {"const": path.stem}


@every_file
def test_each_contract_is_a_valid_schema_and_its_examples_fit(path: Path) -> None:
    schema = schema_in(path)
    Draft202012Validator.check_schema(schema)
    assert schema["examples"]
    for example in schema["examples"]:
        assert misfits(schema, example) == []


@every_file
def test_unknown_and_missing_fields_are_rejected(path: Path) -> None:
    schema = schema_in(path)
    example = schema["examples"][0]
    for part in ((), ("payload",)):
        assert misfits(schema, _with(example, part, "surprise", 1))
        described = schema["properties"]["payload"] if part else schema
        for name in described["required"]:
            assert misfits(schema, _without(example, part, name)), name


@every_file
def test_ids_and_times_are_checked(path: Path) -> None:
    schema = schema_in(path)
    example = schema["examples"][0]
    assert misfits(schema, example | {"event_id": "nobody"})
    if path != INBOUND:
        assert misfits(schema, example | {"occurred_at": "2026-01-15 10:20"})
        assert misfits(schema, example | {"occurred_at": "2026-01-15T10:20:00+01:00"})


def test_messages_that_fit_the_order_contract_are_accepted() -> None:
    schema = schema_in(INBOUND)
    for example in schema["examples"]:
        assert str(paid_order_of(json.dumps(example).encode()).event_id) == example["event_id"]
    both = _with(schema["examples"][0], ("payload",), "hold_ids", [str(uuid4())])
    assert misfits(schema, both)
    nobodys = _without(schema["examples"][0], (), "organization_id")
    assert misfits(schema, nobodys)


@pytest.mark.parametrize(
    ("fact_type", "side"),
    [
        ("event.created", "new"),
        ("event.changed", "old"),
        ("event.changed", "new"),
        ("ticket_type.created", "new"),
        ("ticket_type.changed", "old"),
        ("ticket_type.changed", "new"),
    ],
)
def test_a_contract_has_the_fields_of_a_policy_with_their_bounds(fact_type: str, side: str) -> None:
    payload = schema_of(fact_type)["properties"]["payload"]["properties"]
    found = payload[side]["properties"]["hold_policy"]["properties"]
    bounds = {name: field.bounds for name, field in POLICY_FIELDS.items()}
    assert found == {
        name: {"type": "boolean"}
        if of is None
        else {"type": "integer", "minimum": of.least, "maximum": of.most}
        for name, of in bounds.items()
    }


def test_the_asyncapi_document_references_every_contract() -> None:
    text = (CONTRACTS / "asyncapi.yaml").read_text()
    assert text.startswith("asyncapi: 3.0.0\n")
    assert set(re.findall(r"^    address: (\S+)$", text, re.MULTILINE)) == set(FactType)
    files = {(CONTRACTS / found).resolve() for found in re.findall(r"\$ref: (\./\S+)", text)}
    assert files == {*fact_files(), INBOUND}
    within = set(re.findall(r"\$ref: '#/(?:components/)?(\w+)/(\w+)'", text))
    for kind, name in within:
        assert re.search(rf"^ *{kind}:\n(?:.*\n)*? *{name}:$", text, re.MULTILINE), (kind, name)
    operations = set(re.findall(r"^  tell(\w+):$", text, re.MULTILINE))
    assert operations == {"".join(map(str.capitalize, re.split("[._]", kind))) for kind in FactType}


def test_every_published_message_fits_its_contract(stage: Stage) -> None:
    """Every transition of every kind of hold happens once, through the engine, and every change of
    the catalog, through its store."""
    _standing_life(stage)
    _seated_life(stage)
    _short_life(stage)
    _life_with_a_remote_inventory(stage)
    _life_in_a_cart(stage)
    _life_on_the_waitlist(stage)
    change_catalog(stage.url, stage.venue.organization_id)
    _ask_for_mails(stage)
    published = Listed([])
    stage.relay_all(published)
    stage.assert_arrived(published.messages, once=True)
    assert {message.type for message in published.messages} == set(FactType)
    for message in published.messages:
        assert misfits(schema_of(message.type), json.loads(message.body)) == [], message.body
        assert misfits(_header_schema(), dict(message.headers)) == [], message.headers
    assert_several_shapes(published.messages)


def assert_several_shapes(messages: Sequence[Message]) -> None:
    """Check that there are single and multiple lines, with and without seats, email addresses and
    metadata."""
    created = [
        json.loads(message.body)["payload"]
        for message in messages
        if message.type == "hold.created"
    ]
    assert {"lines" in payload for payload in created} == {True, False}
    assert {"ticket_type_id" in payload for payload in created} == {True, False}
    assert {"customer_email" in payload for payload in created} == {True, False}
    assert {"metadata" in payload for payload in created} == {True, False}


def _standing_life(stage: Stage) -> None:
    venue, engine = stage.venue, stage.engine
    stage.place_and_release(1)
    placing = replace(venue.place(("standing", 2)), remarks=Remarks(metadata=METADATA))
    paid = placed(engine, placing)
    extended(engine, venue.extend(paid.id, 60))
    checkout = started(engine, venue.check_out(paid.id))
    purchase = replace(a_purchase(payment_reference="pay-1"), metadata=METADATA)
    converted(engine, venue.convert(paid.id, purchase=purchase, checkout_id=checkout.checkout_id))


def _seated_life(stage: Stage) -> None:
    venue, engine, world = stage.venue, stage.engine, stage.world
    by_user = Holder(user_id="user-17")
    asks = (venue.these("Stalls A 1", "Stalls A 2"), ("standing", 3))
    bought = placed(engine, venue.place(*asks, holder=by_user))
    order = converted(engine, venue.convert(bought.id)).order
    cancelled(engine, venue.cancel(order.id, order.tickets[0].id, refund_reference="re_1"))
    cancelled(engine, replace(venue.cancel(order.id), origin=ORIGIN))
    lapsed = placed(engine, venue.seats("Stalls A 3"))
    world.let_pass(venue, 545)
    assert warned(engine, venue.warn(lapsed.id)) == (lapsed.id,)
    world.let_pass(venue, 60)
    # The payment comes late: the hold expires, and a replacement is paid for.
    converted(engine, venue.convert(lapsed.id))
    held = placed(engine, venue.seats("Stalls A 4"))
    stage.ask(venue.block("Stalls A 4", "Stalls A 5"))
    stage.ask(venue.unblock("Stalls A 5"))
    assert held.id != lapsed.id
    _life_at_the_desk(stage)


def _life_at_the_desk(stage: Stage) -> None:
    """An operator moves a hold and ends it early, and releases another."""
    venue, engine = stage.venue, stage.engine
    first, second = (placed(engine, venue.seats(f"Stalls A {seat}")) for seat in (6, 7))
    stage.ask(venue.move(first.id, {"Stalls A 6": "Stalls A 8"}))
    stage.ask(venue.release_as_operator(first.id, is_expired=True))
    stage.ask(venue.release_as_operator(second.id))


def _short_life(stage: Stage) -> None:
    """A checkout without an extension, and a hold left to expire."""
    policy = HoldPolicy(checkout_extension_seconds=0)
    venue = stage.world.build(Plan({"floor": 9}, {"standing": ("floor",)}, policy, hall=HALL))
    hold: Hold = placed(stage.engine, venue.place(("standing", 1)))
    started(stage.engine, venue.check_out(hold.id))
    seated = placed(stage.engine, venue.seats("Stalls A 1"))
    stage.world.let_pass(venue, 601)
    stage.ask(venue.expire(hold.id, seated.id))


def _life_with_a_remote_inventory(stage: Stage) -> None:
    """With one line and with two: one gets its tickets, the other does not."""
    venue = stage.venue
    for asks, refusal in (
        ((("standing", 1),), None),
        ((("standing", 1), ("standing", 2)), insufficient_inventory(0)),
    ):
        hold = replace(venue.place(*asks), is_remote=True)
        stage.ask(hold)
        stage.engine.submit(SettleHold(hold.organization_id, hold.hold_id, ORIGIN, refusal)).result(
            60
        )


def _life_in_a_cart(stage: Stage) -> None:
    """Quantities and seats come and go, and the rest is paid for."""
    venue, engine = stage.venue, stage.engine
    cart = uuid4().hex
    first = placed(
        engine, venue.fill(cart, {"a": ("standing", 2), "b": venue.these("Stalls A 20")})
    )
    changed(engine, venue.fill(cart, {"a": ("standing", 3), "b": venue.these("Stalls A 21")}))
    changed(engine, venue.fill(cart, {"a": ("standing", 1)}))
    converted(engine, venue.convert(first.id))


def _life_on_the_waitlist(stage: Stage) -> None:
    """One party waits for general admission and one for seats, and both are promoted; a third gives
    up."""
    policy = HoldPolicy(waitlist=True)
    hall = Hall({"Stalls": {"A": 2}}, {"seat": ()})
    venue = stage.world.build(Plan({"floor": 2}, {"standing": ("floor",)}, policy, hall=hall))
    engine = stage.engine
    standing = placed(engine, venue.place(("standing", 2)))
    seated = placed(engine, venue.seats("Stalls A 1", "Stalls A 2"))
    waiting(engine, venue.place(("standing", 1)))
    waiting(engine, venue.place(("seat", 2)))
    tired = waiting(engine, venue.fill(uuid4().hex, {"a": ("standing", 2), "b": ("seat", 1)}))
    stage.ask(venue.release(tired.id))
    stage.ask(venue.release(standing.id), venue.release(seated.id))


def _ask_for_mails(stage: Stage) -> None:
    hold = placed(stage.engine, stage.venue.place(("standing", 1)))
    with closing(Database(stage.url)) as database:
        database.open()
        requests = PostgresMailRequests(database)
        for kind, order_id in ((MailKind.WARNING, None), (MailKind.CONFIRMATION, OrderId(uuid4()))):
            request = MailRequest(uuid4(), kind, hold.id, order_id)
            assert requests.add(hold.organization_id, request, ORIGIN) is None


def _header_schema() -> Json:
    """The header schema of the AsyncAPI document, read without a YAML parser."""
    text = (CONTRACTS / "asyncapi.yaml").read_text()
    required = re.findall(r"^          - (cloudEvents:\w+)$", text, re.MULTILINE)
    known = re.findall(r"^          (cloudEvents:\w+):$", text, re.MULTILINE)
    assert set(required) | {"cloudEvents:holderhash"} == set(known)
    return {
        "type": "object",
        "required": required,
        "properties": {name: {"type": "string", "minLength": 1} for name in known},
        "additionalProperties": False,
    }


def _with(example: Json, part: tuple[str, ...], name: str, value: object) -> Json:
    changed = deepcopy(example)
    (changed[part[0]] if part else changed)[name] = value
    return changed


def _without(example: Json, part: tuple[str, ...], name: str) -> Json:
    changed = deepcopy(example)
    del (changed[part[0]] if part else changed)[name]
    return changed
