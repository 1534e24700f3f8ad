"""The admin pages: operators look at every organization.

The database role of these pages only reads, so there is no add, no change and no delete. A change
goes through the services (`AdminConfig.services`), like a change that the API makes.

The tables of seats, holds, orders, facts and audit entries grow without end. Their lists are read
in the order of an index, counted only up to a limit, and searched by whole values.
"""
