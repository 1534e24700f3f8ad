"""A server that acts a moment after reading, so that two surely collide; for the control, it does
not lock payments. Python imports this file first when its directory is on PYTHONPATH."""

import os
from uuid import uuid4

from holdfast.adapters.postgres.engine import group, statements
from holdfast.adapters.postgres.engine.group import advisory_name
from holdfast.domain.group.footprint import Resource, ResourceKind

statements.CLOCK += ", pg_sleep(0.02)"


def somewhere_else(resource: Resource) -> int:
    is_payment = resource.kind is ResourceKind.PAYMENT
    return uuid4().int >> 65 if is_payment else advisory_name(resource)


if "PAYMENTS_UNLOCKED" in os.environ:
    vars(group)["advisory_name"] = somewhere_else
