"""The short reference that people read to each other over the telephone, such as `K7M2QX`.

References come from a counter, so they never collide and nothing has to be looked up; arithmetic
modulo the size of the alphabet's space scatters neighbours. They identify, they do not authorize:
whoever knows one still needs a credential.
"""

# No 0/O, 1/I/L: letters that are misread or misheard.
ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
_BASE = len(ALPHABET)
_SHORTEST = 6
# Any multiplier that shares no factor with the base permutes the space.
_MULTIPLIER = 618_033_989
_OFFSET = 271_828_183


def reference_of(number: int) -> str:
    """The reference of the counter value `number`; one more letter when a length is used up."""
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
