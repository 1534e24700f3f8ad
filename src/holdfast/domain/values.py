"""Immutable values that are valid by construction."""

import re
from dataclasses import field, replace
from functools import lru_cache
from hashlib import blake2b
from typing import ClassVar, Self
from uuid import UUID
from zoneinfo import ZoneInfo

from holdfast.domain.immutable import immutable

QUANTITY_MAX = 10_000
MINOR_UNITS_MAX = 10**12  # of one price
TOTAL_MINOR_MAX = 2**63 - 1  # of a sum: PostgreSQL's bigint
USER_ID_LENGTH_MAX = 255
EMAIL_LENGTH_MAX = 254
TIME_ZONE_LENGTH_MAX = 50
TIME_ZONE_RULE = "must be the name of a time zone, such as Europe/Berlin"
METADATA_KEYS_MAX = 20
METADATA_KEY_LENGTH_MAX = 40
METADATA_TEXT_LENGTH_MAX = 500

JsonValue = str | int | bool | None | list["JsonValue"] | dict[str, "JsonValue"]

_EMAIL = re.compile(
    r"(?=.{1,64}@)[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+"
    r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?",
    re.ASCII,
)
_CURRENCY = re.compile(r"[A-Z]{3}", re.ASCII)


class InvalidValue(ValueError):
    """A value is invalid. The message never repeats the input."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def is_time_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ValueError, KeyError, OSError):
        return False
    return len(name) <= TIME_ZONE_LENGTH_MAX


@immutable(repr=False)
class EmailAddress:
    """An address in dot-atom form. `str` and `repr` are redacted to keep it out of logs."""

    # Not of a stored one that cannot be decrypted: its text raises, and its key is nobody else's.
    is_readable: ClassVar[bool] = True

    value: str

    def __post_init__(self) -> None:
        if len(self.value) > EMAIL_LENGTH_MAX or not _EMAIL.fullmatch(self.value):
            raise InvalidValue("invalid_email", "Invalid email format")

    @property
    def normalized(self) -> str:
        """The form used to compare holders."""
        return self.value.lower()

    @property
    def key(self) -> UUID:
        """An opaque key of the person with this address."""
        return digest(f"email {self.value.lower()}")

    @property
    def redacted(self) -> str:
        local, _, domain = self.value.rpartition("@")
        return f"{local[0]}***@{domain}"

    def __repr__(self) -> str:
        return f"EmailAddress({self.redacted})"

    def __str__(self) -> str:
        return self.redacted


class Quantity(int):
    """A number of tickets from 1 to QUANTITY_MAX."""

    __slots__ = ()

    def __new__(cls, value: int) -> Self:
        if isinstance(value, bool) or not 1 <= value <= QUANTITY_MAX:
            raise InvalidValue(
                "invalid_quantity", f"Quantity must be a whole number from 1 to {QUANTITY_MAX}"
            )
        return super().__new__(cls, value)


@immutable
class Money:
    """An amount in minor units (cents) of one currency. Never a float."""

    minor: int
    currency: str

    def __post_init__(self) -> None:
        if not _CURRENCY.fullmatch(self.currency):
            raise InvalidValue("invalid_currency", "Currency must be a three-letter ISO 4217 code")
        if not 0 <= self.minor <= TOTAL_MINOR_MAX:
            raise InvalidValue("invalid_price", "An amount must be 0 or more minor units")


@immutable
class Holder:
    """The person who has a hold: an e-mail address, the platform's user id, or both."""

    email: EmailAddress | None = None
    user_id: str | None = None

    def __post_init__(self) -> None:
        if self.email is None and self.user_id is None:
            raise InvalidValue("holder_required", "Give customer_email or user_id")
        if self.user_id is not None and not (
            1 <= len(self.user_id) <= USER_ID_LENGTH_MAX and self.user_id.isprintable()
        ):
            raise InvalidValue(
                "invalid_user_id", f"user_id must be 1 to {USER_ID_LENGTH_MAX} printable characters"
            )

    @property
    def key(self) -> UUID:
        """An opaque key of the person. The platform's user id, if given, takes precedence over the
        address."""
        if self.user_id is not None:
            return digest(f"user {self.user_id}")
        assert self.email is not None
        return self.email.key

    def is_person(self, other: "Holder") -> bool:
        """Unlike a comparison of keys, this raises if it takes an address that is not readable."""
        mine, theirs = self.email, other.email
        if self.user_id is not None or other.user_id is not None:
            return self.user_id == other.user_id
        assert mine is not None
        assert theirs is not None
        return mine.normalized == theirs.normalized

    def with_email_of(self, other: "Holder") -> "Holder":
        """This holder with the newer address of `other`, if that is the same person."""
        email = other.email
        if email is None or not self.is_person(other):
            return self
        mine = self.email
        is_known = mine is not None and mine.is_readable and mine.normalized == email.normalized
        return self if is_known else replace(self, email=email)

    def is_same_as(self, other: "Holder") -> bool:
        """Whether address and user id are the same, as in a repeated request."""
        mine, theirs = self.email, other.email
        same_email = (mine and mine.normalized) == (theirs and theirs.normalized)
        return same_email and self.user_id == other.user_id


@immutable
class Metadata:
    """The platform's own texts by key. They may be personal data, so `repr` does not show them."""

    texts: dict[str, str] = field(default_factory=dict, hash=False, repr=False)

    def __post_init__(self) -> None:
        is_valid = len(self.texts) <= METADATA_KEYS_MAX and all(
            1 <= len(key) <= METADATA_KEY_LENGTH_MAX and len(text) <= METADATA_TEXT_LENGTH_MAX
            for key, text in self.texts.items()
        )
        if not is_valid:
            raise InvalidValue("invalid_metadata", METADATA_RULE)

    def __bool__(self) -> bool:
        return bool(self.texts)


METADATA_RULE = (
    f"metadata must be an object of at most {METADATA_KEYS_MAX} texts, with keys of 1 to"
    f" {METADATA_KEY_LENGTH_MAX} and texts of at most {METADATA_TEXT_LENGTH_MAX} characters"
)
NO_METADATA = Metadata()


def metadata_of(texts: dict[str, str] | None) -> Metadata:
    """Most records have none, and share one value."""
    return Metadata(texts) if texts else NO_METADATA


@lru_cache(maxsize=4096)
def digest(text: str) -> UUID:
    return UUID(bytes=blake2b(text.encode(), digest_size=16).digest())
