"""Numbers and durations as people write them."""

from datetime import datetime

from django import template

register = template.Library()

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


@register.filter
def grouped(number: int) -> str:
    return f"{number:,}"


@register.filter
def left(until: datetime, now: datetime) -> str:
    """The time left, such as `4:05`."""
    seconds = max(0, int((until - now).total_seconds()))
    return f"{seconds // _MINUTE}:{seconds % _MINUTE:02}"


@register.filter
def span(seconds: int) -> str:
    for unit, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= unit:
            return f"{seconds // unit} {name}"
    return f"{seconds} s"
