"""`holdfast inventory` and `holdfast inventory-check`."""
