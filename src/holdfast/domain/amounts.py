"""Amounts of money as people write them."""

from holdfast.domain.values import Money

# ISO 4217 currencies whose minor unit is not a hundredth.
_NO_DECIMALS = {
    *("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND"),
    *("VUV", "XAF", "XOF", "XPF"),
}
_THREE_DECIMALS = {"BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"}


def written(money: Money) -> str:
    """`12.50 EUR`"""
    currency = money.currency
    decimals = 0 if currency in _NO_DECIMALS else 3 if currency in _THREE_DECIMALS else 2
    whole, part = divmod(money.minor, 10**decimals)
    number = f"{whole}.{part:0{decimals}}" if decimals else str(whole)
    return f"{number} {currency}"
