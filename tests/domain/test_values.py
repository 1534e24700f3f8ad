"""Values are valid and immutable."""

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from holdfast.domain.amounts import written
from holdfast.domain.ids import HoldId
from holdfast.domain.policy import TTL_SECONDS_MAX
from holdfast.domain.values import (
    EMAIL_LENGTH_MAX,
    NO_METADATA,
    QUANTITY_MAX,
    TOTAL_MINOR_MAX,
    USER_ID_LENGTH_MAX,
    EmailAddress,
    Holder,
    InvalidValue,
    Metadata,
    Money,
    Quantity,
    metadata_of,
)
from tests.contract.venues import Plan, empty_venue


@pytest.mark.parametrize(
    "text",
    [
        "user@example.com",
        "first.last+tag@sub.example.co.uk",
        "o'hara@example.org",
        "x@xn--bcher-kva.example",
        "a" * 64 + "@example.com",
    ],
)
def test_valid_addresses_are_accepted(text: str) -> None:
    assert EmailAddress(text).value == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "user",
        "user@",
        "@example.com",
        "user@localhost",
        "user @example.com",
        "user@example.com\n",
        "user@exam\x00ple.com",
        "user@@example.com",
        ".user@example.com",
        "user.@example.com",
        "us..er@example.com",
        "user@-example.com",
        "user@example-.com",
        "user@example..com",
        "üser@example.com",
        "a" * 65 + "@example.com",
        "user@" + "a" * 250 + ".com",
        "user@example.com, other@example.com",
    ],
)
def test_invalid_addresses_are_rejected(text: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        EmailAddress(text)
    assert refused.value.code == "invalid_email"
    assert refused.value.message == "Invalid email format"


def test_an_address_is_masked_when_printed() -> None:
    address = EmailAddress("somebody@example.com")
    assert "somebody" not in f"{address} {address!r} {Holder(address)!r}"
    assert address.redacted == "s***@example.com"


def test_addresses_are_compared_without_case() -> None:
    assert Holder(EmailAddress("User@Example.com")).is_same_as(
        Holder(EmailAddress("user@example.com"))
    )


@pytest.mark.parametrize("number", [0, -1, QUANTITY_MAX + 1, True])
def test_invalid_quantities_are_rejected(number: int) -> None:
    with pytest.raises(InvalidValue):
        Quantity(number)


def test_quantities_add_up_to_plain_numbers() -> None:
    assert Quantity(1) + Quantity(QUANTITY_MAX) == QUANTITY_MAX + 1


@pytest.mark.parametrize(
    ("minor", "currency"),
    [(-1, "EUR"), (TOTAL_MINOR_MAX + 1, "EUR"), (1, "eur"), (1, "EURO"), (1, "")],
)
def test_invalid_money_is_rejected(minor: int, currency: str) -> None:
    with pytest.raises(InvalidValue):
        Money(minor, currency)


if TYPE_CHECKING:
    # The type checker rejects these assignments: without an error to ignore, it would report the
    # comments.
    Money(1, "EUR").minor = 2  # type: ignore[misc]
    EmailAddress("user@example.com").value = ""  # type: ignore[misc]


@pytest.mark.parametrize("user_id", ["", "x" * 256, "a\nb", "\x00"])
def test_invalid_user_ids_are_rejected(user_id: str) -> None:
    with pytest.raises(InvalidValue):
        Holder(user_id=user_id)


def test_a_holder_needs_an_email_or_a_user_id() -> None:
    with pytest.raises(InvalidValue):
        Holder()
    assert not Holder(user_id="1").is_same_as(Holder(user_id="2"))


@pytest.mark.parametrize(
    ("minor", "currency", "text"),
    [
        (1250, "EUR", "12.50 EUR"),
        (1205, "USD", "12.05 USD"),
        (1250, "JPY", "1250 JPY"),
        (1250, "KWD", "1.250 KWD"),
        (0, "EUR", "0.00 EUR"),
    ],
)
def test_amounts_have_the_decimals_of_their_currency(minor: int, currency: str, text: str) -> None:
    assert written(Money(minor, currency)) == text


def test_extensions_are_limited_to_the_longest_time_to_live() -> None:
    venue = empty_venue(Plan({}, {}))
    for seconds in (1, TTL_SECONDS_MAX):
        assert venue.extend(HoldId(uuid4()), seconds).seconds == seconds
    for seconds in (0, TTL_SECONDS_MAX + 1):
        with pytest.raises(InvalidValue):
            venue.extend(HoldId(uuid4()), seconds)


@pytest.mark.parametrize(
    "texts",
    [
        {"": "x"},
        {"k" * 41: "x"},
        {"key": "v" * 501},
        {str(number): "" for number in range(21)},
    ],
    ids=["empty key", "long key", "long text", "many keys"],
)
def test_metadata_beyond_its_limits_is_rejected(texts: dict[str, str]) -> None:
    with pytest.raises(InvalidValue, match="at most 20 texts"):
        Metadata(texts)


def test_the_largest_metadata_is_accepted() -> None:
    assert Metadata({f"{number:040}": "v" * 500 for number in range(20)})


def test_metadata_is_the_same_in_any_order_of_keys() -> None:
    assert Metadata({"a": "1", "b": "2"}) == Metadata({"b": "2", "a": "1"})


def test_empty_metadata_is_shared() -> None:
    assert metadata_of({}) is metadata_of(None) is NO_METADATA


def test_metadata_is_not_shown_when_printed() -> None:
    assert "Ada" not in repr(Metadata({"guest": "Ada"}))


def test_values_of_the_greatest_length_or_amount_are_valid() -> None:
    longest = "me@" + ("x" * 49 + ".") * 4
    longest += "x" * (EMAIL_LENGTH_MAX - len(longest) - len(".org")) + ".org"
    EmailAddress(longest)
    Holder(user_id="x" * USER_ID_LENGTH_MAX)
    Holder(user_id="x")
    Money(TOTAL_MINOR_MAX, "EUR")
    Money(0, "EUR")
    for too_long in (
        lambda: EmailAddress("x" + longest),
        lambda: Holder(user_id="x" * (USER_ID_LENGTH_MAX + 1)),
    ):
        with pytest.raises(InvalidValue):
            too_long()


def test_a_newer_address_replaces_that_of_the_same_person_only() -> None:
    old, new = EmailAddress("old@example.com"), EmailAddress("new@example.com")
    user = Holder(old, "user-1")
    assert user.with_email_of(Holder(new, "user-1")) == Holder(new, "user-1")
    assert Holder(user_id="user-1").with_email_of(user) == user
    for other in (Holder(new, "user-2"), Holder(new), Holder(user_id="user-1"), user):
        assert user.with_email_of(other) is user
    assert not user.is_person(Holder(old)), "the user id takes precedence"
    assert Holder(old).is_person(Holder(EmailAddress("OLD@example.com")))
