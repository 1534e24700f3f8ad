"""Amounts have the decimals that ISO 4217 gives their currency."""

from iso4217 import Currency

from holdfast.domain.amounts import MINOR_DIGITS, MINOR_DIGITS_USUAL


def test_every_currency_has_the_minor_unit_of_iso_4217() -> None:
    """Metals and the like have none, and nobody sells tickets for them."""
    standard = {each.code: each.exponent for each in Currency if each.exponent is not None}
    ours = {code: MINOR_DIGITS.get(code, MINOR_DIGITS_USUAL) for code in standard}
    assert ours == standard
    assert MINOR_DIGITS.keys() <= standard.keys()
