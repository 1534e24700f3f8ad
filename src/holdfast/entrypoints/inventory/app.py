"""The Inventory Service's API: the machinery of the hold API with other routes."""

from holdfast.entrypoints.api.access.password_turns import PasswordTurns
from holdfast.entrypoints.api.app import Api
from holdfast.entrypoints.inventory.routes import INVENTORY_ROUTES, PREFIX
from holdfast.services.container import ApiContainer


def create_inventory_api(container: ApiContainer) -> Api:
    return Api(container, PasswordTurns(), INVENTORY_ROUTES, prefix=PREFIX)
