"""The pages in a real browser, at desktop and phone size."""

import re
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from playwright.sync_api import expect

from holdfast.entrypoints.api.routes import ROUTES
from tests.browser.conftest import DESKTOP, PASSWORD, PHONE, Visitor
from tests.support.platform import Platform
from tests.support.servers import RunningServer

DEVICES = {"desktop": DESKTOP, "phone": PHONE}


def log_in(visitor: Visitor, name: str, password: str) -> None:
    visitor.visit("/admin/login/?next=/admin/")
    visitor.page.get_by_label("Username").fill(name)
    visitor.page.locator("input[name=password]").fill(password)
    visitor.page.get_by_role("button", name=re.compile("log in", re.IGNORECASE)).click()


def picture(visitor: Visitor, tmp_path: Path, name: str) -> None:
    """Keep a screenshot for anyone who wants to see the page."""
    visitor.page.screenshot(path=tmp_path / f"{name}.png", full_page=True)


def locked_out(owner_url: str) -> str:
    """The name of somebody who gave too many wrong passwords."""
    name = f"locked-out-{uuid4().hex[:8]}"
    with psycopg.connect(owner_url) as owner:
        owner.execute(
            "INSERT INTO axes_accessattempt (username, ip_address, user_agent, get_data, post_data,"
            " http_accept, path_info, failures_since_start, attempt_time)"
            " VALUES (%s, '127.0.0.1', '', '', '', '', '', 5, now())",
            [name],
        )
    return name


@pytest.mark.parametrize("device", DEVICES)
def test_the_documentation_shows_every_operation(
    visitor: Visitor, tmp_path: Path, device: str
) -> None:
    visitor.resize(DEVICES[device])
    visitor.visit("/api/docs")
    operations = visitor.page.locator(".opblock")
    expect(operations).to_have_count(len(ROUTES))
    shown = set()
    for text in operations.all_inner_texts():
        method, path = re.findall(r"\S+", text.replace("\u200b", ""))[:2]
        shown.add((method, path))
    assert shown == {(route.method, route.path) for route in ROUTES}
    picture(visitor, tmp_path, f"docs-{device}")
    visitor.assert_fits_the_width()
    visitor.assert_no_errors()


def test_an_operation_in_the_documentation_opens(visitor: Visitor, tmp_path: Path) -> None:
    visitor.visit("/api/docs")
    block = visitor.page.locator(".opblock-post", has_text="/api/holds").first
    block.locator(".opblock-summary-control").click()
    expect(block.get_by_text("customer_email").first).to_be_visible()
    expect(block.get_by_text("insufficient_inventory").first).to_be_attached()
    picture(visitor, tmp_path, "operation")
    visitor.assert_fits_the_width()
    visitor.assert_no_errors()


@pytest.mark.parametrize("path", ["/", "/admin/"])
def test_a_page_fits_a_desk_and_a_phone(visitor: Visitor, tmp_path: Path, path: str) -> None:
    for name, size in DEVICES.items():
        visitor.resize(size)
        visitor.visit(path)
        picture(visitor, tmp_path, name)
        visitor.assert_fits_the_width()
    visitor.assert_no_errors()


def test_the_start_page_links_to_the_documentation_and_the_admin(visitor: Visitor) -> None:
    visitor.visit("/")
    expect(visitor.page.get_by_role("heading", level=1)).to_be_visible()
    visitor.page.get_by_role("link", name="API documentation").click()
    expect(visitor.page.locator(".opblock").first).to_be_visible()
    visitor.visit("/")
    visitor.page.get_by_role("link", name="Admin").click()
    expect(visitor.page.get_by_label("Username")).to_be_visible()
    visitor.assert_no_errors()


def test_a_wrong_password_is_refused(visitor: Visitor, operator: str) -> None:
    log_in(visitor, operator, "guess")
    expect(
        visitor.page.get_by_text("Please enter the correct username and password")
    ).to_be_visible()
    assert "holdfast_session" not in {
        cookie["name"] for cookie in visitor.page.context.cookies(visitor.origin)
    }
    visitor.assert_no_errors()


def test_a_locked_out_operator_sees_for_how_long(
    visitor: Visitor, server: RunningServer, tmp_path: Path
) -> None:
    name = locked_out(server.database_url)
    for device, size in DEVICES.items():
        visitor.resize(size)
        log_in(visitor, name, PASSWORD)
        expect(visitor.page.get_by_role("heading", level=1)).to_have_text(
            "Too many wrong passwords"
        )
        expect(visitor.page.get_by_text("for 10 minutes")).to_be_visible()
        picture(visitor, tmp_path, f"locked-out-{device}")
        visitor.assert_fits_the_width()
    visitor.page.get_by_role("link", name="Back to login").click()
    expect(visitor.page.get_by_label("Username")).to_be_visible()


def test_an_operator_finds_a_hold_but_not_its_holders_name(
    visitor: Visitor, operator: str, platform: Platform, tmp_path: Path
) -> None:
    answer = platform.place(platform.on_sale(5), 2, customer_email="bartholomew@example.com")
    assert answer.status_code == 201
    hold = answer.json()
    log_in(visitor, operator, PASSWORD)
    visitor.page.get_by_role("link", name="Holds").first.click()
    visitor.page.wait_for_url("**/admin/holdfast/hold/")
    for name, size in DEVICES.items():
        visitor.resize(size)
        visitor.visit(f"/admin/holdfast/hold/?organization__id__exact={platform.organization_id}")
        row = visitor.page.get_by_role("row").filter(has_text=hold["reference"])
        for shown in ("b***@example.com", "active", "90.00"):
            expect(row).to_contain_text(shown, ignore_case=True)
        assert "bartholomew" not in visitor.page.content()
        picture(visitor, tmp_path, f"holds-{name}")
        visitor.assert_fits_the_width()
        row.get_by_role("link", name=hold["reference"]).click()
        visitor.page.wait_for_url(f"**/{hold['hold_id']}/change/**")
        expect(visitor.page.get_by_text("b***@example.com").first).to_be_visible()
        assert "bartholomew" not in visitor.page.content()
        picture(visitor, tmp_path, f"hold-{name}")
        visitor.assert_fits_the_width()
    visitor.assert_no_errors()


def test_an_operator_sees_the_waitlist_and_earlier_cart_items(
    visitor: Visitor, operator: str, platform: Platform, tmp_path: Path
) -> None:
    sale = platform.on_sale(3, hold_policy={"waitlist": True})
    cart = f"/api/carts/{'a-name-without-a-break-' * 8}/hold"
    body = {"session_id": sale.session_id, "customer_email": "bartholomew@example.com"}
    item = {"cart_item_id": "item-" + "0123456789" * 20, "ticket_type_id": sale.ticket_type_id}
    for quantity in (2, 3):
        answer = platform.client.put(cart, json={**body, "items": [{**item, "quantity": quantity}]})
    first, second = (platform.place(sale, quantity).json() for quantity in (2, 1))
    log_in(visitor, operator, PASSWORD)
    visitor.page.get_by_role("link", name="Waitlists").first.click()
    visitor.page.wait_for_url("**/admin/holdfast/waitlist/")
    for name, size in DEVICES.items():
        visitor.resize(size)
        visitor.visit(f"/admin/holdfast/waitlist/{sale.session_id}/change/")
        for hold in (first, second):
            expect(visitor.page.get_by_text(hold["reference"]).first).to_be_visible()
        picture(visitor, tmp_path, f"waitlist-{name}")
        visitor.assert_fits_the_width()
        visitor.visit(f"/admin/holdfast/hold/{second['hold_id']}/change/")
        expect(visitor.page.get_by_text("waiting").first).to_be_visible()
        visitor.assert_fits_the_width()
        visitor.visit(f"/admin/holdfast/hold/{answer.json()['hold_id']}/change/")
        expect(visitor.page.get_by_text("Earlier lines")).to_be_visible()
        picture(visitor, tmp_path, f"cart-{name}")
        visitor.assert_fits_the_width()
        visitor.visit(f"/admin/holdfast/hold/?organization__id__exact={platform.organization_id}")
        picture(visitor, tmp_path, f"holds-{name}")
        visitor.assert_fits_the_width()
    visitor.assert_no_errors()


def test_an_operator_navigates_between_an_order_and_its_hold(
    visitor: Visitor, operator: str, platform: Platform, tmp_path: Path
) -> None:
    hold = platform.place(platform.on_sale(5), 2, customer_email="bartholomew@example.com").json()
    payment = "payment-" + "0123456789" * 12
    checkout = platform.made("/api/checkouts", {"hold_ids": [hold["hold_id"]]})
    complete = f"/api/checkouts/{checkout['checkout_id']}/complete"
    order = platform.made(complete, {"payment_reference": payment})
    log_in(visitor, operator, PASSWORD)
    visitor.page.get_by_role("link", name="Orders").first.click()
    visitor.page.wait_for_url("**/admin/holdfast/order/")
    for name, size in DEVICES.items():
        visitor.resize(size)
        visitor.visit(f"/admin/holdfast/order/?organization__id__exact={platform.organization_id}")
        visitor.assert_fits_the_width()
        visitor.page.get_by_role("link", name=order["order_id"]).click()
        visitor.page.wait_for_url(f"**/order/{order['order_id']}/change/**")
        text = visitor.page.content()
        assert payment in text
        assert "bartholomew" not in text
        assert not any(ticket["code"] in text for ticket in order["tickets"])
        picture(visitor, tmp_path, f"order-{name}")
        visitor.assert_fits_the_width()
        visitor.page.get_by_role("link", name=hold["reference"]).click()
        visitor.page.wait_for_url(f"**/hold/{hold['hold_id']}/change/**")
        visitor.page.get_by_role("link", name=order["order_id"]).click()
        visitor.page.wait_for_url(f"**/order/{order['order_id']}/change/**")
    visitor.assert_no_errors()


@pytest.mark.parametrize("model", ["fact", "auditentry"])
def test_an_operator_reads_facts_and_audit(
    visitor: Visitor, operator: str, platform: Platform, tmp_path: Path, model: str
) -> None:
    hold = platform.place(platform.on_sale(5), 2).json()
    log_in(visitor, operator, PASSWORD)
    expect(visitor.page.get_by_role("link", name="Facts").first).to_be_visible()
    for name, size in DEVICES.items():
        visitor.resize(size)
        visitor.visit(f"/admin/holdfast/{model}/?q={hold['hold_id']}")
        row = visitor.page.get_by_role("row").filter(has_text=hold["reference"])
        expect(row).to_contain_text("hold.created")
        picture(visitor, tmp_path, f"{model}-{name}")
        visitor.assert_fits_the_width()
    visitor.assert_no_errors()


def test_an_operator_sees_the_held_seats_in_the_hall(
    visitor: Visitor, operator: str, platform: Platform, tmp_path: Path
) -> None:
    hall = platform.hall(8, 20)
    wanted = {"session_id": hall.session_id, "seat_ids": hall.row(2)[4:6]}
    platform.made("/api/holds", wanted | {"customer_email": "bartholomew@example.com"})
    log_in(visitor, operator, PASSWORD)
    for name, (width, height) in DEVICES.items():
        visitor.resize((width, height))
        visitor.visit(f"/admin/holdfast/session/{hall.session_id}/change/")
        drawn = visitor.page.get_by_role("img", name="160 seats: 158 available, 2 held")
        expect(drawn).to_be_visible()
        held = drawn.locator("g", has=visitor.page.locator('use[href="#hall-held"]'))
        names = [each.text_content() for each in held.locator("title").all()]
        assert names == ["Stalls, row 3, seat 5: held", "Stalls, row 3, seat 6: held"]
        left, right = (each.bounding_box() for each in held.all())
        assert left is not None
        assert right is not None
        assert left["y"] == right["y"]
        assert 0 < left["x"] < right["x"] < width
        assert right["x"] - left["x"] > left["width"] > 3, (
            "seats are side by side and large enough to see"
        )
        picture(visitor, tmp_path, f"hall-{name}")
        visitor.assert_fits_the_width()
    visitor.assert_no_errors()
