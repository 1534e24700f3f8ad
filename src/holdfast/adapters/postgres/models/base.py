"""What the models have in common: fields, organizations, and relations inside one of them."""

from typing import TYPE_CHECKING, Any, TypeVar

from django.db import models

from holdfast.domain.policy import POLICY_FIELDS

Target = TypeVar("Target", bound=models.Model)

if TYPE_CHECKING:  # Django's fields take their types in the stubs only
    WholeNumber = models.BigIntegerField[int, int]
    Number = models.FloatField[float, float]
else:
    WholeNumber = models.BigIntegerField
    Number = models.FloatField


class Xid8Field(WholeNumber):
    """The id of a transaction."""

    def db_type(self, connection: Any) -> str:
        return "xid8"

    def from_db_value(self, value: str | None, *_: object) -> int | None:
        return None if value is None else int(value)

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        """As text: a whole number cannot be compared with it."""
        return str(value) if isinstance(value, int) else value


class RealField(Number):
    """A number of half the usual precision: where a seat is drawn."""

    def db_type(self, connection: Any) -> str:
        return "real"


class Row(models.Model):
    """One row of a table. The only right that exists is the right to look."""

    class Meta:
        abstract = True
        managed = False
        default_permissions = ("view",)


class PolicyRow(Row):
    """A row that may say how its holds are to be; what is empty is left to the next wider one."""

    class Meta(Row.Meta):
        abstract = True


for _name, _field in POLICY_FIELDS.items():
    _column = models.BooleanField if _field.bounds is None else models.IntegerField
    PolicyRow.add_to_class(_name, _column(_field.label, null=True))


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
    """A relation inside one organization. It joins on both columns, because every index leads with
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
    """The true primary key, which the relations above refer to."""
    return [models.UniqueConstraint(fields=("organization", "id"), name=name)]
