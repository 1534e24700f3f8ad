"""Both services: the engine on PostgreSQL, and an Inventory Service in memory behind HTTP."""

from dataclasses import dataclass, field, replace
from typing import Any

from holdfast.bootstrap.inventory.reconciliation import Reconciliation
from holdfast.bootstrap.settings import Settings
from holdfast.domain.group.outcomes import AwaitsInventory, Outcome, Placed
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import HoldId
from holdfast.domain.orders.order import Order
from holdfast.engine import Admission
from holdfast.ports.privacy.addresses import CLEAR_ADDRESSES
from holdfast.services.inventory.circuit import Circuit
from holdfast.services.inventory.remote_holds import RemoteHolds
from tests.contract.asking import ask, converted
from tests.contract.venues import Venue
from tests.contract.worlds import PostgresWorld
from tests.support.auditing import rows
from tests.support.inventory_service import KEY, InventoryService
from tests.support.patience import PATIENT, wait_until


@dataclass
class Pair:
    world: PostgresWorld
    service: InventoryService
    engine: Admission = field(init=False)
    remote: RemoteHolds = field(init=False)
    reconciliation: Reconciliation = field(init=False)
    venue: Venue = field(init=False)

    def __post_init__(self) -> None:
        self.engine = Admission(self.world.store, PATIENT)
        self.engine.start()
        self.reconciliation = self.another()
        inventory = self.reconciliation.inventory
        self.remote = RemoteHolds(self.engine, inventory, Circuit(), lambda *_: None)
        self.venue = self.world.venue({"floor": 100}, {"standing": ("floor",), "box": ("floor",)})

    def another(self) -> Reconciliation:
        """As in another process."""
        settings = Settings(
            database_url=self.world.url,
            holdfast_inventory_url=self.service.url,
            holdfast_inventory_key=KEY,
        )
        made = Reconciliation(settings, self.engine, CLEAR_ADDRESSES)
        made.start()
        return made

    def close(self) -> None:
        self.service.resume()
        self.remote.stop()
        self.engine.stop()
        self.reconciliation.stop()

    def place(self, quantity: int = 2, **more: Any) -> Outcome | None:
        command = self.venue.place(("standing", quantity), **more)
        return self.remote.submit(command).result(60).outcome

    def placed(self, quantity: int = 2) -> Hold:
        outcome = self.place(quantity)
        assert isinstance(outcome, Placed), outcome
        assert self.service.status(outcome.hold.id) == "held"
        return outcome.hold

    def intended(self) -> Hold:
        """A hold whose process has died before it asked the Inventory Service."""
        command = replace(self.venue.place(("standing", 2)), is_remote=True)
        outcome = ask(self.engine, command)
        assert isinstance(outcome, AwaitsInventory), outcome
        return outcome.hold

    def sold(self, hold: Hold) -> Order:
        return converted(self.engine, self.venue.convert(hold.id)).order

    def released(self, hold: Hold) -> None:
        ask(self.engine, self.venue.release(hold.id))

    def expired(self, hold: Hold) -> None:
        self.world.let_pass(self.venue, 601)
        ask(self.engine, self.venue.expire(hold.id))

    def status(self, hold_id: HoldId) -> str:
        return self.world.hold(self.venue, hold_id).status.value

    def tasks(self) -> list[tuple[Any, ...]]:
        """Hold, attempts, problem and whether it is a contradiction."""
        query = "SELECT hold_id, attempts, problem, is_contradiction FROM inventory_task"
        return rows(self.world.url, query)

    def make_due(self) -> None:
        with self.world.connected() as connection:
            connection.execute("UPDATE inventory_task SET due_at = statement_timestamp()")

    def reconcile(self) -> None:
        """Run until nothing is due. A task that its hold's change has renewed is due at once."""

        def is_over() -> bool:
            self.make_due()
            run = self.reconciliation.reconciler.run_once()
            return not run.agreed

        wait_until(is_over, "nothing is left to settle")

    def forget_tasks(self) -> None:
        """Damage that no transaction of ours has caused."""
        with self.world.connected() as connection:
            connection.execute("DELETE FROM inventory_task")
