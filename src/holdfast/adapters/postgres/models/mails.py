"""The texts of an organization's e-mails."""

from django.db import models

from holdfast.adapters.postgres.models.base import OrganizationRow


class MailTemplate(OrganizationRow):
    pk = models.CompositePrimaryKey("organization_id", "kind")
    kind = models.TextField()
    subject = models.TextField()
    body = models.TextField()
    version = models.IntegerField()
    updated_at = models.DateTimeField()

    class Meta(OrganizationRow.Meta):
        db_table = "mail_template"
