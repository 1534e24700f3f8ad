"""Forgetting a person: what is erased, what stays, and who may ask for it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from holdfast.adapters.postgres.privacy import forgetting
from tests.e2e.answers import first_error, problem_of
from tests.e2e.owner import Owner
from tests.e2e.paying import confirmed, held, keyed, ok, post, read
from tests.e2e.privacy.dump import found_in
from tests.support.patience import wait_until
from tests.support.platform import Json, Platform, new_platform
from tests.support.servers import INSTALLATION_SECRET, RunningServer
from tests.workers.commands import run_command


@pytest.fixture
def email() -> str:
    return f"ada-{uuid4().hex[:8]}@example.com"


def forget(platform: Platform, email: str, headers: dict[str, str] | None = None) -> Json:
    return ok(post(platform, "/api/forget", {"customer_email": email}, headers))


def released(platform: Platform, hold: Json) -> None:
    ok(post(platform, f"/api/holds/{hold['hold_id']}/release", {}))


def test_notes_metadata_and_the_link_in_the_audit_are_erased(
    platform: Platform, owner: Owner, email: str
) -> None:
    sale = platform.on_sale(20)
    personal: Json = {
        "customer_email": email,
        "notes": "Allergic",
        "metadata": {"phone": "+49 30 1"},
    }
    released(platform, held(platform, sale, **personal))
    refused = platform.place(sale, 21, customer_email=email)
    problem_of(refused, 409, "insufficient_inventory")
    query = {"customer_email": email, "outcome": "refused"}
    wait_until(lambda: bool(read(platform, "/api/audit", **query)["data"]), "it is in the audit")
    erased = forget(platform, email)
    assert (erased["holds"], erased["facts"], erased["is_complete"]) == (1, 1, True)
    assert erased["audit_entries"] >= 3
    own = platform.organization_id
    assert found_in(owner, own, email, "Allergic", "+49 30 1") == []
    linked = "SELECT count(*) FROM audit WHERE organization_id = %s AND holder IS NOT NULL"
    assert owner.rows(linked, own) == [(0,)]
    ((user_id,),) = owner.rows("SELECT user_id FROM hold WHERE organization_id = %s", own)
    assert user_id.startswith("forgotten:")


def test_a_hold_with_a_user_id_keeps_it(platform: Platform, owner: Owner, email: str) -> None:
    sale = platform.on_sale(20)
    released(platform, held(platform, sale, customer_email=email, user_id="user-17"))
    assert forget(platform, email)["holds"] == 1
    assert len(read(platform, "/api/holds", user_id="user-17")["data"]) == 1


def test_a_sold_seat_no_longer_says_who_has_it(
    platform: Platform, owner: Owner, email: str
) -> None:
    hall = platform.hall(1, 4)
    body = {"session_id": hall.session_id, "seat_ids": hall.seat_ids[:2], "customer_email": email}
    ok(confirmed(platform, platform.made("/api/holds", body)))
    keys = "SELECT DISTINCT holder_key FROM seat WHERE session_id = %s AND status = 'sold'"
    before = owner.rows(keys, hall.session_id)
    forget(platform, email)
    after = owner.rows(keys, hall.session_id)
    assert len(before) == len(after) == 1
    assert before != after


def test_an_attendee_of_somebody_elses_order_is_forgotten(
    platform: Platform, owner: Owner, email: str
) -> None:
    sale = platform.on_sale(5)
    hold = held(platform, sale, 2, customer_email="grace@example.com")
    attendees = [{"name": "Ada", "email": email}, {"name": "Grace"}]
    order_id = ok(confirmed(platform, hold, attendees=attendees))["order_id"]
    assert forget(platform, email)["tickets"] == 1
    ada, grace = read(platform, f"/api/orders/{order_id}")["tickets"]
    assert "attendee_name" not in ada
    assert grace["attendee_name"] == "Grace"


def test_a_repeated_request_gets_the_first_answer(platform: Platform, email: str) -> None:
    released(platform, held(platform, platform.on_sale(5), customer_email=email))
    key = keyed()
    assert forget(platform, email, key) == forget(platform, email, key)
    assert forget(platform, email)["holds"] == 0


def test_more_than_a_slice_is_erased(platform: Platform, owner: Owner, email: str) -> None:
    sale = platform.on_sale(5)
    released(platform, held(platform, sale, customer_email=email))
    owner.run(
        "INSERT INTO hold SELECT (jsonb_populate_record(h, jsonb_build_object("
        " 'id', gen_random_uuid(), 'reference', 'F' || n))).*"
        " FROM hold h, generate_series(1, %s) AS n WHERE h.organization_id = %s",
        2 * forgetting.OWNERS_MAX,
        platform.organization_id,
    )
    assert forget(platform, email)["holds"] == 2 * forgetting.OWNERS_MAX + 1


def test_holds_placed_meanwhile_are_whole(platform: Platform, owner: Owner, email: str) -> None:
    """Either the request is refused, or only holds that had ended lost their holder."""
    sale = platform.on_sale(100)

    def place_and_release(_: int) -> None:
        released(platform, held(platform, sale, customer_email=email))

    def try_to_forget(_: int) -> int:
        return post(platform, "/api/forget", {"customer_email": email}).status_code

    with ThreadPoolExecutor(4) as pool:
        placed = [pool.submit(place_and_release, number) for number in range(20)]
        codes = {each.result() for each in [pool.submit(try_to_forget, n) for n in range(10)]}
        for each in placed:
            each.result()
    assert codes <= {200, 409}
    forget(platform, email)
    assert found_in(owner, platform.organization_id, email) == []
    owner.assert_counters_add_up(platform.organization_id)


@pytest.mark.parametrize("address", ["", "ada", "ada@example", 7, None])
def test_an_address_is_required(platform: Platform, address: object) -> None:
    answer = post(platform, "/api/forget", {"customer_email": address})
    assert first_error(answer)[0] == "customer_email"


def test_the_command_erases_every_organization_or_one(
    fresh_database_url: str, make_server: Callable[..., RunningServer], email: str
) -> None:
    """In its own database: the command visits every organization."""
    server = make_server(fresh_database_url).start()
    server.wait_for("/readyz")
    platform = new_platform(server.base_url, server.database_url)
    released(platform, held(platform, platform.on_sale(5), customer_email=email))
    settings = {"DATABASE_URL": server.database_url, "HOLDFAST_SECRET_KEY": INSTALLATION_SECRET}
    own = platform.organization_id
    unsure = run_command("forget", email, "--organization", own, **settings)
    assert (unsure.returncode, "--yes" in unsure.stderr) == (1, True)
    assert read(platform, "/api/holds", customer_email=email)["data"]
    blind = run_command(
        "forget", email, "--organization", own, "--yes", DATABASE_URL=server.database_url
    )
    assert (blind.returncode, "lacks a secret" in blind.stderr) == (1, True)
    done = run_command("forget", email, "--organization", own, "--yes", **settings)
    assert done.returncode == 0, done.stderr
    assert "erased from 1 holds" in done.stdout
    assert email not in done.stdout + done.stderr
    assert read(platform, "/api/holds", customer_email=email)["data"] == []
    again = run_command("forget", email, "--yes", **settings)
    assert again.returncode == 0, again.stderr
    wrong = run_command("forget", "ada", "--yes", **settings)
    assert (wrong.returncode, wrong.stderr) == (1, "holdfast: Invalid email format\n")
    unknown = run_command("forget", email, "--organization", str(uuid4()), "--yes", **settings)
    assert (unknown.returncode, "no organization" in unknown.stderr) == (1, True)


def test_the_command_names_open_holds(
    platform: Platform, server: RunningServer, email: str
) -> None:
    hold = held(platform, platform.on_sale(5), customer_email=email)
    settings = {"DATABASE_URL": server.database_url, "HOLDFAST_SECRET_KEY": INSTALLATION_SECRET}
    own = platform.organization_id
    done = run_command("forget", email, "--organization", own, "--yes", **settings)
    assert done.returncode == 1
    assert hold["hold_id"] in done.stdout
