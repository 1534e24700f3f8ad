"""Every route, with every id that it takes, called by everybody who must not get through: nothing
is shown, and nothing changes."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from _pytest.terminal import TerminalReporter

from holdfast.domain import refusals
from holdfast.domain.access.scopes import Mode, Scope
from holdfast.domain.ids import OrganizationId
from holdfast.entrypoints.api import app
from holdfast.entrypoints.api.app import create_api
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.http.shapes import NoFields
from holdfast.entrypoints.api.organization.structs import OrganizationAnswer
from holdfast.entrypoints.api.routes import ROUTES
from holdfast.services.access.authentication import new_secret_key
from tests.matrix.attempts import aimed_attempts, fields_of
from tests.matrix.callers import (
    Caller,
    Sessions,
    ended_callers,
    foreign_callers,
    limited_callers,
    other_holders,
    strangers,
)
from tests.matrix.evidence import Records
from tests.matrix.installation import Installation
from tests.matrix.matrix import Matrix, Report
from tests.matrix.tenants import Tenant, live_side, new_tenant, retry_keys
from tests.support.databases import DatabaseFactory
from tests.support.platform import new_platform

OK = 200
ATTEMPTS_MIN = 10_000
RETRIES = 320

# A username is unique in the installation, because people log in with it.
TAKEN_ELSEWHERE = {"POST /api/members": {"username"}}
# Within an organization, the caller may choose the id of a hold and the token of a cart. Both are
# secrets of their holder: nobody can guess them.
TAKEN_BY_ANOTHER_HOLDER = {
    "POST /api/holds": {"hold_id"},
    "PUT /api/carts/{cart_token}/hold": {"cart_token"},
}


@dataclass
class World:
    """Three organizations, of which two are the modes of one."""

    installation: Installation
    victim: Tenant
    neighbour: Tenant
    live: Tenant
    sessions: Sessions
    total: Report = field(default_factory=Report)

    def __post_init__(self) -> None:
        self.retries = retry_keys(self.victim, RETRIES)
        self.records = Records(self.installation.owner_url)
        self.canaries = self.records.canaries(
            self.victim.organization_id,
            [each.organization_id for each in (self.neighbour, self.live)],
        )

    def matrix(self, **changes: Any) -> Matrix:
        made = Matrix(
            self.installation,
            ROUTES,
            self.victim.own(),
            self.canaries,
            self.retries,
            TAKEN_ELSEWHERE,
        )
        return replace(made, **changes)

    def digests(self, **which: Any) -> Mapping[str, tuple[int, str]]:
        self.installation.write_journal()
        return self.records.digests(self.victim.organization_id, **which)

    def expect_nothing(self, matrix: Matrix, callers: Iterable[Caller], **which: Any) -> None:
        """No leak, and no change of the victim's rows."""
        callers = list(callers)
        before = self.digests(**which)
        report = matrix.run(callers)
        assert not report.leaks, "\n".join(report.leaks[:20])
        assert self.digests(**which) == before
        self.total.add(report)


@pytest.fixture(scope="module")
def world(databases: DatabaseFactory) -> Iterator[World]:
    url = databases.fresh()
    with Installation(url) as installation:
        yield new_world(installation)


def new_world(installation: Installation) -> World:
    url = installation.owner_url

    def tenant() -> Tenant:
        made = new_platform("", url)
        return new_tenant(installation.platform(made.secret_key, made.organization_id), url)

    victim, neighbour = tenant(), tenant()
    secret, key = new_secret_key(Mode.LIVE)
    side = live_side(victim.platform, url, key.secret_hash)
    live = new_tenant(installation.platform(secret, side), url)
    return World(installation, victim, neighbour, live, Sessions(url))


@pytest.mark.timeout(900)  # 25,000 requests
def test_nobody_else_finds_or_changes_anything(
    world: World, request: pytest.FixtureRequest
) -> None:
    attack_from_another_organization(world)
    attack_from_the_other_mode(world)
    attack_without_a_valid_credential(world)
    attack_without_the_right(world)
    attack_as_another_holder(world)
    terminal = request.config.pluginmanager.get_plugin("terminalreporter")
    if isinstance(terminal, TerminalReporter):
        terminal.write_line(f"\n{world.total}")
    asked = [route for route in ROUTES if not route.is_public]
    fields = {f"{each.method} {each.path} {one}" for each in asked for one in fields_of(each)}
    assert fields <= world.total.fields
    assert world.total.attempts >= ATTEMPTS_MIN


def attack_from_another_organization(world: World) -> None:
    callers = foreign_callers("other organization", world.neighbour, world.sessions)
    world.expect_nothing(world.matrix(), callers, with_refused=True)


def attack_from_the_other_mode(world: World) -> None:
    callers = foreign_callers("other mode", world.live, world.sessions)
    world.expect_nothing(world.matrix(), callers, with_refused=True)


def attack_without_a_valid_credential(world: World) -> None:
    ended = ended_callers(world.victim, world.installation.owner_url, world.sessions)
    callers = [*strangers(), *ended]
    world.expect_nothing(world.matrix(), callers, with_refused=False)


def attack_without_the_right(world: World) -> None:
    callers = limited_callers(world.victim, world.sessions)
    world.expect_nothing(world.matrix(), callers, with_refused=False)


def attack_as_another_holder(world: World) -> None:
    """Within the organization. The catalog is everybody's."""
    buyer = world.victim.buyer
    named = (*buyer.private, buyer.user_id)
    private = world.records.private_canaries(world.victim.organization_id, named)
    matrix = world.matrix(canaries=private, exceptions=TAKEN_BY_ANOTHER_HOLDER)
    callers = other_holders(world.victim)
    world.expect_nothing(matrix, callers, mentioning=buyer.private, with_refused=False)


async def show_settings_of_anybody(context: Context, call: Call, _: NoFields) -> Reply:
    """A route that believes a parameter of the path."""
    organization_id = OrganizationId(call.path_id)
    found = await context.blocking.run(
        organization_id, context.organizations.organization, organization_id
    )
    return Reply(200 if found else 404, found.name.encode() if found else b"")


def leaky_route(path: str) -> Route[Any]:
    return Route(
        method="GET",
        path=path,
        scope=Scope.SETTINGS_READ,
        summary="",
        returns="",
        handler=show_settings_of_anybody,
        answer=OrganizationAnswer,
        not_found=refusals.event_not_found(),
    )


@pytest.fixture
def with_route(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Matrix]]:
    """The matrix of an API that has one more route."""
    normal = world.installation.api

    def made(path: str) -> Matrix:
        routes = (*ROUTES, leaky_route(path))
        # The document would need a description.
        monkeypatch.setattr(app, "documents", lambda *_: {})
        monkeypatch.setattr(app, "ROUTES", routes)
        world.installation.api = create_api(world.installation.server.container)
        return world.matrix(routes=routes[-1:])

    yield made
    if world.installation.api is not normal:
        world.installation.api.close()
    world.installation.api = normal


def test_a_route_that_leaks_is_found(world: World, with_route: Callable[[str], Matrix]) -> None:
    """Control: the matrix attacks a new route by itself, and notices what it shows."""
    matrix = with_route("/api/settings/{organization_id}")
    callers = foreign_callers("other organization", world.neighbour, world.sessions)
    leaks = matrix.run(callers).leaks
    assert any(f"shows ['organization{world.victim.tag}']" in leak for leak in leaks), leaks
    assert any("but an unknown id: " in leak for leak in leaks), leaks


def test_a_route_with_an_unknown_kind_of_id_is_reported(
    world: World, with_route: Callable[[str], Matrix]
) -> None:
    matrix = with_route("/api/webhooks/{webhook_id}")
    with pytest.raises(AssertionError, match="takes webhook_id, and no tenant of the matrix has"):
        matrix.run(strangers())


def test_a_change_is_found(world: World) -> None:
    """Control: the digest covers every table, and a change of the smallest column shows."""
    before = world.digests(with_refused=True)
    assert len(before) > 20
    assert min(count for count, _ in before.values()) >= 0
    path = f"/api/pools/{world.victim.ids['pool_id'][0]}"
    changed = world.victim.platform.client.patch(path, json={"name": "renamed"})
    assert changed.is_success
    after = world.digests(with_refused=True)
    assert {name for name in before if before[name] != after[name]} >= {"pool", "audit"}


def test_the_same_reads_work_for_their_owner(world: World) -> None:
    """Control: an attempt finds nothing because of its caller, and for no other reason."""
    tenant = world.neighbour
    first = {kind: values[0] for kind, values in tenant.own().items()}
    for attempt in aimed_attempts(ROUTES, tenant.own(), None):
        is_first = attempt.field is not None and attempt.value == first[attempt.field.kind]
        if attempt.verb == "GET" and is_first:
            (answer,) = world.installation.send([attempt.request(tenant.platform.secret_key)])
            assert answer.status == OK, f"{attempt}: {answer.text}"
