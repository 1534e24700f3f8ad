"""A private RabbitMQ: real processes in a temporary directory, which end with the tests."""

import itertools
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self

from holdfast.adapters.embedded.processes import launcher_command
from holdfast.adapters.rabbitmq.connections import BROKER_ERRORS, connect, disconnect
from tests.support import debian
from tests.support.servers import free_port

ERLANG_PARTS = (
    *("asn1", "base", "crypto", "eldap", "ftp", "inets", "mnesia", "os-mon", "parsetools"),
    *("public-key", "runtime-tools", "snmp", "ssl", "syntax-tools", "tftp", "tools", "xmerl"),
)
PACKAGES = ("rabbitmq-server", *(f"erlang-{part}" for part in ERLANG_PARTS))
NODE = "holdfast@localhost"
# Generous: on a busy machine, a command of RabbitMQ takes half a minute to start.
START_SECONDS_MAX, STOP_SECONDS_MAX, CTL_SECONDS_MAX = 120.0, 60.0, 120.0
VHOSTS_AT_ONCE = 10
LOOPBACK_ONLY = "-start_epmd false -kernel inet_dist_use_interface {127,0,0,1}"
NEW_VHOSTS = """
[begin
    rabbit_vhost:add(Name, <<"test">>),
    rabbit_auth_backend_internal:set_permissions(
        <<"holdfast">>, Name, <<".*">>, <<".*">>, <<".*">>, <<"test">>)
 end || Name <- [%s]], ok.
"""


@dataclass(frozen=True, slots=True)
class RabbitInstallation:
    """Debian's files, in the system's root or in our own."""

    root: Path

    @property
    def erlang(self) -> Path:
        return self.root / "usr/lib/erlang"

    @property
    def programs(self) -> Path:
        """RabbitMQ's own scripts: those on the PATH require the user `rabbitmq`."""
        return next(self.root.glob("usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin"))

    @property
    def erlang_programs(self) -> Path:
        return next(self.erlang.glob("erts-*/bin"))

    @property
    def is_there(self) -> bool:
        try:
            return (self.programs / "rabbitmq-server").is_file() and self.erlang_programs.is_dir()
        except StopIteration:
            return False


def find_rabbit() -> RabbitInstallation | None:
    """The system's RabbitMQ, or one that is downloaded once and kept."""
    system = RabbitInstallation(Path("/"))
    if system.is_there:
        return system
    unpacked = debian.unpack("rabbitmq", PACKAGES)
    return None if unpacked is None else RabbitInstallation(unpacked)


@dataclass
class RabbitBroker:
    """One node on ports of 127.0.0.1, with its own port mapper, isolated from other Erlang nodes.
    Start it from the main thread: it ends with that thread."""

    directory: Path
    installation: RabbitInstallation
    port: int = field(default_factory=free_port)
    _password: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    _processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _vhosts: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def url(self) -> str:
        return self.url_of("%2F")

    def url_of(self, vhost: str) -> str:
        return f"amqp://holdfast:{self._password}@127.0.0.1:{self.port}/{vhost}"

    def start(self) -> Self:
        self._write_files()
        mapper = [str(self.installation.erlang_programs / "epmd"), "-address", "127.0.0.1"]
        self._launch([*mapper, "-port", self._environment["ERL_EPMD_PORT"]])
        self._launch([str(self.installation.programs / "rabbitmq-server")])
        self._wait_until_it_answers()
        return self

    def stop(self) -> None:
        """Stop gracefully: everything it confirmed is on disk."""
        if self._processes:
            self._server.send_signal(signal.SIGTERM)
            try:
                self._server.wait(STOP_SECONDS_MAX)
            finally:
                self._end()

    def kill(self) -> None:
        """Kill -9, as in a crash. Its helpers end with it."""
        self.sync()
        self.kill_at_once()

    def sync(self) -> None:
        """For a while RabbitMQ keeps the names of new quorum queues in memory only. A crash within
        that time loses the queues, which is not under test."""
        self.ctl("eval", "[dets:sync(Table) || Table <- dets:all()].")

    def kill_at_once(self) -> None:
        """Kill -9 in the middle of a burst. Only for queues that were synced."""
        self._end()

    def restart(self) -> None:
        """Restart; the data survives."""
        self.stop()
        self.start()

    @property
    def pid(self) -> int:
        return self._server.pid

    @property
    def is_running(self) -> bool:
        return bool(self._processes)

    def ctl(self, *arguments: str) -> str:
        command = [str(self.installation.programs / "rabbitmqctl"), "--node", NODE, "--quiet"]
        done = subprocess.run(
            [*command, *arguments],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=CTL_SECONDS_MAX,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def new_vhost(self) -> str:
        """The URL of an unused virtual host. Several are made at once: the command takes longer to
        start than to make them."""
        if not self._vhosts:
            names = [f"test-{next(self._numbers)}" for _ in range(VHOSTS_AT_ONCE)]
            self.ctl("eval", NEW_VHOSTS % ", ".join(f'<<"{name}">>' for name in names))
            self._vhosts = names[::-1]
        return self.url_of(self._vhosts.pop())

    @property
    def _server(self) -> subprocess.Popen[bytes]:
        return self._processes[-1]

    @cached_property
    def _environment(self) -> Mapping[str, str]:
        """Only these variables: those of the developer's shell must not affect it."""
        return {
            "HOME": str(self.directory),  # where the cookie is
            "PATH": f"{self.directory / 'bin'}:/usr/bin:/bin",
            "LC_ALL": "C.UTF-8",
            "ERL_EPMD_PORT": str(free_port()),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": NODE,
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_CONFIG_FILE": str(self.directory / "rabbitmq"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(self.directory / "advanced"),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.directory / "plugins"),
            "RABBITMQ_MNESIA_BASE": str(self.directory / "data"),
            "RABBITMQ_LOG_BASE": str(self.directory / "log"),
            "RABBITMQ_PID_FILE": str(self.directory / "pid"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": LOOPBACK_ONLY,
            "RABBITMQ_CTL_ERL_ARGS": LOOPBACK_ONLY,
            # Makes the script exec the server instead of staying as a shell.
            "detached": "1",
        }

    @property
    def _log(self) -> Path:
        return self.directory / "output"

    def _write_files(self) -> None:
        cookie = self.directory / ".erlang.cookie"
        if cookie.exists():
            return
        (self.directory / "bin").mkdir(parents=True)
        # Debian's script names the installed path of Erlang, not where it is unpacked.
        erl = self.directory / "bin" / "erl"
        erl.write_text(
            "#!/bin/sh\n"
            f'export ROOTDIR="{self.installation.erlang}" EMU=beam PROGNAME=erl\n'
            f'export BINDIR="{self.installation.erlang_programs}"\n'
            'exec "$BINDIR/erlexec" "$@"\n'
        )
        erl.chmod(0o700)
        cookie.write_text(secrets.token_hex(20))
        cookie.chmod(0o400)
        (self.directory / "plugins").write_text("[].\n")
        (self.directory / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{self.port}\n"
            f"default_user = holdfast\ndefault_pass = {self._password}\n"
            "log.file = false\nlog.console = true\nlog.console.level = warning\n"
        )

    def _launch(self, command: list[str]) -> None:
        with self._log.open("ab") as output:
            self._processes.append(
                subprocess.Popen(
                    launcher_command(command, death_signal=signal.SIGKILL),
                    env=self._environment,
                    cwd=self.directory,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
            )

    def _end(self) -> None:
        while self._processes:
            process = self._processes.pop()
            process.kill()
            process.wait()

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline and self._server.poll() is None:
            try:
                disconnect(connect(self.url))
            except BROKER_ERRORS:
                time.sleep(0.1)
            else:
                return
        self._end()
        tail = self._log.read_text(errors="replace")[-4_000:]
        raise AssertionError(f"RabbitMQ did not start:{os.linesep}{tail}")
