"""The API as one ASGI application."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from holdfast.domain.refusal_codes import Refusal
from holdfast.entrypoints.api.access.authentication import Bearer, Tokens
from holdfast.entrypoints.api.access.cors import Cors
from holdfast.entrypoints.api.access.key_lookups import KeyLookups
from holdfast.entrypoints.api.access.password_turns import PasswordTurns
from holdfast.entrypoints.api.access.rate_gate import RateGate
from holdfast.entrypoints.api.access.tarpit import Tarpit
from holdfast.entrypoints.api.catalog.answers import availability_answer
from holdfast.entrypoints.api.fairness.answers import (
    GRACE_SECONDS,
    EngineAnswers,
    FreshLookups,
    SharedLookups,
)
from holdfast.entrypoints.api.fairness.calls import (
    IMPORTS,
    LARGE_READS,
    READS,
    REMOTE_READS,
    FairCalls,
)
from holdfast.entrypoints.api.fairness.turns import ReadTurns
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.encodings import CodedSession
from holdfast.entrypoints.api.http.exchange import Reply
from holdfast.entrypoints.api.http.replies import size_of
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.http.routing import Edge, Router
from holdfast.entrypoints.api.lookups import shared_reply
from holdfast.entrypoints.api.members.sessions import LogInThread
from holdfast.entrypoints.api.openapi.page import documents
from holdfast.entrypoints.api.orders.routes import DEMO_ROUTES
from holdfast.entrypoints.api.routes import ROUTES
from holdfast.entrypoints.api.seats.maps import MapWriter
from holdfast.entrypoints.api.seats.occupancy_answers import occupancy_answer
from holdfast.services import reads
from holdfast.services.access.sign_in import FrontDesk
from holdfast.services.catalog.session_events import SessionEvents
from holdfast.services.container import ApiContainer
from holdfast.services.holds.statistics import SaleCounter
from holdfast.services.orders.checkout import Cashier
from holdfast.services.seats import SeatFinder


class Api(Edge):
    """Serves whole paths (`/api/...`), so it can be mounted there or stand alone. It uses one
    event loop at a time; the owner of the lifespan calls `close` at its end."""

    def __init__(
        self,
        container: ApiContainer,
        turns_of_passwords: PasswordTurns,
        routes: Sequence[Route[Any]],
        *,
        prefix: str = "/api",
        tarpit: Tarpit | None = None,
    ) -> None:
        bound_seconds = container.deadline_seconds + GRACE_SECONDS
        turns = ReadTurns()
        self._reads = FairCalls("holdfast-read", READS, bound_seconds, turns)
        self._large_reads = FairCalls("holdfast-large-read", LARGE_READS, bound_seconds, turns)
        self._remote_reads = FairCalls("holdfast-remote-read", REMOTE_READS, bound_seconds, turns)
        self._imports = FairCalls("holdfast-import", IMPORTS, bound_seconds, turns)
        self._log_ins = LogInThread(turns_of_passwords)
        engine = EngineAnswers(container.submit, bound_seconds)
        self._limiter = container.rates.limiter
        context = self._context(container, engine, turns)
        holders = container.holders
        self._key_lookups = KeyLookups(container.authenticator, bound_seconds)
        self._token_lookups = KeyLookups(holders.authenticator, bound_seconds, "tokens")
        tokens, cors = Tokens(holders, self._token_lookups), Cors(holders.origins)
        self.bearer = Bearer(container.authenticator, self._key_lookups, tokens, tarpit or Tarpit())
        router = Router(routes, context, self.bearer, documents(routes, prefix), cors)
        super().__init__(router, container.attempts, cors, prefix)

    def _context(self, container: ApiContainer, engine: EngineAnswers, turns: ReadTurns) -> Context:
        seat_finder = SeatFinder(container.seats)
        return Context(
            engine=engine,
            rates=RateGate(
                container.rates, engine, container.attempts, self._reads, container.holds
            ),
            submit=container.submit,
            blocking=self._reads,
            large=self._large_reads,
            imports=self._imports,
            holds=container.holds,
            catalog=container.catalog,
            seats=container.seats,
            statistics=FreshLookups(
                self._large_reads.run_by_key,
                SaleCounter(container.catalog, container.holds, container.statistics).count,
                turns,
            ),
            availabilities=self._availabilities(container, turns),
            occupancies=FreshLookups(
                self._large_reads.run_by_key,
                partial(shared_reply, reads.occupancy, container.seats, occupancy_answer),
                turns,
                size_of,
            ),
            orders=container.orders,
            reservations=container.reservations,
            facts=container.facts,
            audit=container.audit,
            keys=container.keys,
            organizations=container.organizations,
            mail_templates=container.mail_templates,
            holders=container.holders,
            forgetting=container.forgetting,
            session_events=SessionEvents(container.catalog),
            members=container.members,
            front_desk=FrontDesk(container.passwords, container.members, container.member_sessions),
            log_ins=self._log_ins,
            forget_credential=container.forget_credential,
            cashier=Cashier(
                container.holds, container.orders, container.payments, container.attempts
            ),
            demo_till=container.demo_till,
            seat_finder=seat_finder,
            seat_lookups=SharedLookups(self._reads.run_by_key, seat_finder.find),
            maps=FreshLookups(
                self._large_reads.run_by_key, MapWriter(container.seats).write, turns, size_of
            ),
            turns=turns,
        )

    def _availabilities(
        self, container: ApiContainer, turns: ReadTurns
    ) -> FreshLookups[CodedSession, Reply | Refusal]:
        """Another service's inventory may be slow, which delays no other reads."""
        is_remote = container.availability is not container.catalog
        calls = self._remote_reads if is_remote else self._reads
        look = partial(
            shared_reply, reads.availability, container.availability, availability_answer
        )
        return FreshLookups(calls.run_by_key, look, turns, size_of)

    def close(self) -> None:
        for calls in (self._reads, self._large_reads, self._remote_reads, self._imports):
            calls.close()
        self._limiter.close()
        for lookups in (self._key_lookups, self._token_lookups):
            lookups.close()
        self._log_ins.close()


def create_api(
    container: ApiContainer,
    turns_of_passwords: PasswordTurns | None = None,
    tarpit: Tarpit | None = None,
) -> Api:
    """The admin pages of the same process share `turns_of_passwords`."""
    routes = ROUTES if container.demo_till is None else (*ROUTES, *DEMO_ROUTES)
    return Api(container, turns_of_passwords or PasswordTurns(), routes, tarpit=tarpit)
