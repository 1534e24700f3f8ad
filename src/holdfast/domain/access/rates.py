"""Rate limits: how many tickets or requests are allowed within a period."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields

from holdfast.domain.immutable import immutable

COUNT_MAX = 1_000_000
SECONDS_MAX = 86_400
# For limits on buyers and addresses: there may be any number of them, each remembered for the whole
# period. An organization has few keys.
SECONDS_OF_MANY_MAX = 3_600

_RATE = re.compile(r"([1-9][0-9]{0,6})/([1-9][0-9]{0,4})", re.ASCII)
_PREFIX = "rate_"
_UNITS = ((3600, "hour"), (60, "minute"), (1, "second"))


@immutable
class Rate:
    """At most `count` within any period of `seconds`. Written as `10/300`."""

    count: int
    seconds: int

    @classmethod
    def parse(cls, text: str, seconds_max: int = SECONDS_MAX) -> "Rate":
        """Raises ValueError."""
        match = _RATE.fullmatch(text)
        if match is None:
            raise ValueError
        rate = cls(int(match[1]), int(match[2]))
        if rate.count > COUNT_MAX or rate.seconds > seconds_max:
            raise ValueError
        return rate

    @property
    def period(self) -> str:
        """As people say it: 5 minutes."""
        unit_seconds, name = next(each for each in _UNITS if self.seconds % each[0] == 0)
        number = self.seconds // unit_seconds
        return f"{number} {name}{'' if number == 1 else 's'}"


@immutable
class RateLimits:
    """The limits of an organization. None means no limit."""

    seats_per_holder: Rate | None = None
    requests_per_key: Rate | None = None
    requests_per_holder: Rate | None = None
    requests_per_address: Rate | None = None

    @classmethod
    def of(cls, settings: Mapping[str, str | None]) -> "RateLimits":
        """From the settings of the organization, by name."""
        texts = {name: settings[_PREFIX + name] for name in RATE_NAMES}
        return cls(**{name: Rate.parse(text) for name, text in texts.items() if text is not None})

    def by_name(self) -> Iterator[tuple[str, Rate]]:
        for name in RATE_NAMES:
            rate = getattr(self, name)
            if rate is not None:
                yield name, rate


RATE_NAMES = tuple(each.name for each in fields(RateLimits))
RATE_SETTINGS = tuple(_PREFIX + name for name in RATE_NAMES)


def rate_rule(seconds_max: int) -> str:
    return (
        "must be a number and a period in seconds, such as 10/300:"
        f" 1 to {COUNT_MAX} in 1 to {seconds_max} seconds"
    )
