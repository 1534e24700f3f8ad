"""A server that does not lock seats: the control of the rush for one seat. Python imports this file
first when its directory is on PYTHONPATH."""

from holdfast.adapters.postgres.engine import statements

statements.LOCK_SEATS = statements.LOCK_SEATS.replace("FOR NO KEY UPDATE SKIP LOCKED", "")
# Act a moment after reading, so that two processes surely collide.
statements.CLOCK += ", pg_sleep(0.02)"
