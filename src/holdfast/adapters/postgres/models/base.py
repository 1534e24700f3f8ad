"""Common fields and base classes, and relations within an organization."""

from typing import TYPE_CHECKING, Any, TypeVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from holdfast.domain.policy import POLICY_FIELDS

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

    class Meta(Row.Meta):
        abstract = True


for _name, _field in POLICY_FIELDS.items():
    _column = models.BooleanField if _field.bounds is None else models.IntegerField
    PolicyRow.add_to_class(_name, _column(_field.label, null=True))


class Organization(PolicyRow):
    id = models.UUIDField(primary_key=True)
    name = models.TextField()
    mode = models.TextField()
    account_id = models.UUIDField()
    time_zone = models.TextField()
    mail_name = models.TextField("sender name", null=True)
    mail_reply_to = models.TextField("reply-to address", null=True)
    mail_footer = models.TextField("e-mail footer", null=True)
    pay_url = models.TextField("payment page", null=True)
    cart_url = models.TextField("cart page", null=True)
    mail_when_expired = models.BooleanField("e-mail about expired holds", null=True)
    rate_seats_per_holder = models.TextField("seats per buyer", null=True)
    rate_requests_per_key = models.TextField("requests per key", null=True)
    rate_requests_per_holder = models.TextField("requests per buyer", null=True)
    rate_requests_per_address = models.TextField("requests per address", null=True)
    allowed_origins = ArrayField(models.TextField(), null=True)
    anonymous_holders = models.BooleanField(null=True)
    two_factor_required = models.BooleanField(null=True)
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


class HolderRow(OrganizationRow):
    """A row with a holder, whose address is sealed."""

    customer_email: "models.BinaryField[Any, Any]"

    class Meta(OrganizationRow.Meta):
        abstract = True

    @property
    def email(self) -> str | None:
        sealed = self.customer_email
        opened = settings.HOLDFAST_ADDRESSES.opened(
            self.organization_id, None if sealed is None else bytes(sealed)
        )
        if opened is None:
            return None
        return str(opened.value) if opened.is_readable else "(sealed with another secret)"


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
