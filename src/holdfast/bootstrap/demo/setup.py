"""Sets up the demo: embedded services, the sale, and `demo.json` with its addresses and ids."""

import json
import os
import secrets
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from holdfast.adapters.embedded import EmbeddedPostgres, EmbeddedServiceError, EmbeddedValkey
from holdfast.adapters.embedded.service import EmbeddedService
from holdfast.bootstrap.accounts import ensure_admin
from holdfast.bootstrap.database import migrate
from holdfast.bootstrap.demo import sale
from holdfast.bootstrap.demo.boat import BOAT_RIDE_ID, BOAT_SESSION_ID, GROUP_CART
from holdfast.bootstrap.demo.watch import ServiceWatch
from holdfast.bootstrap.settings import Settings, load_settings

ADMIN_NAME = "admin"
POSTGRES_DIRECTORY, VALKEY_DIRECTORY = "postgres", "valkey"
DEMO_FILE, SECRET_FILE = "demo.json", "secret_key"
# Defaults: variables that are set already win.
DEMO_VARIABLES = {
    "HOLDFAST_LOG_FORMAT": "console",
    "HOLDFAST_NOTIFIER": "console",
    "HOLDFAST_PAYMENTS": "demo",
}
Report = Callable[[str], None]

__all__ = ["EmbeddedServiceError", "erase", "kept_files", "load_sale", "start_services"]


def start_services(settings: Settings, running: ExitStack, report: Report) -> Settings:
    """Start the services that no variable names, and set those variables, for this process and its
    children."""
    home = settings.home
    home.mkdir(parents=True, exist_ok=True)
    services: list[EmbeddedService] = []
    if settings.database_url is None:
        report("Starting PostgreSQL ...")
        postgres = running.enter_context(EmbeddedPostgres(home / POSTGRES_DIRECTORY))
        services.append(postgres)
        os.environ["DATABASE_URL"] = postgres.server_url
        os.environ["HOLDFAST_OWNER_DATABASE_URL"] = postgres.url
    if settings.redis_url is None:
        report("Starting Valkey ...")
        # It is the broker too, so messages must survive a restart.
        valkey = EmbeddedValkey(home / VALKEY_DIRECTORY, settings={"appendonly": "yes"})
        services.append(running.enter_context(valkey))
        os.environ["REDIS_URL"] = valkey.url
    running.enter_context(ServiceWatch(services, report))
    for variable, value in DEMO_VARIABLES.items():
        os.environ[variable] = os.environ.get(variable) or value
    if settings.holdfast_secret_key is None:
        os.environ["HOLDFAST_SECRET_KEY"] = _kept_secret(home / SECRET_FILE)
    return load_settings()


def kept_files(settings: Settings) -> list[Path]:
    """The files of an embedded demo."""
    names = (POSTGRES_DIRECTORY, VALKEY_DIRECTORY, DEMO_FILE, SECRET_FILE)
    return [path for path in (settings.home / name for name in names) if path.exists()]


def erase(settings: Settings) -> None:
    """Delete these files and nothing else. Raises EmbeddedServiceError while a demo runs."""
    services: tuple[EmbeddedService, ...] = (
        EmbeddedPostgres(settings.home / POSTGRES_DIRECTORY, takeover_timeout_seconds=1.0),
        EmbeddedValkey(settings.home / VALKEY_DIRECTORY, takeover_timeout_seconds=1.0),
    )
    with ExitStack() as claims:
        for service in services:
            claims.enter_context(service.claimed())
        for service in services:
            service.erase()
    for name in (DEMO_FILE, SECRET_FILE):
        (settings.home / name).unlink(missing_ok=True)


def load_sale(settings: Settings, report: Report) -> dict[str, Any]:
    """Migrate, create the demo organization if it is missing, and write `demo.json`."""
    migrate(settings, report=report)
    path = settings.home / DEMO_FILE
    known = known_facts(path)
    secret = sale.load_demo(settings, known.get("secret_key"))
    password = known.get("admin_password") or secrets.token_urlsafe(12)
    ensure_admin(ADMIN_NAME, password)
    base_url = f"http://{settings.holdfast_host}:{settings.holdfast_port}"
    demo = {
        "base_url": base_url,
        "secret_key": secret,
        "organization_id": str(sale.DEMO_ORGANIZATION_ID),
        "event_id": str(sale.DEMO_EVENT_ID),
        "session_id": str(sale.DEMO_SESSION_ID),
        "ga_ticket_type_id": str(sale.DEMO_GA_ID),
        "small_ticket_type_id": str(sale.DEMO_SMALL_ID),
        "seated_ticket_type_id": str(sale.DEMO_SEATED_ID),
        "block_ids": [str(block_id) for block_id in sale.DEMO_BLOCK_IDS],
        "seat_ids": [str(seat_id) for seat_id in sale.DEMO_SEAT_IDS],
        "sold_out_session_id": str(BOAT_SESSION_ID),
        "sold_out_ticket_type_id": str(BOAT_RIDE_ID),
        "sold_out_cart": GROUP_CART,
        "cart_url": f"{base_url}/demo/cart?organization={sale.DEMO_ORGANIZATION_ID}"
        f"#session={BOAT_SESSION_ID}",
        "admin_url": f"{base_url}/admin/",
        "line_url": f"{base_url}/admin/holdfast/waitlist/{BOAT_SESSION_ID}/change/",
        "hall_url": f"{base_url}/admin/holdfast/session/{sale.DEMO_SESSION_ID}/change/",
        "admin_username": ADMIN_NAME,
        "admin_password": password,
        # For other commands. They may change with every start of the embedded services.
        "database_url": settings.database_url,
        "owner_database_url": settings.owner_url,
        "redis_url": settings.redis_url,
    }
    _write_private(path, json.dumps(demo, indent=2) + "\n")
    return demo


def known_facts(path: Path) -> dict[str, Any]:
    """The contents of an earlier start's file; empty if it is missing or damaged."""
    try:
        known = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _kept_secret(path: Path) -> str:
    """The same at every start, so users stay logged in."""
    if not path.exists():
        _write_private(path, secrets.token_urlsafe(48))
    return path.read_text()


def _write_private(path: Path, text: str) -> None:
    """Write the file atomically, readable by its owner only."""
    temporary = path.with_suffix(".new")
    temporary.unlink(missing_ok=True)
    temporary.touch(mode=0o600)
    temporary.write_text(text)
    temporary.replace(path)
