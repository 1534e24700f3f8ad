"""Draws what runs where when another service counts the tickets."""

from docs.pictures.svg import COLORS, FAINT, arrow, box, picture, words

WIDTH, HEIGHT = 810, 372
TOP, TALL, SHORT = 92, 112, 46
LEFT, RIGHT, WIDE = 30, 560, 220  # the two services
MIDDLE = 405.0


def draw() -> str:
    title = "A Hold Service and an Inventory Service"
    parts = [words(20, 34, title, 18, is_bold=True)]
    parts += _service(LEFT, "Hold Service", "holdfast serve", "holds, prices, limits, time")
    parts += _service(RIGHT, "Inventory Service", "holdfast inventory", "how many tickets are left")
    parts += _store(LEFT + WIDE / 2, "PostgreSQL", "pending, active, failed ...")
    parts += _store(RIGHT + WIDE / 2, "PostgreSQL", "held, released, committed")
    parts += _calls()
    parts += _messages()
    return picture(WIDTH, HEIGHT, title, parts)


def _service(x: float, name: str, command: str, knows: str) -> list[str]:
    return [
        box(x, TOP, WIDE, TALL, COLORS["entrypoints"]),
        words(x + 14, TOP + 28, name, 16, is_bold=True),
        words(x + 14, TOP + 56, command, is_code=True),
        words(x + 14, TOP + 86, knows, color=FAINT),
    ]


def _store(center: float, name: str, states: str) -> list[str]:
    y = HEIGHT - SHORT - 24
    return [
        arrow((center, TOP + TALL), (center, y - 3)),
        box(center - WIDE / 2, y, WIDE, SHORT, COLORS["adapters"]),
        words(center, y + 20, name, anchor="middle", is_bold=True),
        words(center, y + 37, states, 12, color=FAINT, anchor="middle"),
    ]


def _calls() -> list[str]:
    """Left to right: one service calls, the other answers."""
    rows = (
        (TOP + 26, "1  POST /inventory/hold", "each hold, within 5 seconds"),
        (TOP + 84, "3  GET /inventory/holds/{id}", "the reconciler, where a call was lost"),
    )
    parts = []
    for y, call, when in rows:
        parts += [
            arrow((LEFT + WIDE, y), (RIGHT - 3, y)),
            words(MIDDLE, y - 8, call, 13, anchor="middle", is_code=True),
            words(MIDDLE, y + 18, when, 12, color=FAINT, anchor="middle"),
        ]
    return parts


def _messages() -> list[str]:
    y = TOP + TALL + 22
    low = y + SHORT / 2
    return [
        box(MIDDLE - 110, y, 220, SHORT, COLORS["services"]),
        words(MIDDLE, y + 20, "RabbitMQ", anchor="middle", is_bold=True),
        words(MIDDLE, y + 37, "2  hold.expired, hold.converted ...", 12, anchor="middle"),
        arrow((LEFT + WIDE - 26, TOP + TALL), (LEFT + WIDE - 26, low), (MIDDLE - 113, low)),
        arrow((MIDDLE + 110, low), (RIGHT + 26, low), (RIGHT + 26, TOP + TALL + 3)),
    ]
