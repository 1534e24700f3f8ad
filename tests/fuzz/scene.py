"""An organization to fuzz: a sale, a hall, its credentials, and every id that the API has shown."""

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.support.people import PASSWORD, Staff, add_staff
from tests.support.platform import Json, Platform, new_platform
from tests.support.servers import RunningServer

REMEMBERED_MAX = 60
SEATS_SHOWN = 20
# How often each calls, relative to the others.
CALLERS = {"key": 12, "member": 4, "holder": 4}
BUYER = "user-4711"
# Beside the names that end in `_id`.
REFERENCES = {"cart_token", "reference", "next_cursor"}


@dataclass
class Scene:
    server: RunningServer
    random: Random
    platform: Platform = field(init=False)
    staff: Staff = field(init=False)
    secrets: dict[str, str] = field(default_factory=dict)
    # What belongs together: the ids of one seat, of one hold and so on, by name.
    remembered: deque[Mapping[str, str]] = field(
        default_factory=lambda: deque(maxlen=REMEMBERED_MAX)
    )
    seeded: list[Mapping[str, str]] = field(default_factory=list)
    is_spent: bool = False  # its key or its limits no longer let anything through

    def __post_init__(self) -> None:
        server = self.server
        self.platform = new_platform(server.base_url, server.database_url)
        organization_id = self.platform.organization_id
        self.staff = add_staff(server.database_url, organization_id, "owner")
        self.secrets["key"] = self.platform.secret_key
        self.seeded.append(self._credentials)
        sale, hall = self.platform.on_sale(500, 3), self.platform.hall(4, 10)
        of_sale = {"event_id": sale.event_id, "session_id": sale.session_id}
        for ticket_type_id in sale.ticket_type_ids:
            self.seeded += [of_sale | {"ticket_type_id": ticket_type_id}] * SEATS_SHOWN
        of_hall = {
            "event_id": hall.event_id,
            "session_id": hall.session_id,
            "block_id": hall.block_id,
            "ticket_type_id": hall.ticket_type_id,
        }
        for seat_id in self.random.sample(hall.seat_ids, SEATS_SHOWN):
            self.seeded.append(of_hall | {"seat_id": seat_id})

    @property
    def _credentials(self) -> Json:
        return {
            "organization_id": self.platform.organization_id,
            "username": self.staff.username,
            "password": PASSWORD,
        }

    def secret(self, caller: str) -> str:
        if caller not in self.secrets:
            made = self._signed_in() if caller == "member" else self._issued()
            self.secrets[caller] = made or self.platform.secret_key
        return self.secrets[caller]

    def _signed_in(self) -> str:
        answer = self.platform.client.post("/api/member-sessions", json=self._credentials)
        return str(answer.json().get("session_token", ""))

    def _issued(self) -> str:
        answer = self.platform.client.post("/api/holder-tokens", json={"user_id": BUYER})
        return str(answer.json().get("token", ""))

    def caller_of(self, is_for_holders: bool) -> str:
        """A token seldom calls what is not for tokens: it gets 403."""
        caller = self.random.choices([*CALLERS], [*CALLERS.values()])[0]
        if caller == "holder" and not is_for_holders and self.random.random() < 0.9:
            return "key"
        return caller

    def learn(self, answer: Any) -> None:
        """Remember every object in an answer by its ids."""
        if isinstance(answer, list):
            for each in answer[-10:]:
                self.learn(each)
        elif isinstance(answer, dict):
            ids = {name: value for name, value in answer.items() if _is_reference(name, value)}
            if ids:
                self.remembered.append(ids)
            for value in answer.values():
                self.learn(value)

    def known(self, names: Collection[str], like: Mapping[str, str]) -> Mapping[str, str]:
        """Ids that belong together, with as many of these names as possible, of the same session
        if possible."""
        session_id = like.get("session_id")
        best, most = list[Mapping[str, str]](), (0, False)
        for each in (*self.seeded, *self.remembered):
            if "password" in each and "password" not in names:
                continue  # new members are somebody else
            fit = (sum(name in each for name in names), each.get("session_id") == session_id)
            if fit[0] and fit >= most:
                best = [each] if fit > most else [*best, each]
                most = fit
        return self.random.choice(best) if best else {}

    def close(self) -> None:
        self.platform.client.close()


def _is_reference(name: str, value: object) -> bool:
    return isinstance(value, str) and (name.endswith("_id") or name in REFERENCES)
