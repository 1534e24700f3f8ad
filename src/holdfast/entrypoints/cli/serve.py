"""`holdfast serve`."""

import argparse
import os
import secrets
import socket
from contextlib import closing
from importlib import import_module

from granian import Granian
from granian.constants import Interfaces, Loops
from granian.log import LogLevels

from holdfast.bootstrap.database import refuse_unsafe_login
from holdfast.bootstrap.settings import Settings, SettingsError
from holdfast.entrypoints.cli.terminal import CommandFailed

# Time for connections to close, after the engine's time to drain.
_KILL_AFTER_DRAIN_SECONDS = 10

_TARGETS = {
    "all": "holdfast.entrypoints.asgi.app:create_everything",
    "api": "holdfast.entrypoints.asgi.app:create_api_only",
    "pages": "holdfast.entrypoints.asgi.app:create_pages_only",
}


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "serve",
        help="serve the API and the pages",
        description="Serves on HOLDFAST_HOST:HOLDFAST_PORT with HOLDFAST_PROCESSES processes, on "
        "the database of DATABASE_URL.",
    )
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--api", dest="part", action="store_const", const="api", help="the API only")
    part.add_argument(
        "--pages", dest="part", action="store_const", const="pages", help="the pages only"
    )
    parser.set_defaults(run=run, part="all")


def run(settings: Settings, options: argparse.Namespace) -> int:
    if settings.database_url is None:
        raise SettingsError("DATABASE_URL: must be set; `holdfast demo` has its own database")
    refuse_taken_port(settings)
    serve(settings, options.part)
    return 0


def refuse_taken_port(settings: Settings) -> None:
    """The server itself would silently share the port with another Holdfast."""
    host, port = settings.holdfast_host, settings.holdfast_port
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with closing(socket.socket(family, kind, protocol)) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise CommandFailed(
            f"cannot listen on {host}:{port} ({error.strerror}). "
            "Choose another port with HOLDFAST_PORT."
        ) from error


def serve(settings: Settings, part: str) -> None:
    """Serve until stopped by a signal. Forks its processes, so nothing may be open or running."""
    refuse_unsafe_login(settings)
    # Set before the fork: all processes have to sign with the same key.
    os.environ.setdefault("HOLDFAST_SECRET_KEY", secrets.token_urlsafe(48))
    # Loaded before the fork, to share memory and to start replacement processes faster.
    import_module(_TARGETS[part].partition(":")[0])
    Granian(
        _TARGETS[part],
        factory=True,
        address=settings.holdfast_host,
        port=settings.holdfast_port,
        interface=Interfaces.ASGI,
        loop=Loops.uvloop,
        workers=settings.holdfast_processes,
        workers_kill_timeout=settings.holdfast_drain_seconds + _KILL_AFTER_DRAIN_SECONDS,
        respawn_failed_workers=True,
        backlog=4096,
        backpressure=4096,
        websockets=False,
        log_level=LogLevels.warning,
    ).serve()
