"""The sample project `examples/django_shop`, as a process."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from tests.support.databases import own_environment, server_url
from tests.support.platform import Platform, Sale
from tests.support.servers import INSTALLATION_SECRET, ROOT, START_TIMEOUT_SECONDS, free_port

PROJECT = ROOT / "examples" / "django_shop"
# Both commands in one process, which starts twice as fast.
SERVE = """
import signal, sys
# Where the tests run in the background, it is ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
from django import setup
from django.core.management import call_command
setup()
call_command("prepare")
call_command("runserver", sys.argv[1], use_reloader=False, insecure_serving=True)
"""
PASSWORD = "harbour"


def in_process(database_url: str, **more: str) -> dict[str, str]:
    """The engine in the shop's process, on this database of an owner."""
    return {
        "SHOP_HOLDFAST_DATABASE_URL": server_url(database_url),
        "HOLDFAST_SECRET_KEY": INSTALLATION_SECRET,
        "HOLDFAST_DEADLINE_SECONDS": "30",
        "HOLDFAST_DUTIES": "none",  # the servers of the tests have them
        **more,
    }


def against(server_url: str) -> dict[str, str]:
    return {"SHOP_HOLDFAST_URL": server_url}


@dataclass
class RunningShop:
    """Sells what is on sale at a platform, whose owner's database is `platform_database`."""

    platform: Platform
    platform_database: str
    sale: Sale
    directory: Path
    environment: Mapping[str, str]
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None
    sessions: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        return (self.directory / "log").read_text(errors="replace")

    @property
    def variables(self) -> dict[str, str]:
        return {
            **own_environment(),
            "SHOP_DATABASE": str(self.directory / "shop.sqlite3"),
            "SHOP_HOLDFAST_KEY": self.platform.secret_key,
            "SHOP_SESSION_ID": self.sale.session_id,
            "SHOP_DEBUG": "no",
            "DJANGO_SETTINGS_MODULE": "project.settings",
            **self.environment,
        }

    def start(self) -> Self:
        self.process = self._run("-c", SERVE, f"127.0.0.1:{self.port}")
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.log
            try:
                httpx.get(f"{self.base_url}/log-in").raise_for_status()
            except httpx.HTTPError:
                time.sleep(0.05)
            else:
                return self
        raise AssertionError(self.log)

    def manage(self, *arguments: str) -> "subprocess.Popen[bytes]":
        return self._run(str(PROJECT / "manage.py"), *arguments)

    def _run(self, *arguments: str) -> "subprocess.Popen[bytes]":
        with (self.directory / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, *arguments],
                env=self.variables,
                cwd=PROJECT,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @contextmanager
    def buyer(self, name: str) -> Iterator[httpx.Client]:
        """A browser in which this user has logged in."""
        with httpx.Client(base_url=self.base_url, timeout=60) as client:
            client.get("/log-in").raise_for_status()
            fields = {
                "username": name,
                "password": PASSWORD,
                "csrfmiddlewaretoken": client.cookies["csrftoken"],
            }
            assert client.post("/log-in", data=fields).status_code == 302
            client.headers["X-CSRFToken"] = client.cookies["csrftoken"]
            yield client

    @contextmanager
    def known_buyer(self, name: str) -> Iterator[httpx.Client]:
        """The same with the session of an earlier test, which saves hashing the password."""
        if name not in self.sessions:
            with self.buyer(name) as client:
                self.sessions[name] = dict(client.cookies)
        cookies = self.sessions[name]
        headers = {"X-CSRFToken": cookies["csrftoken"]}
        with httpx.Client(
            base_url=self.base_url, timeout=60, cookies=cookies, headers=headers
        ) as client:
            yield client

    def stop(self) -> int:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(30)
            finally:
                if self.process.poll() is None:
                    os.killpg(self.process.pid, signal.SIGKILL)
                    self.process.wait(10)
        return self.process.returncode

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()
