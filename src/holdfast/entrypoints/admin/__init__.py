"""The admin pages, where operators see every organization.

The database role of these pages is read-only, so there is no add, change or delete. Changes go
through the services (`AdminConfig.services`), like those of the API.

The tables of seats, holds, orders, facts and audit entries grow without end. Their lists are read
in the order of an index, counted only up to a limit, and searched by whole values.
"""
