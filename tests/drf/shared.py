"""Takes over the tests of another module, to run them with the Django project in front."""

import inspect
from collections.abc import Collection
from types import ModuleType
from typing import Any

# They need a server of their own, and are about the engine.
_APART = {"server", "unreaped", "unreaped_owner"}


def taken_from(module: ModuleType, without: Collection[str] = ()) -> dict[str, Any]:
    """Its tests and fixtures, for the globals of the new module."""
    return {
        name: _kept(value)
        for name, value in vars(module).items()
        if not name.startswith("__") and name not in without and not _is_apart(value)
    }


def _is_apart(value: object) -> bool:
    return inspect.isfunction(value) and not _APART.isdisjoint(inspect.signature(value).parameters)


def _kept(value: Any) -> Any:
    """Of a class of tests, those that are not apart."""
    if not inspect.isclass(value) or not value.__name__.startswith("Test"):
        return value
    apart = {name: None for name, method in vars(value).items() if _is_apart(method)}
    return type(value.__name__, (value,), apart) if apart else value
