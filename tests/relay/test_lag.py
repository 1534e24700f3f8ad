"""The log tells operators when facts are late, and when the relay has caught up."""

import psycopg
from structlog.testing import capture_logs
from structlog.typing import EventDict

from holdfast.ports.facts.log import PublishFailed
from holdfast.services.facts.relay import Relay
from tests.relay.stage import Listed, Stage


def age_by_a_minute(stage: Stage) -> None:
    with psycopg.connect(stage.url) as connection:
        connection.execute("UPDATE outbox SET occurred_at = occurred_at - interval '1 minute'")


def lag_entries(relay: Relay) -> list[EventDict]:
    with capture_logs() as logs:
        relay.run_once()
    return [line for line in logs if line["event"] in {"relay.lags", "relay.caught_up"}]


def test_a_lag_is_logged_and_so_is_its_end(stage: Stage) -> None:
    is_broken = True

    def fail_while_broken(_: object) -> None:
        if is_broken:
            raise PublishFailed("the broker is away")

    with stage.relay(Listed([], fail_while_broken)) as relay:
        stage.place(1)
        assert lag_entries(relay) == [], "not late yet"
        age_by_a_minute(stage)
        (late,) = lag_entries(relay)
        assert (late["event"], late["waiting"], late["log_level"]) == ("relay.lags", 1, "warning")
        assert lag_entries(relay) == [], "once a minute is enough"
        is_broken = False
        assert lag_entries(relay) == [], "the facts of this run were still late"
        (caught_up,) = lag_entries(relay)
        assert (caught_up["event"], caught_up["waiting"]) == ("relay.caught_up", 0)
        assert lag_entries(relay) == []
