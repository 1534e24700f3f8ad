"""A server that does not lock holders: the control of the limits per holder. Python imports this
file first when its directory is on PYTHONPATH."""

from uuid import uuid4

from holdfast.adapters.postgres.engine import group, statements
from holdfast.domain.group.footprint import Resource, ResourceKind

advisory_name = group.advisory_name


def somewhere_else(resource: Resource) -> int:
    is_holder = resource.kind is ResourceKind.HOLDER
    return uuid4().int >> 65 if is_holder else advisory_name(resource)


group.advisory_name = somewhere_else
# Act a moment after reading, so that two processes surely collide.
statements.CLOCK += ", pg_sleep(0.02)"
