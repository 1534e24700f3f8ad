"""A private PostgreSQL."""

import signal
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import psycopg

from holdfast.adapters.embedded import cluster
from holdfast.adapters.embedded.errors import EmbeddedServiceError
from holdfast.adapters.embedded.fallback import fallback_directory
from holdfast.adapters.embedded.files import kept_password
from holdfast.adapters.embedded.installation import find_postgres
from holdfast.adapters.embedded.placement import Placement, RunAs, place
from holdfast.adapters.embedded.processes import launcher_command
from holdfast.adapters.embedded.service import EmbeddedService
from holdfast.adapters.embedded.tcp_ports import LOOPBACK

_DEFAULT_SETTINGS = {"timezone": "UTC", "log_timezone": "UTC"}


class EmbeddedPostgres(EmbeddedService):
    """PostgreSQL on a port of 127.0.0.1, with our roles and database.

    Committed data survives `stop`, `kill` and a kill -9 of this process: fsync stays on unless the
    settings turn it off. `run_as` overrides the service's own choice.
    """

    title: ClassVar[str] = "PostgreSQL"
    name: ClassVar[str] = "postgres"
    # Fast shutdown, then immediate shutdown; both end the server's children too.
    stop_steps: ClassVar[tuple[tuple[signal.Signals, float], ...]] = (
        (signal.SIGINT, 20.0),
        (signal.SIGQUIT, 5.0),
    )

    run_as: RunAs | None = None
    _placement: Placement | None = None

    @property
    def superuser_url(self) -> str:
        """The superuser's URL, for creating databases and roles, never for the service."""
        return self._url(cluster.SUPERUSER, self._superuser_password(), cluster.SUPERUSER)

    @property
    def url(self) -> str:
        """The URL for migrations, as the owner of the database."""
        return self.owner_url_of(cluster.DATABASE)

    @property
    def server_url(self) -> str:
        """The URL for the service, with a login that owns nothing."""
        return self.server_url_of(cluster.DATABASE)

    def owner_url_of(self, database: str) -> str:
        return self._url(cluster.ROLE, self._role_password(), database)

    def server_url_of(self, database: str) -> str:
        password = cluster.server_password(self._role_password())
        return self._url(cluster.SERVER_ROLE, password, database)

    def ensure_database(self, name: str) -> None:
        """Create another database for another service, with the same logins."""
        cluster.ensure_database(self.superuser_url, name)

    @property
    def data_directory(self) -> Path:
        return self._placed().data

    def _url(self, role: str, password: str, database: str) -> str:
        return f"postgresql://{role}:{password}@{LOOPBACK}:{self.port}/{database}"

    def _superuser_password(self) -> str:
        return kept_password(self._placed().root / "postgres-superuser.password")

    def _role_password(self) -> str:
        return kept_password(self._placed().root / "postgres-holdfast.password")

    def _placed(self) -> Placement:
        if self._placement is None:
            raise EmbeddedServiceError("PostgreSQL has not been started.")
        return self._placement

    def _kept(self) -> tuple[Path, ...]:
        return (*super()._kept(), fallback_directory(self.directory))

    def _prepare(self) -> None:
        placement = place(self.directory, find_postgres(), self.run_as)
        self._placement = placement
        cluster.ensure_initialised(
            placement, marker=self._marker, password=self._superuser_password(), log=self.log
        )
        cluster.clear_stale_lock_file(placement.data)

    def _command(self, port: int) -> Sequence[str]:
        placement = self._placed()
        fixed = {
            "listen_addresses": LOOPBACK,
            "port": str(port),
            "unix_socket_directories": "",  # its path may be too long, and it is not needed
            "cluster_name": self._marker,  # shown in the command line of every process
            "logging_collector": "off",  # a failed start quotes from our log
        }
        command = [str(placement.installation.server), "-D", str(placement.data)]
        for name, value in (_DEFAULT_SETTINGS | self._settings | fixed).items():
            command += ["-c", f"{name}={value}"]
        # SIGINT is the fast shutdown, after which the next start needs no recovery.
        return launcher_command(command, death_signal=signal.SIGINT, identity=placement.identity)

    def _working_directory(self) -> Path:
        return self._placed().root

    def _is_ready(self, port: int) -> bool:
        return cluster.is_ready(self._placed().data, self.pid)

    def _configure(self) -> None:
        port = self.port
        try:
            cluster.ensure_roles_and_database(self.superuser_url, self._role_password())
        except psycopg.Error as error:
            raise EmbeddedServiceError(
                f"PostgreSQL runs on port {port}, but its roles and database could not be created: "
                f"{str(error).strip()}"
            ) from error
