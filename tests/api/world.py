"""The API over the real engine and an in-memory store, with a stub catalog."""

import asyncio
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID, uuid4

import httpx

from holdfast.adapters.payments import TrustingPayments
from holdfast.domain import refusals
from holdfast.domain.access.keys import ApiKey, KeyChange
from holdfast.domain.access.members import Grantor, Member, MemberChange
from holdfast.domain.access.rates import RateLimits
from holdfast.domain.access.scopes import ALL_SCOPES, Mode
from holdfast.domain.access.tokens import (
    HolderToken,
    IssueToken,
    RevokeTokens,
    TokensRevoked,
    revocation_keys,
)
from holdfast.domain.catalog.changes import CatalogChange, CreateEvent
from holdfast.domain.catalog.model import (
    Block,
    Event,
    Offer,
    Pool,
    PoolState,
    Session,
    SessionAvailability,
    SessionCatalog,
    TicketType,
)
from holdfast.domain.forgetting import Forgotten
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import (
    ApiKeyId,
    BlockId,
    CheckoutId,
    EventId,
    HoldId,
    MemberId,
    MemberSessionId,
    OrderId,
    OrganizationId,
    PoolId,
    SeatId,
    SessionId,
    TicketId,
    TicketTypeId,
)
from holdfast.domain.inventory.reservation import ReservationStatus
from holdfast.domain.mails.kinds import MailKind
from holdfast.domain.mails.resend import MailRequest
from holdfast.domain.mails.templates import MailTemplate
from holdfast.domain.orders.order import Order
from holdfast.domain.organizations import ChangeOrganization, Organization
from holdfast.domain.policy import HoldPolicy, PolicyOverride
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import Holder, Money
from holdfast.engine import Admission
from holdfast.entrypoints.api.app import Api, create_api
from holdfast.ports.access import KeyDirectory, KeyOutcome, Principal
from holdfast.ports.answers import StoredAnswer
from holdfast.ports.audit.attempts import FailedAttempt, Stranger
from holdfast.ports.audit.exports import Export
from holdfast.ports.audit.reader import AuditFilter, AuditPosition, AuditSlice
from holdfast.ports.catalog import CatalogAnswer, CatalogOutcome, EventFilter, SessionFilter
from holdfast.ports.facts.log import FactPage, Position
from holdfast.ports.mails.templates import ChangeMailText, MailText
from holdfast.ports.members import (
    Credentials,
    MemberOutcome,
    NewSession,
    OpenSession,
    Person,
    Refused,
)
from holdfast.ports.orders import OrderFilter, SeenCheckout
from holdfast.ports.organizations import OrganizationOutcome
from holdfast.ports.paging import Page, PageRequest
from holdfast.ports.seats import EventOccupancy, MapState, SeatChanges, SeenSeat, SessionMap
from holdfast.ports.statistics import SaleHistory
from holdfast.ports.store import StoreError
from holdfast.services.access.authentication import Authenticator, new_secret_key
from holdfast.services.access.origins import AllowedOrigins
from holdfast.services.access.rates.book import RateBook
from holdfast.services.access.rates.limiter import RateLimiter
from holdfast.services.access.rates.local import LocalRates
from holdfast.services.access.rates.subjects import Rates, Subjects
from holdfast.services.access.token_box import TokenBox
from holdfast.services.access.tokens import HolderAccess, token_authenticator
from holdfast.services.container import ApiContainer
from tests.support.memory.store import MemoryStore
from tests.support.patience import PATIENT

ORGANIZATION = OrganizationId(UUID("0198f1c0-0000-7000-8000-000000000001"))
EVENT = EventId(UUID("0198f1c0-0000-7000-8000-000000000002"))
SESSION = SessionId(UUID("0198f1c0-0000-7000-8000-000000000003"))
FLOOR = TicketTypeId(UUID("0198f1c0-0000-7000-8000-000000000004"))
BALCONY = TicketTypeId(UUID("0198f1c0-0000-7000-8000-000000000005"))
POOL = PoolId(UUID("0198f1c0-0000-7000-8000-000000000006"))
UNKNOWN = UUID("0198f1c0-0000-7000-8000-0000000000ff")
SECRET = "installation secret of the tests, long enough"
NOW = datetime(2026, 1, 15, 10, 20, tzinfo=UTC)

EVENT_ON_SALE = Event(EVENT, "Gala", "EUR", PolicyOverride(300, 8), NOW, NOW)


@dataclass
class StubKeys:
    principals: dict[bytes, Principal] = field(default_factory=dict)
    questions: int = 0

    def find(self, secret_hashes: Sequence[bytes]) -> Mapping[bytes, Principal]:
        self.questions += 1
        return {each: self.principals[each] for each in secret_hashes if each in self.principals}

    def new_key(self, *scopes: str, organization_id: OrganizationId = ORGANIZATION) -> str:
        secret, key = new_secret_key(Mode.TEST)
        principal = Principal(organization_id, key.key_id, frozenset(map(str, scopes)))
        self.principals[key.secret_hash] = principal
        return secret


def trusting(keys: KeyDirectory, **limits: Any) -> Authenticator:
    """An authenticator that would hear of every change."""
    authenticator = Authenticator(keys, **limits)
    authenticator.trust(math.inf)
    return authenticator


class StubKeyStore:
    """Knows no key."""

    def apply(
        self,
        change: KeyChange,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[KeyOutcome], bytes],
    ) -> StoredAnswer[KeyOutcome]:
        return StoredAnswer(refusals.key_not_found())

    def key(self, organization_id: OrganizationId, key_id: ApiKeyId) -> ApiKey | None:
        return None

    def keys(self, organization_id: OrganizationId, page: PageRequest) -> Page[ApiKey]:
        return Page((), None)


class StubMembers:
    """Knows nobody."""

    def apply(
        self,
        change: MemberChange,
        grantor: Grantor,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[MemberOutcome], bytes],
    ) -> StoredAnswer[MemberOutcome]:
        return StoredAnswer(refusals.member_not_found())

    def member(self, organization_id: OrganizationId, member_id: MemberId) -> Member | None:
        return None

    def members(self, organization_id: OrganizationId, page: PageRequest) -> Page[Member]:
        return Page((), None)

    def note(
        self,
        organization_ids: Collection[OrganizationId],
        action: str,
        origin: Origin,
        user_id: int,
        username: str,
    ) -> None: ...


class StubMemberSessions:
    def open(self, session: NewSession, origin: Origin) -> OpenSession | None:
        return None

    def close(
        self,
        organization_id: OrganizationId,
        session_ids: Sequence[MemberSessionId],
        origin: Origin,
    ) -> None: ...


class StubPasswords:
    def check(self, credentials: Credentials, address: str, user_agent: str) -> Person | Refused:
        return Refused(None, None)


OWN_ORGANIZATION = Organization(
    id=ORGANIZATION,
    mode=Mode.TEST,
    created_at=NOW,
    policy=PolicyOverride(),
    name="Test",
    time_zone="UTC",
)


@dataclass
class StubTokens:
    """Implements TokenDirectory and TokenStore: knows what was revoked, and who allows anonymous
    holders."""

    allows_anonymous: bool = False
    revoked: set[UUID] = field(default_factory=set)
    origins: dict[OrganizationId, frozenset[str]] = field(default_factory=dict)
    questions: int = 0

    def seconds_left(self, tokens: Sequence[HolderToken]) -> Mapping[UUID, float]:
        self.questions += 1
        left = {each.id: (each.expires_at - datetime.now(UTC)).total_seconds() for each in tokens}
        ended = {
            each.id for each in tokens if self.revoked.intersection(revocation_keys(each.holder))
        }
        return {id_: seconds for id_, seconds in left.items() if seconds > 0 and id_ not in ended}

    def allowed_origins(self) -> Mapping[OrganizationId, frozenset[str]]:
        return self.origins

    def issue(
        self,
        wanted: IssueToken,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[HolderToken | Refusal], bytes],
    ) -> StoredAnswer[HolderToken | Refusal]:
        return StoredAnswer(
            wanted.issued(datetime.now(UTC), allows_anonymous=self.allows_anonymous)
        )

    def revoke(
        self,
        change: RevokeTokens,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[TokensRevoked], bytes],
    ) -> StoredAnswer[TokensRevoked]:
        self.revoked.update(revocation_keys(change.holder))
        return StoredAnswer(TokensRevoked(datetime.now(UTC)))


class StubOrganizations:
    """Changes nothing."""

    def organization(self, organization_id: OrganizationId) -> Organization:
        return OWN_ORGANIZATION

    def apply(
        self,
        change: ChangeOrganization,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[OrganizationOutcome], bytes],
    ) -> StoredAnswer[OrganizationOutcome]:
        return StoredAnswer(OWN_ORGANIZATION)


class StubMailTemplates:
    """All texts are the built-in ones, and stay so."""

    def template(self, organization_id: OrganizationId, kind: MailKind) -> MailTemplate | None:
        return None

    def texts(self, organization_id: OrganizationId) -> Mapping[MailKind, MailText]:
        return {kind: MailText(kind) for kind in MailKind}

    def save(self, change: ChangeMailText, origin: Origin) -> bool:
        return True

    def apply(
        self,
        change: ChangeMailText,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[MailText], bytes],
    ) -> StoredAnswer[MailText]:
        return StoredAnswer(MailText(change.kind))


class StubMailRequests:
    def add(
        self, organization_id: OrganizationId, request: MailRequest, origin: Origin
    ) -> Refusal | None:
        return None


class StubRateLimits:
    """Nobody has any."""

    def all_limits(self) -> Mapping[OrganizationId, RateLimits]:
        return {}


@dataclass
class StubCatalog:
    """Knows one event, and records the requested changes."""

    changes: list[CatalogChange] = field(default_factory=list)
    keys: list[IdempotencyKey | None] = field(default_factory=list)
    error: StoreError | None = None
    unsettled: tuple[SessionId, ...] = ()

    def apply(
        self,
        change: CatalogChange,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[CatalogOutcome], bytes],
        seen: str | None = None,
    ) -> CatalogAnswer:
        if self.error:
            raise self.error
        self.changes.append(change)
        self.keys.append(idempotency)
        outcome: CatalogOutcome = EVENT_ON_SALE
        if not isinstance(change, CreateEvent):
            outcome = refusals.event_not_found()
        body = render(outcome) if idempotency else None
        return CatalogAnswer(outcome, body, unsettled=self.unsettled)

    def event(self, organization_id: OrganizationId, event_id: EventId) -> Event | None:
        return EVENT_ON_SALE if event_id == EVENT else None

    def events(
        self, organization_id: OrganizationId, only: EventFilter, page: PageRequest
    ) -> Page[Event]:
        return Page((EVENT_ON_SALE,), None)

    def session(self, organization_id: OrganizationId, session_id: SessionId) -> Session | None:
        return None

    def sessions(
        self, organization_id: OrganizationId, only: SessionFilter, page: PageRequest
    ) -> Page[Session]:
        return Page((), None)

    def pool(self, organization_id: OrganizationId, pool_id: PoolId) -> PoolState | None:
        return None

    def pools(
        self, organization_id: OrganizationId, session_id: SessionId | None, page: PageRequest
    ) -> Page[PoolState]:
        return Page((), None)

    def ticket_type(
        self, organization_id: OrganizationId, ticket_type_id: TicketTypeId
    ) -> TicketType | None:
        return None

    def ticket_types(
        self, organization_id: OrganizationId, session_id: SessionId | None, page: PageRequest
    ) -> Page[TicketType]:
        return Page((), None)

    def block(self, organization_id: OrganizationId, block_id: BlockId) -> Block | None:
        return None

    def blocks(
        self, organization_id: OrganizationId, session_id: SessionId | None, page: PageRequest
    ) -> Page[Block]:
        return Page((), None)

    def availability(
        self, organization_id: OrganizationId, session_id: SessionId
    ) -> SessionAvailability | None:
        return None


class StubSeats:
    """Knows no seats."""

    def seat(
        self, organization_id: OrganizationId, event_id: EventId, seat_id: SeatId
    ) -> SeenSeat | None:
        return None

    def has_event(self, organization_id: OrganizationId, event_id: EventId) -> bool:
        return event_id == EVENT

    def session_map(
        self, organization_id: OrganizationId, session_id: SessionId
    ) -> SessionMap | None:
        return None

    def map_state(self, organization_id: OrganizationId, session_id: SessionId) -> MapState | None:
        return None

    def seat_changes(
        self, organization_id: OrganizationId, session_id: SessionId, since: int
    ) -> SeatChanges | None:
        return None

    def occupancy(
        self, organization_id: OrganizationId, event_id: EventId
    ) -> EventOccupancy | None:
        return None


class StubStatistics:
    """Reports no sales."""

    def history(
        self, organization_id: OrganizationId, session_id: SessionId | None, hours: int
    ) -> SaleHistory:
        return SaleHistory(NOW, {})


@dataclass
class KeptOrders:
    """Orders kept in the in-memory store."""

    store: MemoryStore

    def checkout(
        self, organization_id: OrganizationId, checkout_id: CheckoutId
    ) -> SeenCheckout | None:
        checkout = self.store.checkouts.get((organization_id, checkout_id))
        if checkout is None:
            return None
        seen = [self.store.hold(organization_id, hold_id) for hold_id in checkout.hold_ids]
        holds = tuple(each.hold for each in seen if each is not None)
        return SeenCheckout(checkout, holds, holds[0].order_id, datetime.now(UTC))

    def order(self, organization_id: OrganizationId, order_id: OrderId) -> Order | None:
        return self.store.orders.get((organization_id, order_id))

    def tickets_with_code(
        self, organization_ids: Sequence[OrganizationId], code: str
    ) -> Sequence[tuple[OrganizationId, TicketId]]:
        return [
            (own, ticket.id)
            for (own, _), order in self.store.orders.items()
            for ticket in order.tickets
            if own in organization_ids and ticket.code == code
        ]

    def orders(
        self, organization_id: OrganizationId, only: OrderFilter, page: PageRequest
    ) -> Page[Order]:
        return Page(tuple(self.store.orders.values())[: page.size], None)


class StubFacts:
    """Has no facts."""

    def facts(
        self, organization_id: OrganizationId, after: Position | None, limit: int
    ) -> FactPage:
        return FactPage((), after or Position(0, 0), has_more=False)


class StubReservations:
    """The Hold Service has none."""

    def reservations(
        self,
        organization_id: OrganizationId,
        status: ReservationStatus | None,
        page: PageRequest,
    ) -> Page[Hold]:
        raise NotImplementedError

    def organizations_of(self, session_id: SessionId) -> tuple[OrganizationId, ...]:
        raise NotImplementedError


class StubExports:
    """Exports are made in the admin only."""

    def started(self, export: Export, origin: Origin) -> None:
        raise NotImplementedError

    def finished(self, export: Export, origin: Origin, rows: int, *, is_complete: bool) -> None:
        raise NotImplementedError


class StubAudit:
    """Has no entries."""

    def entries(
        self,
        organization_id: OrganizationId,
        only: AuditFilter,
        limit: int,
        before: AuditPosition | None = None,
    ) -> AuditSlice:
        return AuditSlice((), None)


@dataclass
class KeptAttempts:
    kept: list[FailedAttempt] = field(default_factory=list)

    strangers: list[Stranger] = field(default_factory=list)

    def failed(self, attempt: FailedAttempt) -> None:
        self.kept.append(attempt)

    def unauthorized(self, stranger: Stranger) -> None:
        self.strangers.append(stranger)


@dataclass
class StubForgetting:
    """Implements ForgettingStore: there is nobody to forget."""

    open: list[HoldId] = field(default_factory=list)

    def recorded(self, *_: object) -> None:
        return None

    def refuse_missing_secrets(self, _: OrganizationId) -> None:
        pass

    def open_holds(self, *_: object) -> Sequence[HoldId]:
        return self.open

    def forget_some(self, *_: object) -> Forgotten:
        return Forgotten()

    def record(
        self,
        organization_id: OrganizationId,
        forgotten: Forgotten,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[Forgotten | Refusal], bytes],
    ) -> StoredAnswer[Forgotten | Refusal]:
        return StoredAnswer(forgotten)


class World:
    """One organization and one session with two ticket types: plenty on the floor, one place on the
    balcony."""

    address = "127.0.0.1"  # of the client

    def __init__(
        self,
        catalog: StubCatalog | None = None,
        seats: StubSeats | None = None,
        limiter: RateLimiter | None = None,
    ) -> None:
        self.store = MemoryStore(lambda: datetime.now(UTC))
        self._put_on_sale()
        self.engine = Admission(self.store, PATIENT)
        self.engine.start()
        self.keys = StubKeys()
        self.catalog = catalog or StubCatalog()
        self.secret = self.keys.new_key(*ALL_SCOPES)
        self.attempts = KeptAttempts()
        self.rate_book = RateBook(StubRateLimits())
        self.tokens = StubTokens()
        self.box = TokenBox([SECRET])
        self.container = ApiContainer(
            submit=self.engine,
            holds=self.store,
            catalog=self.catalog,
            availability=self.catalog,
            seats=seats or StubSeats(),
            statistics=StubStatistics(),
            orders=KeptOrders(self.store),
            reservations=StubReservations(),
            facts=StubFacts(),
            audit=StubAudit(),
            attempts=self.attempts,
            exports=StubExports(),
            payments=TrustingPayments(),
            authenticator=trusting(self.keys),
            keys=StubKeyStore(),
            holders=self._holders(),
            organizations=StubOrganizations(),
            mail_templates=StubMailTemplates(),
            mail_requests=StubMailRequests(),
            rates=Rates(
                self.rate_book,
                limiter or RateLimiter(LocalRates()),
                Subjects("rates of tests"),
            ),
            forgetting=StubForgetting(),
            members=StubMembers(),
            member_sessions=StubMemberSessions(),
            passwords=StubPasswords(),
            deadline_seconds=5,
        )
        self.api: Api = create_api(self.container)

    def _holders(self) -> HolderAccess:
        authenticator = token_authenticator(self.box, self.tokens)
        authenticator.trust(math.inf)
        return HolderAccess(self.box, authenticator, self.tokens, AllowedOrigins(self.tokens))

    def token(self, holder: Holder | None = None, **claims: Any) -> str:
        """A token as the API issues it, with these claims."""
        now = datetime.now(UTC)
        made = HolderToken(
            id=uuid4(),
            organization_id=ORGANIZATION,
            mode=Mode.TEST,
            key_id=ApiKeyId(uuid4()),
            holder=holder or Holder(user_id="buyer-1"),
            issued_at=now,
            expires_at=now + timedelta(minutes=30),
        )
        return self.box.sealed(replace(made, **claims))

    def close(self) -> None:
        self.api.close()
        self.engine.stop()

    def call(
        self,
        method: str,
        path: str,
        *,
        secret: str | None = None,
        headers: Mapping[str, str | bytes] | None = None,
        **request: Any,
    ) -> httpx.Response:
        """Send one request, by default with a key that has every scope; "" sends none."""
        secret = self.secret if secret is None else secret
        sent: dict[str, str | bytes] = {"Authorization": f"Bearer {secret}"} if secret else {}
        sent |= headers or {}

        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.api, client=(self.address, 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://api") as client:
                # httpx also accepts bytes, for values that are not ASCII.
                return await client.request(method, path, headers=cast("Any", sent), **request)

        return asyncio.run(send())

    def place(self, **changes: Any) -> httpx.Response:
        """Hold two on the floor. A field set to None is left out."""
        headers = changes.pop("headers", None)
        body = hold_body(**changes)
        return self.call("POST", "/api/holds", json=body, headers=headers)

    def _put_on_sale(self) -> None:
        price = Money(4500, "EUR")
        small = PoolId(UUID(int=POOL.int + 1))
        offers = {
            FLOOR: Offer(price, (POOL,), HoldPolicy()),
            BALCONY: Offer(price, (small,), HoldPolicy()),
        }
        session = SessionCatalog(ORGANIZATION, SESSION, 1, "EUR", offers, EVENT)
        pools = [Pool(ORGANIZATION, POOL, 100_000), Pool(ORGANIZATION, small, 1)]
        self.store.put_on_sale(session, pools)


def hold_body(**changes: Any) -> dict[str, Any]:
    body = {
        "session_id": str(SESSION),
        "ticket_type_id": str(FLOOR),
        "quantity": 2,
        "customer_email": "user@example.com",
    }
    return {name: value for name, value in (body | changes).items() if value is not None}
