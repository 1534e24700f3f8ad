"""The client of the configured Inventory Service. A module of its own, because httpx is slow to
load and most installations need none."""

from holdfast.adapters.inventory.client import HttpInventory
from holdfast.bootstrap.settings import Settings


def inventory_of(settings: Settings) -> HttpInventory:
    assert settings.holdfast_inventory_url is not None
    assert settings.holdfast_inventory_key is not None
    return HttpInventory(settings.holdfast_inventory_url, settings.holdfast_inventory_key)
