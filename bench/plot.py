"""The chart of rate over clients, as plain SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.results import Figure
from bench.scenarios.pools import CLIENTS, GROUPS_OFF, GROUPS_ON, PGBENCH

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 460, 380, 70, 70, 60
PLOT_WIDTH, PLOT_HEIGHT = WIDTH - LEFT - 30, HEIGHT - TOP - BOTTOM
LOOKS = {
    GROUPS_ON: ("#0b6e4f", "Holdfast, groups"),
    GROUPS_OFF: ("#c8553d", "Holdfast, groups of one"),
    PGBENCH: ("#5b6c8f", "pgbench, one per transaction"),
}


@dataclass(frozen=True)
class Panel:
    title: str
    series: dict[str, list[float]]

    @property
    def top(self) -> float:
        """A round number above all values."""
        highest = max(max(rates) for rates in self.series.values())
        step = 10 ** (len(str(int(highest))) - 1) / 2
        return float(step * (int(highest / step) + 1))


def draw(figures: Sequence[Figure], path: Path) -> None:
    panels = [_panel(figures, name) for name in ("hot pool", "spread pools")]
    drawn = [_draw_panel(panel, number * WIDTH) for number, panel in enumerate(panels)]
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {HEIGHT + 40}" '
        'font-family="system-ui, sans-serif" role="img">\n'
        "<title>Holds per second over the number of clients</title>\n"
        f'<rect width="{2 * WIDTH}" height="{HEIGHT + 40}" rx="8" fill="#fbfaf7"/>\n'
        + "\n".join(drawn)
        + _legend()
        + "\n</svg>\n"
    )


def _panel(figures: Sequence[Figure], name: str) -> Panel:
    series = {
        contender: [
            next(
                figure.rate
                for figure in figures
                if figure.name == f"{name}, {contender}" and figure.clients == clients
            )
            for clients in CLIENTS
        ]
        for contender in LOOKS
    }
    return Panel(name, series)


def _draw_panel(panel: Panel, offset: int) -> str:
    title = f"{panel.title.capitalize()}: holds per second"
    parts = [
        f'<g transform="translate({offset} 0)">',
        f'<text x="{LEFT}" y="42" font-size="18" font-weight="600" fill="#222">{title}</text>',
    ]
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = TOP + PLOT_HEIGHT * (1 - share)
        parts.append(
            f'<line x1="{LEFT}" x2="{LEFT + PLOT_WIDTH}" y1="{y}" y2="{y}" stroke="#ddd"/>'
            f'<text x="{LEFT - 8}" y="{y + 5}" font-size="13" text-anchor="end" fill="#555">'
            f"{panel.top * share:,.0f}</text>"
        )
    for number, clients in enumerate(CLIENTS):
        parts.append(
            f'<text x="{_x(number)}" y="{TOP + PLOT_HEIGHT + 22}" font-size="13" '
            f'text-anchor="middle" fill="#555">{clients}</text>'
        )
    parts.append(
        f'<text x="{LEFT + PLOT_WIDTH / 2}" y="{TOP + PLOT_HEIGHT + 44}" font-size="13" '
        'text-anchor="middle" fill="#555">clients</text>'
    )
    parts += [_line(panel, contender) for contender in reversed(LOOKS)]
    return "\n".join([*parts, "</g>"])


def _line(panel: Panel, contender: str) -> str:
    color, _ = LOOKS[contender]
    points = [
        (_x(number), TOP + PLOT_HEIGHT * (1 - rate / panel.top))
        for number, rate in enumerate(panel.series[contender])
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{color}"/>' for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="3"/>{dots}'


def _x(number: int) -> float:
    return LEFT + 20 + (PLOT_WIDTH - 40) * number / (len(CLIENTS) - 1)


def _legend() -> str:
    parts = []
    for number, (color, label) in enumerate(LOOKS.values()):
        x = LEFT + number * 285
        parts.append(
            f'<rect x="{x}" y="{HEIGHT + 8}" width="22" height="5" fill="{color}"/>'
            f'<text x="{x + 30}" y="{HEIGHT + 16}" font-size="14" fill="#222">{label}</text>'
        )
    return "\n" + "\n".join(parts)
