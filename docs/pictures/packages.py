"""Draws the packages by layer and subject, from the tree and the layer contract."""

import configparser
import textwrap
from dataclasses import dataclass
from pathlib import Path

from docs.pictures.svg import COLORS, FAINT, box, picture, words

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "holdfast"
SUBJECTS = (
    "catalog",
    "holds",
    "seats",
    "carts",
    "waitlist",
    "orders",
    "facts",
    "audit",
    "access",
)
# A package with fewer subjects counts as not divided by subject.
SUBJECTS_MIN = 3
LEFT, CELL, HEAD, GAP, LINE = 160, 86, 74, 6, 17
SHARED = LEFT + CELL * len(SUBJECTS) + 10
WIDTH, CHARACTER = SHARED + 262, 7.4


@dataclass(frozen=True)
class Row:
    """A package with its subjects, and its other packages and modules."""

    path: str
    subjects: dict[str, str]
    beside: tuple[str, ...]

    @property
    def layer(self) -> str:
        return self.path.partition("/")[0]

    @property
    def left(self) -> int:
        """The left edge of the names beside the subjects, further left if there are none."""
        return SHARED if self.subjects else LEFT

    @property
    def lines(self) -> list[str]:
        characters = int((WIDTH - 20 - self.left) / CHARACTER)
        return textwrap.wrap(", ".join(self.beside), characters)

    @property
    def height(self) -> int:
        return max(44, 14 + LINE * len(self.lines))


def layers() -> list[str]:
    """The layers from the outermost to the innermost, as import-linter enforces them."""
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    named = contracts["importlinter:contract:layers"]["layers"].replace("|", "\n")
    return [name.strip() for name in named.split("\n") if name.strip()]


def children(package: Path) -> dict[str, str]:
    """Its packages and modules with their labels."""
    packages = {each.parent.name: f"{each.parent.name}/" for each in package.glob("*/__init__.py")}
    modules = {each.stem: each.name for each in package.glob("[!_]*.py")}
    return dict(sorted({**modules, **packages}.items()))


def rows(layer: str) -> list[Row]:
    divided = [
        row(package)
        for package in sorted((SOURCES / layer).glob("*/"))
        if len(children(package).keys() & set(SUBJECTS)) >= SUBJECTS_MIN
    ]
    own = row(SOURCES / layer)
    inner = {each.path.rpartition("/")[2] + "/" for each in divided}
    beside = tuple(name for name in own.beside if name not in inner)
    return [*divided, Row(own.path, own.subjects, beside)]


def row(package: Path) -> Row:
    found = children(package)
    subjects = {name: label for name, label in found.items() if name in SUBJECTS}
    others = [label for name, label in found.items() if name not in SUBJECTS]
    # Beside subjects there is only room for packages.
    beside = [label for label in others if label.endswith("/") or not subjects]
    return Row(
        str(package.relative_to(SOURCES)),
        subjects,
        tuple(label.removesuffix(".py") for label in beside),
    )


def draw() -> str:
    parts = [words(16, 30, "Packages by layer and subject", 18, is_bold=True)]
    parts += [
        words(LEFT + CELL * (number + 0.5), HEAD - 12, subject, anchor="middle", is_bold=True)
        for number, subject in enumerate(SUBJECTS)
    ]
    parts.append(words(SHARED + 8, HEAD - 12, "beside them", color=FAINT, is_bold=True))
    y = HEAD
    for layer in layers():
        for each in rows(layer):
            parts += _drawn(each, y)
            y += each.height + GAP
    rule = "A row imports rows below it only; the engine, services and adapters never each other."
    parts.append(words(16, y + 20, rule, 13, color=FAINT))
    return picture(WIDTH, y + 36, "Packages by layer and subject", parts)


def _drawn(row: Row, y: float) -> list[str]:
    middle = y + row.height / 2 + 5
    parts = [
        box(10, y, WIDTH - 20, row.height, COLORS[row.layer]),
        words(18, middle, row.path, 13, is_bold=True),
    ]
    for number, subject in enumerate(SUBJECTS):
        if subject in row.subjects:
            x = LEFT + CELL * number
            label = row.subjects[subject]
            parts.append(box(x + 3, y + 8, CELL - 6, row.height - 16, "#ffffff", border="#90a4ae"))
            parts.append(words(x + CELL / 2, middle - 1, label, 11, anchor="middle", is_code=True))
    top = y + (row.height - LINE * len(row.lines)) / 2 + 13
    parts += [
        words(row.left + 8, top + LINE * number, line, 12, color="#455a64", is_code=True)
        for number, line in enumerate(row.lines)
    ]
    return parts
