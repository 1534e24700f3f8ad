"""A server whose processes do not lock seats: the control of the rush for one seat. Python imports
this first when its directory is on PYTHONPATH."""

from holdfast.adapters.postgres.engine import statements

statements.LOCK_SEATS = statements.LOCK_SEATS.replace("FOR NO KEY UPDATE SKIP LOCKED", "")
# What was read is acted upon a moment later, so that two processes surely meet.
statements.CLOCK += ", pg_sleep(0.02)"
