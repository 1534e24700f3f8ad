"""The admin pages: operators look at every organization and change nothing here.

Everything that changes a row is a command to the engine, so there is no add, no change and no
delete. The database stands behind that: the role of these pages may only read.

The tables of seats, holds, orders, facts and audit entries grow without end. Their lists are read
in the order of an index, counted only up to a limit, and searched by whole values.
"""

from holdfast.adapters.postgres.admin import audit, catalogue, facts, holds, orders, seats, waiting

__all__ = ["audit", "catalogue", "facts", "holds", "orders", "seats", "waiting"]
