"""Nothing personal is stored in clear text, apart from what the schema of a fact asks for."""

from pathlib import Path

from tests.e2e.answers import problem_of
from tests.e2e.cart_calls import Cart, item
from tests.e2e.owner import Owner
from tests.e2e.paying import checked_out, completed, confirmed, held, keyed, ok, read
from tests.e2e.privacy.dump import found_in, rows_of
from tests.support.platform import Json, Platform, new_platform
from tests.support.servers import INSTALLATION_SECRET, RunningServer
from tests.workers.commands import run_command

NEXT_SECRET = "the next secret of this installation"


def canary(number: int) -> str:
    return f"Canary{number:02d}.Nightingale@example.com"


def busy_sale(platform: Platform) -> list[str]:
    """Holds, a cart, orders, a waitlist, refused attempts, tokens: each with its own canary."""
    sale, full = platform.on_sale(50), platform.on_sale(1, hold_policy={"waitlist": True})
    sent = [canary(number) for number in range(12)]
    released = held(platform, sale, customer_email=sent[0])
    platform.client.post(f"/api/holds/{released['hold_id']}/release", json={})
    named: Json = {"attendees": [{"name": "Canary Singer", "email": sent[1]}]}
    ok(confirmed(platform, held(platform, sale, customer_email=sent[2]), **named))
    checkout = ok(checked_out(platform, held(platform, sale, 2, customer_email=sent[3])), 201)
    ok(completed(platform, checkout, "pay-1", **named), 201)
    cart = Cart(platform, sale)
    body = cart.body(item(sale, 2), customer_email=sent[4])
    ok(platform.client.put(cart.path, json=body, headers=keyed()), 201)
    held(platform, full, customer_email=sent[5])
    platform.place(full, 1, customer_email=sent[6])
    platform.place(sale, 1, customer_email=sent[7], headers=keyed())
    refused = platform.place(sale, 10_000, customer_email=sent[8])
    problem_of(refused, 409, "insufficient_inventory")
    buyer = platform.buyer(customer_email=sent[9])
    own = {"session_id": sale.session_id, "ticket_type_id": sale.ticket_type_id, "quantity": 1}
    ok(buyer.post("/api/holds", json=own), 201)
    platform.client.post("/api/holder-tokens/revoke", json={"customer_email": sent[9]})
    read(platform, "/api/audit", customer_email=sent[10])
    held(platform, sale, customer_email=sent[11], user_id="user-with-address")
    return sent


def test_no_address_or_name_is_found_in_the_database(platform: Platform, owner: Owner) -> None:
    sent = busy_sale(platform)
    found = found_in(owner, None, *sent, "Canary Singer", "Nightingale")
    assert {table for table, _ in found} == {"outbox"}
    facts = owner.rows(
        "SELECT type FROM outbox WHERE organization_id = %s AND payload::text ~* 'nightingale'",
        platform.organization_id,
    )
    assert {kind for (kind,) in facts} == {"hold.created"}


def test_the_search_finds_what_is_there(platform: Platform, owner: Owner) -> None:
    """The control of the test above: clear text in a text and in a binary column."""
    hold = held(platform, platform.on_sale(5), customer_email="ada@example.com")
    owner.run("UPDATE hold SET notes = 'Kilroy' WHERE id = %s", hold["hold_id"])
    owner.run(
        "UPDATE hold SET customer_email = '\\x00' || 'Kilroy'::bytea WHERE id = %s", hold["hold_id"]
    )
    assert {table for table, _ in found_in(owner, platform.organization_id, "KILROY")} == {"hold"}
    owner.run("DELETE FROM hold_line WHERE hold_id = %s", hold["hold_id"])
    owner.run("DELETE FROM hold WHERE id = %s", hold["hold_id"])


def test_after_a_rotation_old_rows_are_found_and_the_old_secret_can_be_retired(
    platform: Platform, owner: Owner, server: RunningServer, tmp_path: Path
) -> None:
    limited = platform.on_sale(10, hold_policy={"holder_units_max": 3})
    held(platform, limited, 2, customer_email="ada@example.com")
    sold = held(platform, limited, customer_email="grace@example.com")
    ok(confirmed(platform, sold, attendees=[{"name": "Grace"}]))
    both = {
        "HOLDFAST_SECRET_KEY": NEXT_SECRET,
        "HOLDFAST_SECRET_KEY_FALLBACKS": INSTALLATION_SECRET,
        "HOLDFAST_DUTIES": "none",
    }
    with RunningServer(server.database_url, tmp_path / "log", both) as running:
        after = Platform(running.base_url, platform.secret_key, platform.organization_id)
        assert len(read(after, "/api/holds", customer_email="ADA@example.com")["data"]) == 1
        assert len(read(after, "/api/orders", customer_email="grace@example.com")["data"]) == 1
        assert read(after, "/api/audit", customer_email="ada@example.com")["data"]
        body = {"customer_email": "ada@example.com"}
        problem_of(after.place(limited, 2, **body), 409, "holder_limit_reached")
        order = read(after, "/api/orders", customer_email="grace@example.com")["data"][0]
        assert order["tickets"][0]["attendee_name"] == "Grace"
    database = {"DATABASE_URL": server.database_url}
    done = run_command("reseal", **database, **both)
    try:
        assert done.returncode == 0, done.stderr
        assert "All use the current secret" in done.stdout
        retired = both | {"HOLDFAST_SECRET_KEY_FALLBACKS": ""}
        with RunningServer(server.database_url, tmp_path / "log", retired) as running:
            after = Platform(running.base_url, platform.secret_key, platform.organization_id)
            assert len(read(after, "/api/holds", customer_email="ada@example.com")["data"]) == 1
            order = read(after, "/api/orders", customer_email="grace@example.com")["data"][0]
            assert order["tickets"][0]["attendee_name"] == "Grace"
    finally:
        back = {
            "HOLDFAST_SECRET_KEY": INSTALLATION_SECRET,
            "HOLDFAST_SECRET_KEY_FALLBACKS": NEXT_SECRET,
        }
        assert run_command("reseal", **database, **back).returncode == 0


def test_a_server_without_a_secret_stores_what_a_later_secret_seals(
    fresh_database_url: str, tmp_path: Path
) -> None:
    unset = {"HOLDFAST_SECRET_KEY": "", "HOLDFAST_DUTIES": "none"}
    owner = Owner(fresh_database_url)
    with RunningServer(fresh_database_url, tmp_path / "log", unset) as running:
        platform = new_platform(running.base_url, running.database_url)
        held(platform, platform.on_sale(5), customer_email="ada@example.com")
        assert len(read(platform, "/api/holds", customer_email="ada@example.com")["data"]) == 1
    assert ("hold", b"ada@example.com".hex()) in found_in(owner, None, "ada@example.com")
    secret = {"DATABASE_URL": fresh_database_url, "HOLDFAST_SECRET_KEY": NEXT_SECRET}
    assert run_command("reseal", **secret).returncode == 0
    assert {table for table, _ in found_in(owner, None, "ada@example.com")} == {"outbox"}
    assert any(table == "hold" for table, _ in rows_of(owner))
    refused = run_command("reseal", DATABASE_URL=fresh_database_url, HOLDFAST_SECRET_KEY="x" * 40)
    assert refused.returncode == 1
    assert "HOLDFAST_SECRET_KEY_FALLBACKS: addresses are encrypted with" in refused.stderr
