"""Amounts as people write them."""

from datetime import datetime

from django import template

register = template.Library()
_SIGNS = {"EUR": "€", "USD": "$", "GBP": "£"}


@register.filter
def money(minor: int, currency: str) -> str:
    """Of currencies with cents: `4500` and `EUR` are `€45.00`."""
    sign = _SIGNS.get(currency, f"{currency} ")
    return f"{sign}{minor / 100:,.2f}"


@register.filter
def count(number: int) -> str:
    return f"{number:,}"


@register.filter
def moment(text: str) -> datetime | str:
    """A time of the API, for Django's filter `date`."""
    return datetime.fromisoformat(text) if text else ""
