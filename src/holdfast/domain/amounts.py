"""Formats amounts of money for people."""

from types import MappingProxyType

from holdfast.domain.values import Money

# ISO 4217 currencies whose minor unit is not a hundredth. Browsers differ for some others (such as
# forints, shown without hundredths), so pages use these digits, too.
MINOR_DIGITS = MappingProxyType(
    {
        **dict.fromkeys(
            ("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI"), 0
        ),
        **dict.fromkeys(("VND", "VUV", "XAF", "XOF", "XPF"), 0),
        **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
        **dict.fromkeys(("CLF", "UYW"), 4),
    }
)
MINOR_DIGITS_USUAL = 2


def written(money: Money) -> str:
    """`12.50 EUR`"""
    digits = MINOR_DIGITS.get(money.currency, MINOR_DIGITS_USUAL)
    whole, part = divmod(money.minor, 10**digits)
    number = f"{whole}.{part:0{digits}}" if digits else str(whole)
    return f"{number} {money.currency}"
