"""The command `holdfast inventory`."""

from tests.workers.commands import run_command


def test_it_needs_a_database() -> None:
    done = run_command("inventory")
    assert done.returncode == 1
    assert done.stderr == "holdfast: DATABASE_URL: must be set\n"


def test_it_does_not_start_in_the_environment_of_the_hold_service(database_url: str) -> None:
    done = run_command(
        "inventory",
        DATABASE_URL=database_url,
        HOLDFAST_INVENTORY_URL="http://127.0.0.1:8100",
        HOLDFAST_INVENTORY_KEY="a key of sixteen letters",
    )
    assert done.returncode == 1
    assert done.stderr.startswith("holdfast: HOLDFAST_INVENTORY_URL: is for the Hold Service")


def test_it_refuses_a_login_that_owns_the_tables(database_url: str) -> None:
    done = run_command("inventory", DATABASE_URL=database_url)
    assert done.returncode == 1
    assert "holdfast" in done.stderr
