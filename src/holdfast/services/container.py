"""The dependencies of the API and the admin."""

from uuid import UUID

from holdfast.domain.immutable import immutable
from holdfast.ports.access import KeyStore
from holdfast.ports.audit.attempts import AttemptJournal
from holdfast.ports.audit.exports import ExportLog
from holdfast.ports.audit.reader import AuditReader
from holdfast.ports.catalog import AvailabilityReader, CatalogStore
from holdfast.ports.engine import SubmitForCallback
from holdfast.ports.facts.log import FactLog
from holdfast.ports.holds import HoldReader
from holdfast.ports.inventory.reservations import ReservationReader
from holdfast.ports.mails.requests import MailRequestStore
from holdfast.ports.mails.templates import MailTemplateStore
from holdfast.ports.members import MemberSessionStore, MemberStore, PasswordCheck
from holdfast.ports.orders import OrderReader
from holdfast.ports.organizations import OrganizationStore
from holdfast.ports.payments import DemoTill, PaymentProvider
from holdfast.ports.privacy.forgetting import ForgettingStore
from holdfast.ports.seats import SeatReader
from holdfast.ports.statistics import SaleStatisticsReader
from holdfast.services.access.authentication import Authenticator
from holdfast.services.access.rates.subjects import Rates
from holdfast.services.access.tokens import HolderAccess


@immutable(kw_only=True)
class ApiContainer:
    """`deadline_seconds` is the engine's; the API waits a little longer than that. `demo_till` is
    set only with the demo's payment provider.

    It lives with the services because bootstrap fills it and must not import entry points.
    """

    submit: SubmitForCallback
    holds: HoldReader
    catalog: CatalogStore
    availability: AvailabilityReader
    seats: SeatReader
    statistics: SaleStatisticsReader
    orders: OrderReader
    reservations: ReservationReader
    facts: FactLog
    audit: AuditReader
    attempts: AttemptJournal
    exports: ExportLog
    payments: PaymentProvider
    authenticator: Authenticator
    keys: KeyStore
    holders: HolderAccess
    organizations: OrganizationStore
    mail_templates: MailTemplateStore
    mail_requests: MailRequestStore
    rates: Rates
    forgetting: ForgettingStore
    members: MemberStore
    member_sessions: MemberSessionStore
    passwords: PasswordCheck
    deadline_seconds: int
    demo_till: DemoTill | None = None

    def forget_credential(self, credential_id: UUID) -> None:
        """This process asks again about the key or session, and about the tokens that a key has
        issued."""
        self.authenticator.forget(credential_id)
        self.holders.authenticator.forget(credential_id)
