"""Requests to send an e-mail again."""

from typing import Protocol

from holdfast.domain.group.origin import Origin
from holdfast.domain.ids import OrganizationId
from holdfast.domain.mails.resend import MailRequest
from holdfast.domain.refusal_codes import Refusal


class MailRequestStore(Protocol):
    """Every call blocks, and may raise StoreError."""

    def add(
        self, organization_id: OrganizationId, request: MailRequest, origin: Origin
    ) -> Refusal | None:
        """Publish the request as a fact, with its audit entry, in one transaction; one that is
        known changes nothing. Refuses more than RESENDS_MAX for one hold in RESENDS_SECONDS."""
        ...
