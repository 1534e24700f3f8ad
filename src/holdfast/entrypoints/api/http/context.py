"""The dependencies of handlers."""

from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import UUID

from holdfast.domain.ids import SessionId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.entrypoints.api.access.rate_gate import RateGate
from holdfast.entrypoints.api.fairness.answers import EngineAnswers, FreshLookups, SharedLookups
from holdfast.entrypoints.api.fairness.calls import FairCalls
from holdfast.entrypoints.api.fairness.turns import ReadTurns
from holdfast.entrypoints.api.http.encodings import CodedEvent, CodedSession
from holdfast.entrypoints.api.http.exchange import Reply
from holdfast.ports.access import KeyStore
from holdfast.ports.audit.reader import AuditReader
from holdfast.ports.catalog import CatalogStore
from holdfast.ports.engine import Submit
from holdfast.ports.facts.log import FactLog
from holdfast.ports.holds import HoldReader
from holdfast.ports.inventory.reservations import ReservationReader
from holdfast.ports.mails.templates import MailTemplateStore
from holdfast.ports.members import MemberStore
from holdfast.ports.orders import OrderReader
from holdfast.ports.organizations import OrganizationStore
from holdfast.ports.payments import DemoTill
from holdfast.ports.privacy.forgetting import ForgettingStore
from holdfast.ports.seats import SeatReader
from holdfast.services.access.sign_in import FrontDesk
from holdfast.services.access.tokens import HolderAccess
from holdfast.services.catalog.session_events import SessionEvents
from holdfast.services.holds.statistics import CountedSale, StatisticsKey
from holdfast.services.orders.checkout import Cashier
from holdfast.services.seats import SeatFinder, SeatPath

if TYPE_CHECKING:  # a handler's module, which needs the context
    from holdfast.entrypoints.api.members.sessions import LogInThread


@immutable
class Context:
    engine: EngineAnswers
    rates: RateGate
    submit: Submit
    blocking: FairCalls
    large: FairCalls
    imports: FairCalls
    holds: HoldReader
    catalog: CatalogStore
    seats: SeatReader
    statistics: FreshLookups[StatisticsKey, CountedSale | Refusal]
    availabilities: FreshLookups[CodedSession, Reply | Refusal]
    occupancies: FreshLookups[CodedEvent, Reply | Refusal]
    orders: OrderReader
    reservations: ReservationReader
    facts: FactLog
    audit: AuditReader
    keys: KeyStore
    organizations: OrganizationStore
    mail_templates: MailTemplateStore
    holders: HolderAccess
    forgetting: ForgettingStore
    session_events: SessionEvents
    members: MemberStore
    front_desk: FrontDesk
    log_ins: "LogInThread"
    forget_credential: Callable[[UUID], None]
    cashier: Cashier
    demo_till: DemoTill | None
    seat_finder: SeatFinder
    seat_lookups: SharedLookups[SeatPath, SessionId | Refusal]
    maps: FreshLookups[CodedSession, Reply | Refusal]
    turns: ReadTurns
