"""A private RabbitMQ. Not imported with the package, because its client library is large."""

import secrets
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from kombu.connection import Connection
from kombu.transport.pyamqp import Transport

from holdfast.adapters.embedded.files import kept_password, write_private
from holdfast.adapters.embedded.installation import RabbitInstallation, find_rabbit
from holdfast.adapters.embedded.processes import launcher_command, spawn
from holdfast.adapters.embedded.service import EmbeddedService
from holdfast.adapters.embedded.tcp_ports import LOOPBACK, free_port

USER = "holdfast"
NODE = "holdfast@localhost"
LOOPBACK_ONLY = "-start_epmd false -kernel inet_dist_use_interface {127,0,0,1}"
# Generous: a busy machine needs half a minute.
START_SECONDS_MAX = 120.0
_PROBE_TIMEOUT_SECONDS = 1.0


class EmbeddedRabbit(EmbeddedService):
    """One node on ports of 127.0.0.1, with its own port mapper, isolated from other Erlang nodes.
    Everything that it confirmed survives `stop`."""

    title: ClassVar[str] = "RabbitMQ"
    name: ClassVar[str] = "rabbitmq"
    stop_steps: ClassVar[tuple[tuple[signal.Signals, float], ...]] = ((signal.SIGTERM, 60.0),)

    def __init__(
        self, directory: Path, packages: Path, *, start_timeout_seconds: float = START_SECONDS_MAX
    ) -> None:
        """If the system has no RabbitMQ, Debian's is unpacked into the directory `packages`."""
        super().__init__(directory, start_timeout_seconds=start_timeout_seconds)
        self._packages = packages
        self._found: RabbitInstallation | None = None
        self._mapper_port = self._node_port = 0
        self._mapper: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return self._url(self.port, "%2F")

    @property
    def installation(self) -> RabbitInstallation:
        if self._found is None:
            self._found = find_rabbit(self._packages)
        return self._found

    def kill(self) -> None:
        super().kill()
        if self._is_mine() and self._mapper is not None:
            self._mapper.kill()
            self._mapper.wait()
            self._mapper = None

    def _url(self, port: int, vhost: str) -> str:
        return f"amqp://{USER}:{self._password()}@{LOOPBACK}:{port}/{vhost}"

    def _password(self) -> str:
        return kept_password(self.directory / "rabbitmq.password")

    def _prepare(self) -> None:
        programs = self.directory / "bin"
        programs.mkdir(mode=0o700, exist_ok=True)
        erlang = self.installation.erlang
        # Debian's script names the installed path of Erlang, not where it is unpacked.
        write_private(
            programs / "erl",
            "#!/bin/sh\n"
            f'export ROOTDIR="{erlang}" EMU=beam PROGNAME=erl\n'
            f'export BINDIR="{self.installation.erlang_programs}"\n'
            'exec "$BINDIR/erlexec" "$@"\n',
        )
        (programs / "erl").chmod(0o700)
        cookie = self.directory / ".erlang.cookie"
        if not cookie.exists():
            write_private(cookie, secrets.token_hex(20))
        write_private(self.directory / "plugins", "[].\n")
        self._start_mapper(programs)

    def _start_mapper(self, programs: Path) -> None:
        """It tells other programs of the node its port; the machine's own mapper is left alone."""
        self._mapper_port, self._node_port = free_port(LOOPBACK), free_port(LOOPBACK)
        # Under a name that shows whose it is, like the other processes.
        program = programs / f"{self._marker}-epmd"
        program.unlink(missing_ok=True)
        program.symlink_to(self.installation.erlang_programs / "epmd")
        command = [str(program), "-address", LOOPBACK, "-port", str(self._mapper_port)]
        self._mapper = spawn(
            launcher_command(command, death_signal=signal.SIGKILL),
            log=self.log,
            cwd=self.directory,
            environment=self._environment(),
        )

    def _command(self, port: int) -> Sequence[str]:
        write_private(
            self.directory / "rabbitmq.conf",
            f"listeners.tcp.1 = {LOOPBACK}:{port}\n"
            f"default_user = {USER}\ndefault_pass = {self._password()}\n"
            "log.file = false\nlog.console = true\nlog.console.level = warning\n",
        )
        return launcher_command(
            [str(self.installation.programs / "rabbitmq-server")], death_signal=signal.SIGKILL
        )

    def _environment(self) -> Mapping[str, str]:
        """Only these variables: those of the user's shell must not affect it."""
        return {
            "HOME": str(self.directory),  # where the cookie is
            "PATH": f"{self.directory / 'bin'}:/usr/bin:/bin",
            "LC_ALL": "C.UTF-8",
            "ERL_EPMD_PORT": str(self._mapper_port),
            "ERL_EPMD_ADDRESS": LOOPBACK,
            "RABBITMQ_NODENAME": NODE,
            "RABBITMQ_DIST_PORT": str(self._node_port),
            "RABBITMQ_CONFIG_FILE": str(self.directory / "rabbitmq"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(self.directory / "advanced"),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.directory / "plugins"),
            "RABBITMQ_MNESIA_BASE": str(self.directory / "rabbitmq-data"),
            "RABBITMQ_LOG_BASE": str(self.directory / "rabbitmq-log"),
            "RABBITMQ_PID_FILE": str(self.directory / "pid"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": f"{LOOPBACK_ONLY} -service {self._marker}",
            "RABBITMQ_CTL_ERL_ARGS": LOOPBACK_ONLY,
            # Makes the script exec the server instead of staying as a shell.
            "detached": "1",
        }

    def _working_directory(self) -> Path:
        return self.directory

    def _is_ready(self, port: int) -> bool:
        """Log in: a server that accepts our password is ours."""
        client = Connection(  # type: ignore[no-untyped-call]
            self._url(port, "%2F"), connect_timeout=_PROBE_TIMEOUT_SECONDS
        )
        try:
            client.transport.establish_connection().close()
        except (*Transport.connection_errors, *Transport.channel_errors):
            return False
        return True
