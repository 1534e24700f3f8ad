"""Secrets and personal data stay where they belong: after a busy day of all processes, none is in a
log, in Valkey, in a message beyond its schema, or in somebody else's answer."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote
from uuid import uuid4

import httpx
import psycopg
import pytest
import redis

from holdfast.adapters.embedded import EmbeddedValkey
from holdfast.entrypoints.api.routes import ROUTES
from holdfast.ports.facts.log import Message
from tests.consuming.mail_server import MailServer
from tests.e2e.owner import Owner
from tests.matrix.attempts import Attempt, aimed_attempts
from tests.matrix.tenants import Tenant, new_tenant
from tests.support.brokers import BrokerAddress
from tests.support.databases import DatabaseFactory, server_url
from tests.support.patience import wait_until
from tests.support.people import PASSWORD, add_staff
from tests.support.platform import EMAIL_HEADER, Json, Platform, new_platform
from tests.support.rabbit import RabbitBroker
from tests.support.servers import INSTALLATION_SECRET, RunningServer
from tests.workers.commands import RunningCommand

CANARIES_MIN = 50
# Personal data that the schema of a fact requires (contracts/facts).
OF_SCHEMA = {"hold.created": {"customer_email"}, "seat.held": {"user_id"}}
# The platform's own names, which contain the name of a buyer here.
OWN_IDS = {"cart_item_id", "payment_reference"}
COMMANDS = (
    ("relay",),
    ("consume",),
    ("release-expired", "--watch"),
    ("worker", "--queue", "cleanup"),
    ("worker", "--queue", "default"),
    ("beat",),
)


@dataclass
class Day:
    """All processes of an installation, each with its log."""

    server: RunningServer
    commands: list[RunningCommand]
    valkey: EmbeddedValkey
    mails: MailServer
    amqp_url: str
    canaries: dict[str, str] = field(default_factory=dict)
    statuses: set[int] = field(default_factory=set)
    answers: list[str] = field(default_factory=list)  # to a stranger, and errors
    urls: list[str] = field(default_factory=list)  # as a proxy would log them

    def plant(self, name: str, value: str) -> str:
        self.canaries[name] = value
        return value

    def addresses_in(self, urls: list[str]) -> dict[str, str]:
        found = self.found_in("\n".join(map(unquote, urls)))
        return {name: value for name, value in found.items() if "@" in value}

    def found_in(self, text: str) -> dict[str, str]:
        return {name: value for name, value in self.canaries.items() if value in text}

    def logs(self) -> dict[str, str]:
        named = {"server": self.server.log}
        named |= {" ".join(each.arguments): each.log for each in self.commands}
        return {name: log.read_text(errors="replace") for name, log in named.items()}

    def valkey_dump(self) -> str:
        """Every key and value."""
        client = redis.Redis.from_url(self.valkey.url)
        with client:
            return "\n".join(
                f"{key!r} {client.dump(key)!r}"  # serialized, with short texts as they are
                for key in client.scan_iter()
            )


@pytest.fixture
def day(databases: DatabaseFactory, rabbit: RabbitBroker, tmp_path: Path) -> Iterator[Day]:
    url, amqp_url = databases.fresh(), rabbit.new_vhost()
    with EmbeddedValkey(tmp_path / "valkey") as valkey, MailServer() as mails:
        settings = {
            "DATABASE_URL": server_url(url),
            "REDIS_URL": valkey.url,
            "AMQP_URL": amqp_url,
            "HOLDFAST_SECRET_KEY": INSTALLATION_SECRET,
            "HOLDFAST_LOG_LEVEL": "debug",
            "HOLDFAST_NOTIFIER": "smtp",
            "HOLDFAST_SMTP_URL": mails.url,
            "HOLDFAST_MAIL_FROM": "tickets@holdfast.example",
            "HOLDFAST_REAPER_BEAT_SECONDS": "1",
        }
        with RunningServer(
            url, tmp_path / "server.log", settings | {"HOLDFAST_DUTIES": "none"}
        ) as server:
            commands = [
                RunningCommand(each, tmp_path / f"{number}.log", settings)
                for number, each in enumerate(COMMANDS)
            ]
            try:
                yield Day(server, commands, valkey, mails, amqp_url)
            finally:
                for command in commands:
                    command.kill()


def plant_tenant(day: Day, number: int) -> Tenant:
    """An organization whose people, buyers and credentials are canaries."""
    made = new_platform(day.server.base_url, day.server.database_url)
    tenant = new_tenant(made, day.server.database_url)
    day.plant(f"key {number}", made.secret_key)
    for buyer in (tenant.buyer, tenant.other_buyer):
        user = buyer.user_id
        day.plant(f"user id of {user}", user)
        day.plant(f"address of {user}", buyer.customer_email)
        day.plant(f"name of a guest of {user}", f"guest-{user}")
        day.plant(f"address of a guest of {user}", f"guest-{user}@canary.example")
        day.plant(f"notes of {user}", f"notes-{user}")
        for kind in ("browser", "phone"):
            day.plant(f"holder token of {user}, {kind}", made.token(user_id=user))
    return tenant


def plant_credentials(day: Day, platform: Platform, number: int) -> None:
    """Keys, invitations, sessions, passwords, cookies and a TOTP secret."""
    key = platform.made("/api/keys", {"name": "rotated", "scopes": ["read"]})
    day.plant(f"rotated key {number}", key["secret_key"])
    rotated = platform.client.post(f"/api/keys/{key['key_id']}/rotate", json={}).json()
    day.plant(f"new key {number}", rotated["secret_key"])
    mail = day.plant(f"address of a member {number}", f"member{uuid4().hex[:12]}@canary.example")
    invited = platform.made(
        "/api/members", {"username": f"invited{uuid4().hex[:12]}", "role": "viewer", "email": mail}
    )
    day.plant(f"invitation {number}", invited["invitation_path"].split("/")[-2])
    staff = add_staff(day.server.database_url, platform.organization_id, "owner")
    body = {"organization_id": platform.organization_id, "username": staff.username}
    wrong = day.plant(f"wrong password {number}", f"wrong {uuid4().hex}")
    with httpx.Client(base_url=day.server.base_url, timeout=60, verify=False) as browser:
        for password in (wrong, PASSWORD):
            signed_in = browser.post("/api/member-sessions", json=body | {"password": password})
            day.statuses.add(signed_in.status_code)
        day.plant(f"session {number}", signed_in.json()["session_token"])
        form = {"username": staff.username, "password": PASSWORD, "next": "/admin/"}
        browser.get("/admin/login/")
        form["csrfmiddlewaretoken"] = browser.cookies["holdfast_csrf"]
        day.plant(f"CSRF cookie {number}", browser.cookies["holdfast_csrf"])
        logged_in = browser.post(
            "/admin/login/", data=form, headers={"Referer": day.server.base_url}
        )
        assert logged_in.status_code == 302, logged_in.text
        day.plant(f"cookie {number}", browser.cookies["holdfast_session"])
        for path in (
            "/admin/",
            f"/admin/invitation/{invited['invitation_path'].split('/')[-2]}/",
            *(f"/admin/exports/{what}/" for what in ("holds", "orders", "audit")),
        ):
            assert browser.get(path).status_code in {200, 302}
        look_up_people(day, browser, platform)
    day.plant("password", PASSWORD)
    device = day.plant(f"TOTP secret {number}", uuid4().hex)
    Owner(day.server.database_url).run(
        "INSERT INTO otp_totp_totpdevice (user_id, name, confirmed, key, step, t0, digits,"
        " tolerance, drift, last_t, throttling_failure_count)"
        " VALUES (%s, 'app', true, %s, 30, 0, 6, 1, 0, -1, 0)",
        staff.user_id,
        device,
    )
    with httpx.Client(base_url=day.server.base_url, timeout=60, verify=False) as browser:
        body |= {"password": PASSWORD, "code": "000000"}
        day.statuses.add(browser.post("/api/member-sessions", json=body).status_code)


def look_up_people(day: Day, browser: httpx.Client, platform: Platform) -> None:
    """Every buyer, with the search box of the admin pages."""
    addresses = [value for name, value in day.canaries.items() if name.startswith("address of")]
    (token, *_) = re.findall(
        r'name="csrfmiddlewaretoken" value="(\w+)"', browser.get("/admin/holdfast/hold/").text
    )
    form = {"organization": platform.organization_id, "csrfmiddlewaretoken": token}
    for address in addresses:
        found = browser.post(
            "/admin/find/", data=form | {"find": address}, headers={"Referer": day.server.base_url}
        )
        assert found.status_code == 302, found.text
        shown = browser.get(found.headers["location"], follow_redirects=True)
        assert shown.status_code == 200
        day.urls += [str(found.request.url), *(str(each.url) for each in (*shown.history, shown))]


def call_everything(day: Day, tenant: Tenant, secret: str | None) -> None:
    """Every route with every id, as the generated matrix does."""
    with httpx.Client(base_url=day.server.base_url, timeout=60, verify=False) as client:
        for attempt in _once(aimed_attempts(ROUTES, tenant.own(), None)):
            request = attempt.request(secret)
            day.urls.append(request.target)
            answer = client.request(
                request.method,
                request.target,
                headers=[(name.decode(), value.decode()) for name, value in request.headers],
                content=request.body,
            )
            day.statuses.add(answer.status_code)
            if secret is None:
                day.answers.append(f"{answer.headers} {answer.text}")


def _once(attempts: Iterator[Attempt]) -> Iterator[Attempt]:
    """One of each field, and none that ends the caller's key."""
    seen = set()
    for attempt in attempts:
        name = (attempt.route.method, attempt.route.path, attempt.field)
        if name not in seen and "/keys/" not in attempt.route.path and not attempt.route.is_public:
            seen.add(name)
            yield attempt


def misplace(day: Day, tenant: Tenant) -> None:
    """Canaries in the wrong fields, in paths, headers and broken bodies."""
    client = tenant.platform.client
    for text in (
        day.plant("misplaced address", f"misplaced{uuid4().hex[:12]}@canary.example"),
        day.plant("misplaced key", f"hk_live_{uuid4().hex}{uuid4().hex[:11]}"),
        day.plant("misplaced token", f"ht_live_{uuid4().hex * 3}"),
        day.plant("misplaced session", f"hs_{uuid4().hex}{uuid4().hex[:11]}"),
        day.plant("misplaced invitation", f"hi_{uuid4().hex}{uuid4().hex[:11]}"),
    ):
        for answer in (
            client.get(f"/api/holds/{text}"),
            client.get(f"/api/{text}"),
            client.get(f"/admin/{text}/"),
            client.get("/api/holds", params={"cursor": text, text: text}),
            client.get("/api/holds", params={"customer_email": text}),
            client.post("/api/holds", params={"customer_email": text}, json={}),
            client.get("/api/holds", headers={EMAIL_HEADER: text}),
            client.get("/api/events", headers={EMAIL_HEADER: text}),
            client.get("/admin/holdfast/hold/", params={"q": text, "customer_email": text}),
            client.post("/api/holds", json={"session_id": text, text: text}),
            client.post("/api/holds", content=f'{{"customer_email": "{text}'),
            client.post("/api/events", json={"name": text, "currency": text}),
            client.get("/api/holds", headers={"User-Agent": text, "X-Acting-User": text}),
            client.get("/api/holds", headers={"X-Request-ID": text, "Idempotency-Key": text}),
            client.get("/api/holds", headers={"Authorization": f"Bearer {text}"}),
            client.get("/api/holds", headers={"Authorization": text, "Cookie": f"a={text}"}),
            client.get("/api/holds", headers={"X-Forwarded-For": text, "Origin": text}),
        ):
            day.statuses.add(answer.status_code)
            if answer.is_error and answer.request.url.path.startswith("/api/"):
                day.answers.append(answer.text)  # an error repeats nothing of the request
        BrokerAddress("rabbitmq", day.amqp_url).send_to_us(
            Message(uuid4(), "order.confirmed", json.dumps({text: text}).encode(), {})
        )


def make_trouble(day: Day, tenant: Tenant) -> None:
    """A server error and a rate limit."""
    url, client = day.server.database_url, tenant.platform.client
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("ALTER TABLE member RENAME TO member_away")
        name = day.plant("address in a failed request", f"failed{uuid4().hex[:8]}@canary.example")
        body = {"username": name, "role": "viewer", "email": name}
        for answer in (client.get("/api/members"), client.post("/api/members", json=body)):
            day.statuses.add(answer.status_code)
        owner.execute("ALTER TABLE member_away RENAME TO member")
    limit = {"rate_requests_per_holder": "3/60", "rate_seats_per_holder": "2/60"}
    assert client.patch("/api/organization", json=limit).is_success
    sale = tenant.own()
    asked: Json = {
        "session_id": sale["session_id"][0],
        "ticket_type_id": sale["ticket_type_id"][0],
        "quantity": 1,
        "customer_email": tenant.buyer.customer_email,
        "user_id": tenant.buyer.user_id,
    }
    wait_until(
        lambda: client.post("/api/holds", json=asked).status_code == 429, "the holder is limited"
    )
    day.statuses.add(429)


def wait_for_the_rest(day: Day, tenants: list[Tenant]) -> None:
    """Let holds expire and facts be published."""
    owner = Owner(day.server.database_url)
    for tenant in tenants:
        owner.let_pass(tenant.organization_id, 3 * 24 * 3600)
    gone = "SELECT count(*) FROM hold WHERE status IN ('active', 'waiting')"
    wait_until(lambda: owner.rows(gone) == [(0,)], "all holds have expired")
    query = "SELECT coalesce(sum(waiting), 0) FROM holdfast_relay_lag(16, 10)"
    wait_until(lambda: owner.rows(query) == [(0,)], "all facts are published")


def beyond_the_schema(messages: list[Message]) -> str:
    """All of the messages but what their schemas have."""
    texts = []
    for message in messages:
        body = _without(json.loads(message.body), OF_SCHEMA.get(message.type, set()) | OWN_IDS)
        texts.append(f"{message.type} {message.headers} {json.dumps(body)}")
    return "\n".join(texts)


def _without(given: Any, names: set[str]) -> Any:
    if isinstance(given, list):
        return [_without(each, names) for each in given]
    if isinstance(given, dict):
        return {name: _without(each, names) for name, each in given.items() if name not in names}
    return given


@pytest.mark.timeout(300)
def test_no_canary_escapes(day: Day) -> None:
    tenants = [plant_tenant(day, number) for number in range(2)]
    mine, theirs = tenants
    for number, tenant in enumerate(tenants):
        plant_credentials(day, tenant.platform, number)
    misplace(day, mine)
    token = mine.platform.token(user_id=mine.other_buyer.user_id)
    for secret in (mine.platform.secret_key, theirs.platform.secret_key, token, None):
        call_everything(day, mine, secret)
    make_trouble(day, mine)
    wait_for_the_rest(day, tenants)
    messages = BrokerAddress("rabbitmq", day.amqp_url).published()
    assert len(day.canaries) >= CANARIES_MIN
    assert day.statuses >= {200, 201, 400, 401, 403, 404, 409, 422, 429, 500, 503}
    assert {message.type for message in messages} >= {"hold.created", "order.confirmed"}
    dump, logs = day.valkey_dump(), day.logs()
    assert dump
    assert day.mails.received, "a buyer got a mail"
    assert any("notice.sent" in log for log in logs.values())
    assert all(each.process.poll() is None for each in day.commands), "all still run"
    assert {name: found for name, log in logs.items() if (found := day.found_in(log))} == {}
    assert day.found_in(dump) == {}
    assert day.found_in("\n".join(day.answers)) == {}
    assert day.found_in(beyond_the_schema(messages)) == {}
    assert day.addresses_in(day.urls) == {}
    _check_control(day, theirs)


def _check_control(day: Day, theirs: Tenant) -> None:
    """The same search finds a canary that is there."""
    name, value = next(iter(day.canaries.items()))
    with redis.Redis.from_url(day.valkey.url) as client:
        client.set(f"planted:{value}", value)
    with day.server.log.open("a") as log:
        log.write(f'{{"event": "{value}"}}\n')
    assert day.found_in(day.valkey_dump()) == {name: value}
    assert day.found_in(day.logs()["server"]) == {name: value}
    assert day.found_in("\n".join(day.urls)), "user ids are the platform's own"
    address = theirs.buyer.customer_email
    assert address in day.addresses_in([f"/api/holds?customer_email={quote(address)}"]).values()
