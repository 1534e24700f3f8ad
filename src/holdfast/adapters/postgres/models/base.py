"""Common fields and base classes, and relations within an organization."""

from typing import TYPE_CHECKING, Any, TypeVar

from django.db import models

Target = TypeVar("Target", bound=models.Model)

if TYPE_CHECKING:  # Django's fields are generic in the stubs only
    WholeNumber = models.BigIntegerField[int, int]
    Number = models.FloatField[float, float]
else:
    WholeNumber = models.BigIntegerField
    Number = models.FloatField


class Xid8Field(WholeNumber):
    """A transaction id."""

    def db_type(self, connection: Any) -> str:
        return "xid8"

    def from_db_value(self, value: str | None, *_: object) -> int | None:
        return None if value is None else int(value)

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        """As text, because xid8 cannot be compared with integers."""
        return str(value) if isinstance(value, int) else value


class RealField(Number):
    """A single-precision number, for the coordinates of seats."""

    def db_type(self, connection: Any) -> str:
        return "real"


class Row(models.Model):
    """A row of a table. The only permission is to view it."""

    class Meta:
        abstract = True
        managed = False
        default_permissions = ("view",)


class PolicyRow(Row):
    """A row with a hold policy; an empty field inherits from the next wider level."""

    ttl_seconds = models.IntegerField("hold time (s)", null=True)
    quantity_max = models.IntegerField("maximum per hold", null=True)
    one_active_hold = models.BooleanField("one active hold per buyer", null=True)
    refuse_orphans = models.BooleanField("refuse to leave single seats", null=True)
    checkout_extension_seconds = models.IntegerField("checkout extension (s)", null=True)
    lifetime_max_seconds = models.IntegerField("maximum lifetime (s)", null=True)
    warning_seconds = models.IntegerField("warning before expiry (s)", null=True)
    late_payment_seconds = models.IntegerField("late payment window (s)", null=True)
    waitlist = models.BooleanField("waitlist", null=True)
    waiting_seconds = models.IntegerField("waitlist time (s)", null=True)
    waiting_places_max = models.IntegerField("maximum waitlist places per buyer", null=True)
    waiting_passes_max = models.IntegerField("maximum overtakes", null=True)

    class Meta(Row.Meta):
        abstract = True


class Organization(PolicyRow):
    id = models.UUIDField(primary_key=True)
    name = models.TextField()
    created_at = models.DateTimeField()

    class Meta(PolicyRow.Meta):
        db_table = "organization"

    def __str__(self) -> str:
        return self.name


class OrganizationRow(Row):
    """A row that belongs to an organization."""

    organization = models.ForeignKey(Organization, models.DO_NOTHING, related_name="+")

    class Meta(Row.Meta):
        abstract = True


def same_organization(
    to: type[Target], column: str, *, optional: bool = False
) -> "models.ForeignObject[Target, Target]":
    """A relation within an organization. It joins on both columns, because every index starts with
    the organization; a join on the id alone would read the whole table."""
    return models.ForeignObject(
        to,
        on_delete=models.DO_NOTHING,
        from_fields=("organization", column),
        to_fields=("organization", "id"),
        related_name="+",
        null=optional,
    )


def unique_in_organization(name: str) -> list[models.BaseConstraint]:
    """The real primary key, which `same_organization` refers to."""
    return [models.UniqueConstraint(fields=("organization", "id"), name=name)]
