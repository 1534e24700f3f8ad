"""Members at the command line."""

from uuid import uuid4

from tests.e2e.owner import Owner
from tests.support.people import HASHED
from tests.support.platform import Platform
from tests.support.servers import RunningServer
from tests.workers.commands import run_command


def test_an_account_that_another_organization_planted_is_not_added_unawares(
    platform: Platform, neighbour: Platform, server: RunningServer, owner: Owner
) -> None:
    """The neighbour invites a name, chooses its password and removes it again."""
    name = f"boss-{uuid4().hex}@example.com"
    planted = neighbour.made("/api/members", {"username": name, "role": "viewer"})
    owner.run(
        "UPDATE auth_user SET password = %s, is_staff = false WHERE username = %s", HASHED, name
    )
    add = ("members", "add", platform.organization_id, name, "--role", "owner")
    refused = run_command(*add, DATABASE_URL=server.database_url)
    assert refused.returncode == 1
    assert "This account exists already. It is a member of " in refused.stderr
    assert "Its password is not reset" in refused.stderr
    assert "--existing" in refused.stderr
    is_staff = "SELECT is_staff FROM auth_user WHERE username = %s"
    assert owner.rows(is_staff, name) == [(False,)], "a refusal changes nothing"
    assert neighbour.client.delete(f"/api/members/{planted['member_id']}").status_code == 200
    refused = run_command(*add, DATABASE_URL=server.database_url)
    assert "It is a member of no organization" in refused.stderr
    assert platform.client.get("/api/members").json()["data"] == []
    done = run_command(*add, "--existing", DATABASE_URL=server.database_url)
    assert done.returncode == 0, done.stderr
    assert len(platform.client.get("/api/members").json()["data"]) == 1


def test_somebody_new_is_invited(platform: Platform, server: RunningServer) -> None:
    """On both sides, though the account exists when the second one adds it."""
    name = f"ann-{uuid4().hex}@example.com"
    add = ("members", "add", platform.organization_id, name, "--role", "owner")
    done = run_command(*add, DATABASE_URL=server.database_url)
    assert (done.returncode, "/admin/invitation/hi_" in done.stdout) == (0, True), done.stderr


def test_an_unknown_role_is_answered_with_the_roles(platform: Platform) -> None:
    done = run_command("members", "add", platform.organization_id, "ann", "--role", "king")
    assert done.returncode == 2
    assert "must be one of owner, manager, support, viewer" in done.stderr


def test_a_command_without_the_owner_names_the_variable(platform: Platform) -> None:
    nowhere = "postgresql://nobody@127.0.0.1:1/none"
    done = run_command("forget", "ann@example.com", "--yes", DATABASE_URL=nowhere)
    assert done.returncode == 1
    assert "HOLDFAST_OWNER_DATABASE_URL" in done.stderr
