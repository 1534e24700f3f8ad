"""Two services, each a process of its own with its own database, and the broker between them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.inventory.store import Store
from tests.support.databases import DatabaseFactory
from tests.support.platform import Platform, Sale, new_platform
from tests.support.servers import RunningServer, free_port


@dataclass
class TwoServices:
    """The Hold Service in front of an Inventory Service. Their key is one of the latter."""

    databases: DatabaseFactory
    directory: Path
    amqp_url: str
    environment: Mapping[str, str] = field(default_factory=dict)  # of the Hold Service
    inventory_databases: DatabaseFactory | None = None  # if they are on a PostgreSQL of their own
    inventory: RunningServer = field(init=False)
    holds: RunningServer = field(init=False)
    store: Platform = field(init=False)

    def __post_init__(self) -> None:
        broker = {"AMQP_URL": self.amqp_url}
        database_url = (self.inventory_databases or self.databases).fresh()
        self.inventory = RunningServer(
            database_url, self.directory / "inventory.log", broker, command="inventory"
        )
        # The key has to exist before the first of the two services starts.
        port = self.inventory.port = free_port()
        url = f"http://127.0.0.1:{port}"
        self.store = new_platform(url, self.inventory.database_url, ("inventory",))
        remote = {
            "HOLDFAST_INVENTORY_URL": url,
            "HOLDFAST_INVENTORY_KEY": self.store.secret_key,
            "HOLDFAST_DEADLINE_SECONDS": "5",
        }
        self.holds = RunningServer(
            self.databases.fresh(),
            self.directory / "holds.log",
            {**broker, **remote, **self.environment},
        )

    def __enter__(self) -> Self:
        try:
            self.inventory.start()
            self.holds.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for server in (self.holds, self.inventory):
            server.stop()

    def platform(self) -> Platform:
        return new_platform(self.holds.base_url, self.holds.database_url)

    def stock(self, sale: Sale, total: int) -> Store:
        """Put the tickets of a sale into the inventory."""
        store = Store(self.store, sale.session_id, sale.ticket_type_id)
        answer = store.stock(total)
        assert answer.status_code == 200, answer.text
        return store
