"""The reconciler and the comparison. No hold waits for their connections, which are their own. A
module of its own, because its client is slow to load and most installations need none."""

from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.postgres.inventory.our_sides import PostgresOurSides
from holdfast.adapters.postgres.inventory.tasks import PostgresInventoryTasks
from holdfast.bootstrap.inventory.client import inventory_of
from holdfast.bootstrap.settings import Settings
from holdfast.ports.engine import Submit
from holdfast.ports.privacy.addresses import Addresses
from holdfast.services.inventory.circuit import Circuit
from holdfast.services.inventory.comparison import Comparison, ComparisonDuty
from holdfast.services.inventory.mending import Mender
from holdfast.services.inventory.reconciler import CALLS_AT_ONCE_MAX, Reconciler


class Reconciliation:
    def __init__(self, settings: Settings, submit: Submit, addresses: Addresses) -> None:
        # One for the comparison, and one to look at the state.
        self._database = Database(settings.required_database_url, CALLS_AT_ONCE_MAX + 2)
        self.inventory = inventory_of(settings)
        self.tasks = PostgresInventoryTasks(self._database)
        self.our_sides = PostgresOurSides(self._database, addresses)
        mender = Mender(self.inventory, submit)
        self.reconciler = Reconciler(self.tasks, self.our_sides, mender, Circuit())
        self.comparison = Comparison(
            self.inventory, self.our_sides, mender, self.tasks, self.reconciler
        )
        self.comparison_duty = ComparisonDuty(self.comparison, self.tasks)

    def start(self) -> None:
        self._database.open()

    def stop(self) -> None:
        self._database.close()
        self.inventory.close()
