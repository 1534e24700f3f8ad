"""Reduces a screenshot to a palette of few colors, a third of the size."""

import struct
import zlib
from collections import Counter
from collections.abc import Iterator

SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLORS_MAX = 64
Color = tuple[int, int, int]


def with_palette(png: bytes) -> bytes:
    """An 8-bit RGB picture reduced to its most frequent colors; others become the nearest."""
    chunks = dict[bytes, bytes]()
    for kind, content in _chunks(png):
        chunks[kind] = chunks.get(kind, b"") + content
    width, height, depth, color_type = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, color_type) == (8, 2), "Chromium writes 8-bit RGB"
    rows = list(_rows(zlib.decompress(chunks[b"IDAT"]), width * 3))
    pixels = [list(zip(row[0::3], row[1::3], row[2::3], strict=True)) for row in rows]
    seen = Counter(color for row in pixels for color in row)
    palette = [color for color, _ in seen.most_common(COLORS_MAX)]
    index = {color: _nearest(color, palette) for color in seen}
    lines = b"".join(b"\0" + bytes(index[color] for color in row) for row in pixels)
    return b"".join(
        [
            SIGNATURE,
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            _chunk(b"PLTE", bytes(part for color in palette for part in color)),
            _chunk(b"IDAT", zlib.compress(lines, 9)),
            _chunk(b"IEND", b""),
        ]
    )


def _nearest(color: Color, palette: list[Color]) -> int:
    distances = [sum((a - b) ** 2 for a, b in zip(color, each, strict=True)) for each in palette]
    return distances.index(min(distances))


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += length + 12


def _chunk(kind: bytes, content: bytes) -> bytes:
    checksum = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + checksum


def _rows(data: bytes, size: int) -> Iterator[bytearray]:
    """Each row is stored as its difference from the pixel before, the row above, or both."""
    above = bytearray(size)
    for start in range(0, len(data), size + 1):
        way, row = data[start], bytearray(data[start + 1 : start + 1 + size])
        for n in range(size):
            left, corner = (row[n - 3], above[n - 3]) if n >= 3 else (0, 0)
            expected = (0, left, above[n], (left + above[n]) // 2, _paeth(left, above[n], corner))
            row[n] = (row[n] + expected[way]) & 255
        yield row
        above = row


def _paeth(left: int, above: int, corner: int) -> int:
    guess = left + above - corner
    return min((left, above, corner), key=lambda value: abs(guess - value))
