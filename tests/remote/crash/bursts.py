"""Many requests at once, in the middle of which something is killed."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from uuid import uuid4

from tests.remote.agreement import OURS, sides
from tests.remote.crash.buyers import Buyer
from tests.remote.layout import TwoServices
from tests.support.crowds import Crowd, Reply
from tests.support.patience import wait_until
from tests.support.platform import Json

OPERATIONS = ("create", "cancel", "convert", "expire")
HOLDS = 12  # of each operation
STOCK = 2 * HOLDS * len(OPERATIONS)
CLIENTS = 6
SEED = 7
Request = tuple[str, Json, str]


@dataclass
class Burst:
    """Each of its requests has a key, and is repeated until it succeeds."""

    services: TwoServices
    operations: Sequence[str]
    buyer: Buyer = field(init=False)
    lapsing: Buyer = field(init=False)
    requests: list[Request] = field(default_factory=list)
    _answered: list[Reply] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.buyer, self.lapsing = (Buyer(self.services, STOCK) for _ in range(2))
        for operation in self.operations:
            self.requests += [each for each in self._prepared(operation) if each]
        random.Random(SEED).shuffle(self.requests)

    def run(self, kill: Callable[[], None]) -> None:
        """Kill when some have been answered."""
        with ThreadPoolExecutor(1) as threads:
            sending = threads.submit(self._send_all)
            if "expire" in self.operations:
                self.lapsing.lets_it_lapse()
            wait_until(lambda: len(self._answered) >= len(self.requests) // 3, "some are answered")
            kill()
            sending.result()

    def finish(self) -> None:
        """Repeat each request until it has succeeded."""
        succeeded: set[str] = set()

        def is_done() -> bool:
            left = [each for each in self.requests if each[2] not in succeeded]
            crowd = Crowd(self.buyer.platform, CLIENTS)
            replies = crowd.spread(lambda request: crowd.post(*request), left)
            crowd.close()
            for request, reply in zip(left, replies, strict=True):
                assert reply.status in {0, 200, 201, 503}, reply.body
                if reply.status in {200, 201}:
                    succeeded.add(request[2])
            return len(succeeded) == len(self.requests)

        wait_until(is_done, "every request has succeeded")

    def assert_happened(self) -> None:
        """Each operation has had its effect once."""
        sessions = {self.buyer.sale.session_id, self.lapsing.sale.session_id}
        ours = sides(self.services.holds.database_url, OURS).values()
        found = Counter(side.status for side in ours if side.session_id in sessions)
        assert found["held"] == HOLDS * ("create" in self.operations)
        assert found["committed"] == HOLDS * ("convert" in self.operations)
        ended = HOLDS * len({"cancel", "expire"} & set(self.operations))
        assert found["released"] >= ended, "others have failed"

    def _prepared(self, operation: str) -> list[Request | None]:
        buyer = self.lapsing if operation == "expire" else self.buyer
        return [self._request(operation, buyer) for _ in range(HOLDS)]

    def _request(self, operation: str, buyer: Buyer) -> Request | None:
        key = uuid4().hex
        if operation == "create":
            return "/api/holds", buyer.platform.hold_body(buyer.sale, 2), key
        placed = buyer.places()
        assert placed.status == 201, placed.body
        match operation:
            case "cancel":
                return f"/api/holds/{buyer.hold_id}/release", {}, key
            case "convert":
                return f"/api/holds/{buyer.hold_id}/confirm", {"payment_reference": key}, key
        return None  # time ends it

    def _send_all(self) -> None:
        crowd = Crowd(self.buyer.platform, CLIENTS)

        def send(request: Request) -> Reply:
            reply = crowd.post(*request)
            self._answered.append(reply)
            return reply

        crowd.spread(send, self.requests)
        crowd.close()
