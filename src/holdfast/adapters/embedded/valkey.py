"""A private Valkey, compatible with Redis."""

import signal
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from holdfast.adapters.embedded.errors import EmbeddedServiceError
from holdfast.adapters.embedded.files import kept_password, write_private
from holdfast.adapters.embedded.installation import find_valkey
from holdfast.adapters.embedded.processes import launcher_command
from holdfast.adapters.embedded.service import EmbeddedService
from holdfast.adapters.embedded.tcp_ports import LOOPBACK

_PROBE_TIMEOUT_SECONDS = 1.0


class EmbeddedValkey(EmbeddedService):
    """Valkey on a port of 127.0.0.1, in memory only unless the settings say otherwise.

    Settings are copied to its configuration as they are, so quote them as Valkey requires.
    """

    title: ClassVar[str] = "Valkey"
    name: ClassVar[str] = "valkey"
    stop_steps: ClassVar[tuple[tuple[signal.Signals, float], ...]] = ((signal.SIGTERM, 10.0),)

    @property
    def url(self) -> str:
        """The URL for clients, with the password."""
        return f"redis://:{self._password()}@{LOOPBACK}:{self.port}/0"

    def _password(self) -> str:
        return kept_password(self.directory / "valkey.password")

    @property
    def _data(self) -> Path:
        return self.directory / "valkey-data"

    def _prepare(self) -> None:
        self._data.mkdir(mode=0o700, exist_ok=True)

    def _command(self, port: int) -> Sequence[str]:
        configuration = self.directory / "valkey.conf"
        # In a file, because everybody can read the password on a command line.
        write_private(configuration, self._configuration(port))
        title = f"{{title}} {{listen-addr}} {self._marker}"
        command = [str(find_valkey()), str(configuration), "--proc-title-template", title]
        # SIGKILL loses nothing that a shutdown would keep, and no running script can delay it.
        return launcher_command(command, death_signal=signal.SIGKILL)

    def _configuration(self, port: int) -> str:
        defaults = {"save": '""', "appendonly": "no"}
        fixed = {
            "bind": LOOPBACK,
            "port": str(port),
            "requirepass": self._password(),
            "dir": _quoted(self._data),
            "daemonize": "no",
            "logfile": '""',  # standard output, which goes to our log
        }
        directives = defaults | self._settings | fixed
        if any("\n" in name + value for name, value in directives.items()):
            raise EmbeddedServiceError("Valkey did not start: a setting contains a line break.")
        return "".join(f"{name} {value}\n" for name, value in directives.items())

    def _working_directory(self) -> Path:
        return self._data

    def _is_ready(self, port: int) -> bool:
        """Log in and ping: a server that accepts our password is ours."""
        request = f"AUTH {self._password()}\r\nPING\r\n".encode("ascii")
        try:
            with socket.create_connection((LOOPBACK, port), _PROBE_TIMEOUT_SECONDS) as connection:
                connection.sendall(request)
                answer = b""
                while answer.count(b"\r\n") < 2 and (part := connection.recv(256)):
                    answer += part
        except OSError:
            return False
        return answer == b"+OK\r\n+PONG\r\n"


def _quoted(path: Path) -> str:
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
