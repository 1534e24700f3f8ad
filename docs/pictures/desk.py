"""`python -m docs.pictures.desk`: photograph the box office of the demo while a sale runs."""

import shutil
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Page, sync_playwright

from docs.pictures.hall import demo, sell
from docs.pictures.png import with_palette

IMAGES = Path(__file__).parents[1] / "images"
DESKTOP = {"width": 1120, "height": 760}
PHONE = {"width": 390, "height": 760}
BUYER = "buyer1@example.com"


PAGES = {
    "desk-dashboard": ("/admin/", DESKTOP),
    "desk-hold": ("/admin/holdfast/hold/{hold_id}/change/", DESKTOP),
    "desk-release": ("/admin/holdfast/hold/{hold_id}/release/", DESKTOP),
    "desk-order": ("/admin/holdfast/order/{order_id}/cancel/", DESKTOP),
    "desk-hall": ("/admin/holdfast/session/{session_id}/hall/", DESKTOP),
    "desk-phone": ("/admin/holdfast/hold/{hold_id}/change/", PHONE),
}
FOUND = "desk-find"  # after a search


def photograph(facts: dict[str, Any]) -> None:
    ids = {"session_id": facts["session_id"], **_rows_of_a_buyer(facts)}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(base_url=facts["base_url"])
        _log_in(page, facts)
        for name, (address, window) in PAGES.items():
            page.set_viewport_size(window)  # type: ignore[arg-type]
            page.goto(address.format(**ids))
            page.wait_for_load_state("networkidle")
            (IMAGES / f"{name}.png").write_bytes(with_palette(page.screenshot()))
        page.set_viewport_size(DESKTOP)  # type: ignore[arg-type]
        page.goto("/admin/")
        page.locator("#find-box").fill(BUYER)
        page.keyboard.press("Enter")
        page.wait_for_load_state("networkidle")
        (IMAGES / f"{FOUND}.png").write_bytes(with_palette(page.screenshot()))
        browser.close()


def _rows_of_a_buyer(facts: dict[str, Any]) -> dict[str, str]:
    """An active hold, and an order."""
    headers = {"Authorization": f"Bearer {facts['secret_key']}"}
    with httpx.Client(base_url=facts["base_url"], headers=headers, timeout=60) as client:
        hold = client.get("/api/holds", params={"status": "active"}).json()["data"][0]
        order = client.get("/api/orders").json()["data"][0]
    return {"hold_id": hold["hold_id"], "order_id": order["order_id"]}


def _log_in(page: Page, facts: dict[str, Any]) -> None:
    page.goto("/admin/")
    page.get_by_label("Username").fill(facts["admin_username"])
    page.locator("input[name=password]").fill(facts["admin_password"])
    page.locator("[type=submit]").click()


if __name__ == "__main__":
    with demo() as facts:
        sell(facts)
        photograph(facts)
