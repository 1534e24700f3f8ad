"""A scenario in a hall, with seats named by row and number: `A3`."""

import re
from dataclasses import dataclass
from typing import Any

from tests.e2e.halls import NamedHall, build_hall
from tests.features.scene import Scene, Sent
from tests.support.platform import Json

ROW_NAMES = "ABCDEFGH"
_QUOTED = re.compile(r'"([A-Z]\d+)"')


def names_in(text: str) -> list[str]:
    """The seats that a step names: `"A1", "A2"`."""
    return [f"Stalls {label[0]} {label[1:]}" for label in _QUOTED.findall(text)]


@dataclass
class HallScene:
    scene: Scene
    hall: NamedHall
    standing_id: str = ""

    def hold(self, names: list[str], **more: Any) -> None:
        self.ask(seat_ids=self.hall.seats(*names), **more)

    def best(self, quantity: int) -> None:
        self.ask(ticket_type_id=self.hall.ticket_type_id, quantity=quantity)

    def ask(self, **body: Any) -> None:
        number = len(self.scene.sent)
        sent = {"session_id": self.hall.session_id, "user_id": f"user-{number}"} | body
        self.scene.send("/api/holds", sent)

    def reserve(self, path: str, user_id: str) -> None:
        self.scene.repeat(Sent(f"{path}/reserve", {"user_id": user_id}, {}))

    def block(self, verb: str, seat_ids: list[str]) -> None:
        path = f"/api/sessions/{self.hall.session_id}/seats/{verb}"
        self.scene.send(path, {"seat_ids": seat_ids, "reason": "Camera"})

    def statuses(self, names: list[str]) -> set[str]:
        return {self.hall.status(name) for name in names}


def hall_scene(scene: Scene, rows: int, seats: int, event: Json | None = None) -> HallScene:
    layout = {"Stalls": dict.fromkeys(ROW_NAMES[:rows], seats)}
    return HallScene(scene, build_hall(scene.platform, rows=layout, event=event or {}))
