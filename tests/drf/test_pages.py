"""The pages of the sample shop: from the cart to the tickets, and too late."""

from html import unescape
from re import findall

import httpx

from tests.drf.shops import RunningShop
from tests.e2e.owner import Owner
from tests.support.platform import Json

CARD = "4242424242424242"
DECLINED = "4000000000000002"


def filled(shop: RunningShop, buyer: httpx.Client, quantity: int = 2) -> Json:
    """The hold of the buyer's cart, which the page names."""
    page = buyer.get("/").text
    (address,) = findall(r'data-url="([^"]+)"', page)
    item = {"cart_item_id": "1", "ticket_type_id": shop.sale.ticket_type_id, "quantity": quantity}
    answer = buyer.put(address, json={"session_id": shop.sale.session_id, "items": [item]})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def checked_out(shop: RunningShop, buyer: httpx.Client) -> str:
    answer = post(buyer, "/checkout")
    assert answer.status_code == 302, answer.text
    return answer.headers["location"]


def post(buyer: httpx.Client, path: str, **fields: str) -> httpx.Response:
    return buyer.post(path, data=fields)


def test_a_buyer_pays_and_gets_the_tickets(shop: RunningShop) -> None:
    with shop.buyer("ada") as ada, shop.buyer("grace") as grace:
        hold = filled(shop, ada)
        address = checked_out(shop, ada)
        assert "€90.00" in ada.get(address).text
        assert grace.get(address).status_code == 404
        assert post(grace, address, card=CARD).status_code == 404
        assert "The card was declined" in post(ada, address, card=DECLINED).text
        bought = post(ada, address, card=CARD)
        assert bought.status_code == 302
        page = ada.get(bought.headers["location"]).text
        assert grace.get(bought.headers["location"]).status_code == 404
        order = ada.get(f"/api/holds/{hold['hold_id']}").json()["order_id"]
        codes = {each["code"] for each in ada.get(f"/api/orders/{order}").json()["tickets"]}
        assert set(findall(r"<code>(\w+)</code>", page)) == codes
        assert len(codes) == 2
        assert ada.get(address).headers["location"] == bought.headers["location"]


def test_nobody_pays_for_tickets_whose_time_is_up(shop: RunningShop, owner: Owner) -> None:
    with shop.buyer("ada") as ada:
        filled(shop, ada)
        address = checked_out(shop, ada)
        owner.let_pass(shop.platform.organization_id, 3600)
        late = post(ada, address, card=CARD)
        assert late.status_code == 409
        assert "You have not been charged" in unescape(late.text)
        # The page offers to hold them again.
        assert '"status": "expired"' in ada.get("/").text


def test_a_sale_that_does_not_exist_is_not_found(shop: RunningShop) -> None:
    with shop.buyer("grace") as grace:
        assert grace.get("/checkout/0198f1c2-7b1e-7c3a-9d52-3f8a6f0c1b2d").status_code == 404
        assert grace.get("/orders/0198f1c2-7b1e-7c3a-9d52-3f8a6f0c1b2d").status_code == 404
        assert post(grace, "/checkout").status_code == 400, "the cart is empty"
