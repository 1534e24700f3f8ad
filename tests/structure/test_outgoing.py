"""Holdfast fetches no URL that a caller sends. The HTTP clients are those of the Inventory Service
and of a Holdfast server, whose URLs the operator sets, and that of `holdfast inventory-check`,
which no server loads."""

import ast
from collections.abc import Iterator

from tests.structure.test_sizes import MODULES, SOURCES

HTTP_CLIENTS = {
    "aiohttp",
    "http.client",
    "httpcore",
    "httpx",
    "requests",
    "urllib.request",
    "urllib3",
}


def imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


def clients_in(source: str) -> set[str]:
    return {
        client
        for name in imported(source)
        for client in HTTP_CLIENTS
        if name == client or name.startswith(f"{client}.")
    }


def test_only_clients_of_configured_services_import_an_http_client() -> None:
    found = {str(path.relative_to(SOURCES)): clients_in(path.read_text()) for path in MODULES}
    assert len(found) > 100
    with_client = {path: clients for path, clients in found.items() if clients}
    assert with_client == {
        "adapters/inventory/calls.py": {"httpcore"},
        "entrypoints/drf/backends/server.py": {"httpx"},
        "entrypoints/inventory/conformance/probe.py": {"httpx"},
    }


def test_only_the_command_loads_the_conformance_suite() -> None:
    suite = "holdfast.entrypoints.inventory.conformance"
    loading = {
        str(path.relative_to(SOURCES).parent / path.stem)
        for path in MODULES
        if any(name.startswith(suite) for name in imported(path.read_text()))
    }
    assert {each for each in loading if "/conformance/" not in each} == {
        "entrypoints/cli/inventory/check"
    }


def test_the_check_finds_each_way_to_import_one() -> None:
    for source in ("import httpx", "from urllib import request", "from http.client import x"):
        assert clients_in(source), source
    assert not clients_in("from urllib.parse import quote")
