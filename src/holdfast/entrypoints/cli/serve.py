"""`holdfast serve`."""

import argparse
import os
import secrets
import socket
from functools import partial

from holdfast.bootstrap.database import refuse_unsafe_login
from holdfast.bootstrap.privacy.addresses import refuse_missing_secrets
from holdfast.bootstrap.settings import Settings, SettingsError
from holdfast.entrypoints.cli.terminal import CommandFailed
from holdfast.entrypoints.server.supervisor import supervise

# For connections to close before the engine drains, and for everything else after that.
_STOP_BESIDES_DRAIN_SECONDS = 15


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


def refuse_taken_port(settings: Settings, option: str = "HOLDFAST_PORT") -> None:
    """Fail before anything is started. `option` is what chooses the port."""
    listening_socket(settings, is_shared=False, option=option).close()


def listening_socket(
    settings: Settings, *, is_shared: bool, option: str = "HOLDFAST_PORT"
) -> socket.socket:
    """Processes share the port, and the kernel spreads connections over them. A second `holdfast
    serve` could share it too, so `refuse_taken_port` first binds without sharing."""
    host, port = settings.holdfast_host, settings.holdfast_port
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if is_shared:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listening.bind(address)
    except OSError as error:
        raise CommandFailed(
            f"cannot listen on {host}:{port} ({error.strerror}). Choose another port with {option}."
        ) from error
    return listening


def serve(settings: Settings, part: str) -> None:
    """Serve until stopped by a signal. Forks its processes, so nothing may be open or running."""
    # Loaded before the fork, to share memory and to start replacement processes faster.
    from holdfast.entrypoints.asgi import app  # noqa: PLC0415
    from holdfast.entrypoints.server.process import serve_process  # noqa: PLC0415

    refuse_unsafe_login(settings)
    refuse_missing_secrets(settings)
    # Set before the fork: all processes have to sign with the same key.
    if settings.holdfast_secret_key is None:
        os.environ["HOLDFAST_SECRET_KEY"] = secrets.token_urlsafe(48)
        os.environ["HOLDFAST_SECRET_KEY_IS_TEMPORARY"] = "yes"  # noqa: S105
    create = {
        "all": app.create_everything,
        "api": app.create_api_only,
        "pages": app.create_pages_only,
        "inventory": app.create_inventory,
    }[part]
    sockets = [
        listening_socket(settings, is_shared=True) for _ in range(settings.holdfast_processes)
    ]
    supervise(
        partial(serve_process, create),
        sockets,
        stop_seconds=settings.holdfast_drain_seconds + _STOP_BESIDES_DRAIN_SECONDS,
    )
