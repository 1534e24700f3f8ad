"""Refused attempts that wait to be written: a bounded number, with a fair share for each
organization, so that a flood of one evicts nothing of another."""

from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import replace
from threading import Lock

import msgspec

from holdfast.domain.ids import OrganizationId
from holdfast.ports.audit.attempts import FailedAttempt, Stranger

ATTEMPTS_KEPT_MAX = 10_000
# Requests with invalid keys or tokens, by credential and address. Further ones are only counted.
STRANGERS_KEPT_MAX = 1_000

_CredentialAndNetwork = tuple[bytes, str | None]
_encode = msgspec.json.Encoder().encode


class AttemptBuffer:
    """For any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._by_organization: OrderedDict[OrganizationId, deque[FailedAttempt]] = OrderedDict()
        self._count = 0
        self._dropped = 0

    def __len__(self) -> int:
        return self._count

    def add(self, attempt: FailedAttempt) -> None:
        with self._lock:
            own = self._by_organization.setdefault(attempt.organization_id, deque())
            own.append(attempt)
            self._count += 1
            if self._count > ATTEMPTS_KEPT_MAX:
                self._evict(own)

    def take(self, count: int) -> list[FailedAttempt]:
        """The oldest attempts of each organization in turn."""
        taken: list[FailedAttempt] = []
        with self._lock:
            while self._by_organization and len(taken) < count:
                organization_id, own = self._by_organization.popitem(last=False)
                taken.append(own.popleft())
                self._count -= 1
                if own:
                    self._by_organization[organization_id] = own
        return taken

    def put_back(self, attempts: Iterable[FailedAttempt]) -> None:
        """In the order in which they were taken."""
        with self._lock:
            for attempt in reversed(list(attempts)):
                own = self._by_organization.setdefault(attempt.organization_id, deque())
                own.appendleft(attempt)
                self._count += 1
            while self._count > ATTEMPTS_KEPT_MAX:
                self._evict(max(self._by_organization.values(), key=len))

    def dropped(self) -> int:
        """The number of attempts dropped since the last call."""
        with self._lock:
            dropped, self._dropped = self._dropped, 0
        return dropped

    def _evict(self, own: deque[FailedAttempt]) -> None:
        """Drop the oldest of the organization that has the most, which is nearly always `own`."""
        if len(own) * len(self._by_organization) < ATTEMPTS_KEPT_MAX:
            own = max(self._by_organization.values(), key=len)
        own.popleft()
        self._count -= 1
        self._dropped += 1


class StrangerBuffer:
    """One stranger for each credential and network; the others are counted. For any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._by_credential: dict[_CredentialAndNetwork, tuple[Stranger, int]] = {}
        self._uncounted = 0

    def add(self, stranger: Stranger) -> None:
        with self._lock:
            credential = stranger.credential
            if credential is None:
                self._uncounted += 1
                return
            key = (credential, stranger.network)
            known = self._by_credential.get(key)
            if known is None and len(self._by_credential) >= STRANGERS_KEPT_MAX:
                self._uncounted += 1
            else:
                first, times = known or (stranger, 0)
                self._by_credential[key] = (first, times + 1)

    def take(self) -> tuple[dict[_CredentialAndNetwork, tuple[Stranger, int]], int]:
        """The strangers by credential and network, with the number of their requests, and the
        number of the others."""
        with self._lock:
            taken, others = (self._by_credential, self._uncounted)
            self._by_credential, self._uncounted = {}, 0
        return taken, others


def folded(attempts: Iterable[FailedAttempt]) -> list[FailedAttempt]:
    """Equal attempts of one caller as one, with their number. The first gives the time and the
    request id."""
    first: dict[object, FailedAttempt] = {}
    for attempt in attempts:
        origin = attempt.origin
        key = (
            attempt.organization_id,
            (attempt.action, attempt.code),
            (attempt.hold_id, attempt.seat_id, attempt.catalog_id, attempt.key_id),
            attempt.order_id,
            attempt.asked,
            (origin.actor, origin.acting_user, origin.ip, origin.user_agent),
            _encode(attempt.details),
        )
        earlier = first.get(key)
        if earlier is None:
            first[key] = attempt
        else:
            first[key] = replace(earlier, times=earlier.times + attempt.times)
    return list(first.values())
