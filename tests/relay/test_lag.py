"""An operator hears that facts are late, and that they no longer are."""

import psycopg
from structlog.testing import capture_logs
from structlog.typing import EventDict

from holdfast.ports.facts.log import PublishFailed
from holdfast.services.facts.relay import Relay
from tests.relay.stage import Listed, Stage


def put_back_by_a_minute(stage: Stage) -> None:
    with psycopg.connect(stage.url) as connection:
        connection.execute("UPDATE outbox SET occurred_at = occurred_at - interval '1 minute'")


def said(relay: Relay) -> list[EventDict]:
    with capture_logs() as logs:
        relay.run_once()
    return [line for line in logs if line["event"] in {"relay.lags", "relay.caught_up"}]


def test_a_lag_is_told_and_so_is_its_end(stage: Stage) -> None:
    is_broken = True

    def fail_while_broken(_: object) -> None:
        if is_broken:
            raise PublishFailed("the broker is away")

    with stage.relay(Listed([], fail_while_broken)) as relay:
        stage.place(1)
        assert said(relay) == [], "it waits, but not for long yet"
        put_back_by_a_minute(stage)
        (late,) = said(relay)
        assert (late["event"], late["waiting"], late["log_level"]) == ("relay.lags", 1, "warning")
        assert said(relay) == [], "once a minute is enough"
        is_broken = False
        assert said(relay) == [], "what it relays in this run, it has found late"
        (caught_up,) = said(relay)
        assert (caught_up["event"], caught_up["waiting"]) == ("relay.caught_up", 0)
        assert said(relay) == []
