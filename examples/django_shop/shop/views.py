"""The pages of the shop. Browsers change the cart through /api; the shop itself starts and
completes the checkout, because only a server may say that something is paid."""

from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET

from holdfast.entrypoints.drf.client import Answer, call_holdfast

from . import payments

HTTP_NOT_FOUND, HTTP_UNKNOWN = 404, 500


def shop_name(_: HttpRequest) -> dict[str, str]:
    return {"shop_name": "Harbour Tickets"}


@require_GET
@ensure_csrf_cookie
def shop(request: HttpRequest) -> HttpResponse:
    """The tickets on sale. The page fills in the cart."""
    session_id: str = settings.SHOP_SESSION_ID  # type: ignore[misc]  # of these settings only
    offer = call_holdfast("GET", "sessions", session_id, "availability")
    if not offer.is_success:
        return _away(request, offer)
    given = {
        "offer": offer.data,
        "session": _read("sessions", session_id),
        "event": _read("events", offer.data["event_id"]),
        "cart": _cart(request),
        "hold": _hold(request),
    }
    return render(request, "shop/shop.html", given)


@login_required
def start_checkout(request: HttpRequest) -> HttpResponse:
    """A checkout gives the buyer a few more minutes, once."""
    if request.method != "POST":
        return redirect("shop")  # after a log-in that was needed on the way
    body = {"cart_token": _cart(request)}
    started = call_holdfast("POST", "checkouts", body=body, user=request.user)
    if not started.is_success:
        return (_away if started.status >= HTTP_UNKNOWN else _lost)(request, started)
    return redirect("checkout", started.data["checkout_id"])


@login_required
def checkout(request: HttpRequest, checkout_id: UUID) -> HttpResponse:
    # Read as this user: nobody else's checkout is found.
    found = call_holdfast("GET", "checkouts", str(checkout_id), user=request.user)
    if not found.is_success:
        return _away(request, found)
    if "order_id" in found.data:
        return redirect("order", found.data["order_id"])
    if request.method == "POST":
        return _pay(request, found.data)
    return _checkout_page(request, found.data)


def _pay(request: HttpRequest, due: dict[str, Any]) -> HttpResponse:
    amount, currency = due["total"], due["currency"]
    payment = f"payment of {due['checkout_id']}"
    # Charged before, if Holdfast did not answer then.
    reference = request.session.get(payment)
    if reference is None:
        reference = payments.charge(amount, currency, request.POST.get("card", ""))
        if reference is None:
            problem = "The card was declined. Your tickets are still held."
            return _checkout_page(request, due, problem)
        request.session[payment] = reference
        request.session.save()
    body = {"payment_reference": reference, "amount": amount, "currency": currency}
    # With the shop's key: a buyer could say that they have paid.
    done = call_holdfast(
        "POST", "checkouts", due["checkout_id"], "complete", body=body, idempotency_key=reference
    )
    if done.status >= HTTP_UNKNOWN:
        # The tickets may be sold or not: the next attempt uses the same payment.
        return _away(request, done)
    del request.session[payment]
    if not done.is_success:
        payments.refund(reference)
        return _lost(request, done)
    request.session["cart"] = _new_cart()
    return redirect("order", done.data["order_id"])


@require_GET
@login_required
def order(request: HttpRequest, order_id: UUID) -> HttpResponse:
    found = call_holdfast("GET", "orders", str(order_id), user=request.user)
    if not found.is_success:
        return _away(request, found)
    offer = _read("sessions", found.data["session_ids"][0], "availability")
    names = {each["ticket_type_id"]: each["name"] for each in offer["ticket_types"]}
    tickets = [
        {**ticket, "name": names.get(ticket["ticket_type_id"], "Ticket")}
        for ticket in found.data["tickets"]
    ]
    return render(request, "shop/order.html", {"order": found.data, "tickets": tickets})


def _checkout_page(request: HttpRequest, due: dict[str, Any], problem: str = "") -> HttpResponse:
    cards = {"card": payments.CARD, "declined_card": payments.DECLINED_CARD}
    offer = _read("sessions", due["holds"][0]["session_id"], "availability")
    names = {each["ticket_type_id"]: each["name"] for each in offer["ticket_types"]}
    lines = [
        {**line, "name": names.get(line["ticket_type_id"], "Ticket")}
        for hold in due["holds"]
        for line in hold["lines"]
    ]
    given = {"due": due, "lines": lines, "problem": problem, **cards}
    return render(request, "shop/checkout.html", given)


def _lost(request: HttpRequest, refused: Answer) -> HttpResponse:
    """The hold has ended, or the checkout was refused for another reason."""
    given = {"message": refused.data["message"]}
    return render(request, "shop/lost.html", given, status=refused.status)


def _away(request: HttpRequest, refused: Answer) -> HttpResponse:
    if refused.status == HTTP_NOT_FOUND:
        raise Http404
    return render(request, "shop/away.html", status=refused.status)


def _read(*path_parts: str) -> dict[str, Any]:
    """Details for display: the page also works without them."""
    found = call_holdfast("GET", *path_parts)
    return dict(found.data) if found.is_success else {"ticket_types": []}


def _cart(request: HttpRequest) -> str:
    """A random name, so that nobody else can take it."""
    if "cart" not in request.session:
        request.session["cart"] = _new_cart()
    return str(request.session["cart"])


def _hold(request: HttpRequest) -> dict[str, Any] | None:
    """The contents of the cart."""
    if not request.user.is_authenticated:
        return None
    found = call_holdfast("GET", "carts", _cart(request), "hold", user=request.user)
    return found.data if found.is_success else None


def _new_cart() -> str:
    return f"shop-{uuid4()}"
