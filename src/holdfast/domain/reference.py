"""The short reference of a hold that people read out over the phone, such as `K7M2QX`.

References come from a counter, so they never collide and need no lookup; modular arithmetic
scatters neighbours. A reference identifies a hold but authorizes nothing.
"""

# Without 0/O and 1/I/L, which are easily confused.
ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
_BASE = len(ALPHABET)
_SHORTEST = 6
# Any multiplier coprime to the base permutes the space.
_MULTIPLIER = 618_033_989
_OFFSET = 271_828_183


def reference_of(number: int) -> str:
    """The reference for a counter value, with one more letter when a length is used up."""
    assert number >= 0
    length = _SHORTEST
    while number >= _BASE**length:
        number -= _BASE**length
        length += 1
    scattered = (number * _MULTIPLIER + _OFFSET) % _BASE**length
    letters = []
    for _ in range(length):
        scattered, digit = divmod(scattered, _BASE)
        letters.append(ALPHABET[digit])
    return "".join(reversed(letters))
