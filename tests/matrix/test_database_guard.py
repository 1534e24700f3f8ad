"""Row-level security alone: the application takes the caller for the victim, so that every filter
of it names the victim, and only the database knows who asks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from uuid import UUID

import psycopg
import pytest

from holdfast.adapters.postgres.access.keys import PostgresKeys
from holdfast.adapters.postgres.connections import connection as connecting
from holdfast.domain.access.roles import Role
from holdfast.domain.ids import OrganizationId
from holdfast.entrypoints.api.routes import ROUTES
from holdfast.ports.access import Principal
from tests.matrix.callers import Caller, Sessions
from tests.matrix.evidence import Records
from tests.matrix.installation import Installation
from tests.matrix.matrix import Matrix, Report
from tests.matrix.tenants import Tenant, new_tenant, retry_keys
from tests.matrix.test_matrix import TAKEN_ELSEWHERE
from tests.support.databases import DatabaseFactory
from tests.support.platform import new_platform

KEY, SESSION = "key", "owner's session"


class Deceived:
    """A victim, a neighbour, and servers that mistake the one for the other."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.records = Records(url)
        with Installation(url) as installation:
            self.victim, self.neighbour = (self._tenant(installation) for _ in range(2))
            self.retries = retry_keys(self.victim, 120)
            installation.write_journal()
        self.secrets = {
            KEY: self.neighbour.platform.secret_key,
            SESSION: Sessions(url).new(self.neighbour.organization_id, Role.OWNER),
        }

    def _tenant(self, installation: Installation) -> Tenant:
        made = new_platform("", self.url)
        return new_tenant(installation.platform(made.secret_key, made.organization_id), self.url)

    @contextmanager
    def servers(self) -> Iterator[Installation]:
        """A new one, which has nothing of the victim in its memory."""
        theirs = OrganizationId(UUID(self.victim.organization_id))
        mine = OrganizationId(UUID(self.neighbour.organization_id))
        found, named = PostgresKeys.find, connecting._named

        def find(keys: PostgresKeys, hashes: Sequence[bytes]) -> Mapping[bytes, Principal]:
            principals = found(keys, hashes)
            return {
                each: replace(principal, organization_id=theirs)
                for each, principal in principals.items()
            }

        def named_truly(organizations: Iterable[OrganizationId]) -> str:
            return named(mine if each == theirs else each for each in organizations)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(PostgresKeys, "find", find)
            patch.setattr(connecting, "_named", named_truly)
            with Installation(self.url) as installation:
                yield installation

    def attack(self, *callers: str) -> tuple[Report, list[tuple[str, str]]]:
        """The report, and the rows of the victim that have changed."""
        victim = self.victim.organization_id
        canaries = self.records.canaries(victim, [self.neighbour.organization_id])
        before = self.records.changeable_rows(victim)
        with self.servers() as installation:
            matrix = Matrix(
                installation,
                ROUTES,
                self.victim.own(),
                canaries,
                self.retries,
                TAKEN_ELSEWHERE,
                # An insert for the victim is refused by the database, which no handler expects.
                has_errors=True,
            )
            report = matrix.run(
                Caller("row-level security alone", name, self.secrets[name], is_member=name != KEY)
                for name in callers
            )
        return report, sorted(before ^ self.records.changeable_rows(victim))

    def run(self, statement: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as owner:
            owner.execute(statement.encode())


ATTEMPTS_MIN = 500


@pytest.fixture(scope="module")
def deceived(databases: DatabaseFactory) -> Deceived:
    return Deceived(databases.fresh())


def test_row_level_security_alone_shows_and_changes_nothing(deceived: Deceived) -> None:
    report, changed = deceived.attack(KEY, SESSION)
    assert report.attempts >= ATTEMPTS_MIN
    assert not report.leaks, "\n".join(report.leaks[:20])
    assert not changed


@pytest.mark.parametrize("table", ["hold", "event"])
def test_an_unguarded_table_is_found(deceived: Deceived, table: str) -> None:
    """Control: without the guard of a single table, it leaks."""
    deceived.run(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")
    try:
        report, _ = deceived.attack(KEY)
    finally:
        deceived.run(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    assert report.leaks
