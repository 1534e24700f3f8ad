"""SVG boxes, texts and arrows, with a background for light and dark pages."""

from collections.abc import Sequence
from html import escape

INK, FAINT = "#263238", "#607d8b"
SANS = "Helvetica, Arial, 'DejaVu Sans', sans-serif"
MONOSPACE = "Menlo, Consolas, 'DejaVu Sans Mono', monospace"
# One color per layer, the same in all pictures.
COLORS = {
    "entrypoints": "#dfe6ff",
    "bootstrap": "#eceff1",
    "services": "#d9f0ea",
    "engine": "#e6dff5",
    "adapters": "#ffedcc",
    "ports": "#fbe0e6",
    "domain": "#d7ecfb",
}


def picture(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}"'
        f' role="img" aria-label="{escape(title)}" font-family="{SANS}">\n'
        f"<title>{escape(title)}</title>\n"
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="6"'
        f' markerHeight="6" orient="auto"><path d="M0 0 L10 5 L0 10 Z" fill="{FAINT}"/>'
        "</marker></defs>"
    )
    background = box(1, 1, width - 2, height - 2, "#ffffff", border="#cfd8dc")
    return "\n".join([head, background, *parts, "</svg>\n"])


def box(
    x: float, y: float, width: float, height: float, color: str, *, border: str = "none"
) -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"'
        f' fill="{color}" stroke="{border}"/>'
    )


def words(
    x: float,
    y: float,
    text: str,
    size: int = 14,
    *,
    color: str = INK,
    anchor: str = "start",
    is_bold: bool = False,
    is_code: bool = False,
) -> str:
    weight = ' font-weight="bold"' if is_bold else ""
    font = f' font-family="{MONOSPACE}"' if is_code else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{color}" text-anchor="{anchor}"'
        f"{weight}{font}>{escape(text)}</text>"
    )


def arrow(*points: tuple[float, float]) -> str:
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    return (
        f'<polyline points="{path}" fill="none" stroke="{FAINT}" stroke-width="2"'
        ' marker-end="url(#tip)"/>'
    )
