"""Size limits for packages, modules and functions keep the sources easy to search."""

import ast
from collections import Counter
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src" / "holdfast"
MODULES = sorted(SOURCES.rglob("*.py"))

MODULES_PER_PACKAGE_MAX = 15
LINES_PER_MODULE_MAX = 450
LINES_PER_FUNCTION_MAX = 60

# Module names are nouns that a reader would search for, or commands.
GERUNDS = {
    *("asking", "fitting", "overtaking", "picking", "proposing", "telling"),
    *("auditing", "consuming", "migrating", "relaying", "releasing", "serving", "working"),
}


def test_no_package_has_too_many_modules() -> None:
    modules = Counter(
        path.parent
        for path in MODULES
        # A history only grows, and nobody searches it.
        if path.name != "__init__.py" and path.parent.name != "migrations"
    )
    too_many = {
        str(package.relative_to(SOURCES)): count
        for package, count in modules.items()
        if count > MODULES_PER_PACKAGE_MAX
    }
    assert not too_many


def test_no_module_is_too_long() -> None:
    lengths = {_name(path): len(path.read_text().splitlines()) for path in MODULES}
    assert not {name: lines for name, lines in lengths.items() if lines > LINES_PER_MODULE_MAX}


def test_no_function_is_too_long() -> None:
    lengths = {
        f"{_name(path)}:{node.lineno} {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert not {name: lines for name, lines in lengths.items() if lines > LINES_PER_FUNCTION_MAX}


@pytest.mark.parametrize("gerund", sorted(GERUNDS))
def test_no_module_is_named_with_a_gerund(gerund: str) -> None:
    assert not [_name(path) for path in MODULES if gerund in path.stem.split("_")]


def _name(path: Path) -> str:
    return str(path.relative_to(SOURCES))
