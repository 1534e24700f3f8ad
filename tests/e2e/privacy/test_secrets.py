"""A process that lacks a secret does not start: it would not find what the others have stored."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from holdfast.services.access.installation_secrets import InstallationSecrets
from tests.e2e.answers import problem_of
from tests.e2e.owner import Owner
from tests.e2e.paying import held
from tests.support.databases import DatabaseFactory, server_url
from tests.support.platform import Platform, Sale, new_platform
from tests.support.servers import RunningServer, free_port
from tests.workers.commands import CELERY, run_command

FIRST, NEXT = "the first secret of this installation", "the next secret of this installation"
FIRST_ID = InstallationSecrets([FIRST]).ids[0]
ADA = "ada@example.com"
# As in docs/privacy.md.
GIVE_UP = """
INSERT INTO address_secret (id, is_lost) VALUES (%s, true)
ON CONFLICT (id) DO UPDATE SET is_lost = true
"""


def secrets(current: str = "", fallbacks: str = "") -> dict[str, str]:
    return {
        "HOLDFAST_SECRET_KEY": current,
        "HOLDFAST_SECRET_KEY_FALLBACKS": fallbacks,
        "HOLDFAST_DUTIES": "none",
    }


@pytest.fixture(scope="module")
def used_database(databases: DatabaseFactory) -> Owner:
    owner = Owner(databases.fresh())
    owner.run("INSERT INTO address_secret (id) VALUES (%s)", FIRST_ID)
    return owner


def placed_by_ada(platform: Platform, sale: Sale, quantity: int) -> None:
    held(platform, sale, quantity, customer_email=ADA)


def in_use(owner: Owner) -> int:
    ((count,),) = owner.rows("SELECT count(*) FROM address_secret")
    return int(count)


def resealed(url: str, environment: Mapping[str, str]) -> tuple[int, str]:
    done = run_command("reseal", DATABASE_URL=url, **environment)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("command", ["serve", "worker", "consume"])
@pytest.mark.parametrize("given", [secrets(), secrets(NEXT)], ids=["none", "another"])
def test_a_process_without_a_secret_in_use_is_refused(
    used_database: Owner, command: str, given: dict[str, str]
) -> None:
    url = server_url(used_database.database_url)
    more = {"HOLDFAST_PORT": str(free_port()), "AMQP_URL": "amqp://127.0.0.1:1"}
    ended = run_command(command, DATABASE_URL=url, **given, **more)
    assert ended.returncode == 1
    assert ended.stderr.startswith("holdfast: HOLDFAST_SECRET_KEY_FALLBACKS: ")
    assert FIRST_ID.hex() in ended.stderr
    assert "docs/privacy.md" in ended.stderr
    assert in_use(used_database) == 1


def test_so_is_a_worker_of_celerys_own_command(used_database: Owner) -> None:
    url = server_url(used_database.database_url)
    more = {"DATABASE_URL": url, "AMQP_URL": "amqp://127.0.0.1:1"}
    ended = run_command("worker", program=CELERY, **secrets(NEXT), **more)
    assert ended.returncode == 1
    assert "holdfast: HOLDFAST_SECRET_KEY_FALLBACKS: " in ended.stderr


def test_the_first_secret_comes_without_a_stop(fresh_database_url: str, tmp_path: Path) -> None:
    """Servers that only know it as a fallback find, count and read what the next one stores."""
    owner, url = Owner(fresh_database_url), fresh_database_url
    with RunningServer(url, tmp_path / "old", secrets("", FIRST)) as old:
        before = new_platform(old.base_url, old.database_url)
        limited = before.on_sale(10, hold_policy={"holder_units_max": 3})
        placed_by_ada(before, limited, 1)
        with RunningServer(url, tmp_path / "new", secrets(FIRST)) as new:
            after = Platform(new.base_url, before.secret_key, before.organization_id)
            placed_by_ada(after, limited, 2)
            for platform in (before, after):
                problem_of(
                    platform.place(limited, 1, customer_email=ADA), 409, "holder_limit_reached"
                )
        assert in_use(owner) == 1
    assert resealed(url, secrets(FIRST)) == (
        0,
        "Encrypted 1 rows again. All use the current secret.\n",
    )


def test_a_secret_is_in_use_until_no_row_has_it(fresh_database_url: str, tmp_path: Path) -> None:
    owner, url = Owner(fresh_database_url), fresh_database_url
    with RunningServer(url, tmp_path / "log", secrets(FIRST)) as running:
        platform = new_platform(running.base_url, running.database_url)
        placed_by_ada(platform, platform.on_sale(5), 1)
        # What the running server writes after its table was sealed again.
        owner.run(
            "CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS"
            " 'BEGIN NEW.customer_email := OLD.customer_email; RETURN NEW; END'"
        )
        owner.run("CREATE TRIGGER late BEFORE UPDATE ON hold FOR EACH ROW EXECUTE FUNCTION late()")
        code, said = resealed(url, secrets(NEXT, FIRST))
        assert (code, in_use(owner)) == (1, 2)
        assert "1 rows don't use the current secret" in said
    owner.run("DROP TRIGGER late ON hold")
    code, said = resealed(url, secrets(NEXT, FIRST))
    assert (code, in_use(owner)) == (0, 1)
    assert "All use the current secret" in said
    with RunningServer(url, tmp_path / "log", secrets(NEXT)):
        pass


def test_a_lost_secret_can_be_given_up(fresh_database_url: str, tmp_path: Path) -> None:
    """Its addresses stay unreadable; everything else works again."""
    owner, url = Owner(fresh_database_url), fresh_database_url
    with RunningServer(url, tmp_path / "old", secrets(FIRST)) as running:
        platform = new_platform(running.base_url, running.database_url)
        placed_by_ada(platform, platform.on_sale(5), 1)
    forget = ("forget", "grace@example.com", "--yes")
    refused = run_command(*forget, DATABASE_URL=url, **secrets(NEXT))
    assert (refused.returncode, f"lacks a secret (id {FIRST_ID.hex()})" in refused.stderr) == (
        1,
        True,
    )
    assert resealed(url, secrets(NEXT))[0] == 1
    owner.run(GIVE_UP, FIRST_ID)
    with RunningServer(url, tmp_path / "new", secrets(NEXT)) as running:
        platform = Platform(running.base_url, platform.secret_key, platform.organization_id)
        sale = platform.on_sale(5)
        placed_by_ada(platform, sale, 1)
        person = {"customer_email": "grace@example.com"}
        assert platform.client.post("/api/forget", json=person).status_code == 200
    done = run_command(*forget, DATABASE_URL=url, **secrets(NEXT))
    assert done.returncode == 0, done.stderr
    assert resealed(url, secrets(NEXT)) == (
        0,
        "Encrypted 0 rows again. All use the current secret.\n",
    )
    assert in_use(owner) == 2, "the lost one is remembered while rows have it"
    with RunningServer(url, tmp_path / "found", secrets(NEXT, FIRST)):
        pass
    assert resealed(url, secrets(NEXT, FIRST))[0] == 0
    assert in_use(owner) == 1, "it was found again"
