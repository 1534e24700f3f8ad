"""What a stream keeps: everything that somebody has yet to read, and after a restart too."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from holdfast.adapters.embedded import EmbeddedValkey
from holdfast.adapters.redis import streams
from holdfast.adapters.redis.facts import ValkeyPublisher
from holdfast.adapters.redis.trimming import BOUND
from holdfast.bootstrap.demo.setup import DEMO_VARIABLES, start_services
from holdfast.bootstrap.settings import load_settings
from holdfast.ports.facts.deliveries import NOTIFICATIONS
from holdfast.ports.facts.log import Message
from tests.support.brokers import (
    BrokerAddress,
    BrokerUnderTest,
    Handling,
    new_message,
    running,
)
from tests.support.patience import wait_until

KEPT = 200


@pytest.fixture
def publisher(valkey_alone: BrokerUnderTest) -> Iterator[ValkeyPublisher]:
    with closing(ValkeyPublisher(valkey_alone.address.url, KEPT)) as publisher:
        yield publisher


def publish_others(publisher: ValkeyPublisher, count: int) -> None:
    """Of a type that our consumers pass over."""
    for _ in range(count // 100):
        publisher.publish([new_message("seat.held") for _ in range(100)])


def length(broker: BrokerUnderTest) -> int:
    with closing(streams.connect(broker.address.url)) as client:
        return int(client.xlen(streams.FACTS))


def join(broker: BrokerUnderTest, group: str = NOTIFICATIONS.queue) -> None:
    """As a consumer does that is away now."""
    with closing(streams.connect(broker.address.url)) as client:
        client.xgroup_create(streams.FACTS, group, id="0", mkstream=True)


def read_all(broker: BrokerUnderTest, *, unfinished: int = 0) -> None:
    """As a consumer of our group does that then goes away, with the first ones unfinished."""
    with closing(streams.connect(broker.address.url)) as client:
        wanted = {streams.FACTS: ">"}
        ((_, entries),) = client.xreadgroup(NOTIFICATIONS.queue, "gone", wanted)
        finished = [entry_id for entry_id, _ in entries[unfinished:]]
        client.xack(streams.FACTS, NOTIFICATIONS.queue, *finished)


class TestTrimming:
    def test_without_readers_the_newest_are_kept(
        self, valkey_alone: BrokerUnderTest, publisher: ValkeyPublisher
    ) -> None:
        publish_others(publisher, 10 * KEPT)
        assert KEPT <= length(valkey_alone) < 3 * KEPT

    def test_what_everybody_has_read_makes_room(
        self, valkey_alone: BrokerUnderTest, publisher: ValkeyPublisher
    ) -> None:
        join(valkey_alone)
        for _ in range(10):
            publish_others(publisher, KEPT)
            read_all(valkey_alone)
        assert KEPT <= length(valkey_alone) < 4 * KEPT

    def test_what_a_group_has_not_read_stays(
        self, valkey_alone: BrokerUnderTest, publisher: ValkeyPublisher
    ) -> None:
        join(valkey_alone)
        publisher.publish([message := new_message()])
        publish_others(publisher, 5 * KEPT)
        assert _handled(valkey_alone) == [message]

    def test_what_a_group_has_not_finished_stays(
        self, valkey_alone: BrokerUnderTest, publisher: ValkeyPublisher
    ) -> None:
        join(valkey_alone)
        publisher.publish([message := new_message()])
        publish_others(publisher, KEPT)
        read_all(valkey_alone, unfinished=1)
        publish_others(publisher, 5 * KEPT)
        assert _handled(valkey_alone) == [message]

    def test_one_group_that_is_quick_does_not_take_it_from_another(
        self, valkey_alone: BrokerUnderTest, publisher: ValkeyPublisher
    ) -> None:
        join(valkey_alone, "slow")
        join(valkey_alone)
        for _ in range(5):
            publish_others(publisher, KEPT)
            read_all(valkey_alone)
        assert length(valkey_alone) == 5 * KEPT

    def test_in_the_end_something_is_lost_and_told(
        self, valkey_alone: BrokerUnderTest, publisher: ValkeyPublisher
    ) -> None:
        join(valkey_alone, "nobody")
        with capture_logs() as lines:
            publish_others(publisher, BOUND * KEPT)
            assert lines == []
            publish_others(publisher, 2 * KEPT)
        kept = length(valkey_alone)
        assert BOUND * KEPT <= kept < (BOUND + 2) * KEPT
        assert {line["event"] for line in lines} == {"stream.lost"}
        assert {tuple(line["groups"]) for line in lines} == {("nobody",)}
        assert sum(line["messages"] for line in lines) == (BOUND + 2) * KEPT - kept


class TestRestarting:
    def test_the_broker_of_the_demo_forgets_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for variable in (*DEMO_VARIABLES, "REDIS_URL", "HOLDFAST_SECRET_KEY"):
            monkeypatch.setenv(variable, "")
        monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path))
        monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
        message = new_message()
        for is_first in (True, False):
            monkeypatch.setenv("REDIS_URL", "")
            with ExitStack() as stack:
                settings = start_services(load_settings(), stack, lambda _: None)
                assert settings.redis_url is not None
                address = BrokerAddress("valkey", settings.redis_url)
                if is_first:
                    address.publish([message])
                else:
                    assert address.published() == [message]

    @pytest.mark.parametrize(
        ("appendonly", "may_ask", "is_told"),
        [("no", True, True), ("yes", True, False), ("no", False, False)],
    )
    def test_a_broker_that_forgets_is_told_of(
        self, tmp_path: Path, appendonly: str, may_ask: bool, is_told: bool
    ) -> None:
        with EmbeddedValkey(tmp_path, settings={"appendonly": appendonly}) as valkey:
            if not may_ask:
                with closing(streams.connect(valkey.url)) as client:
                    client.acl_setuser("default", enabled=True, commands=["-config"])
            address, handling = BrokerAddress("valkey", valkey.url), Handling()
            with capture_logs() as lines, running(address.consumer(), handling):
                address.publish([message := new_message()])
                handling.wait_for(message)
        assert [line["event"] for line in lines] == ["broker.forgets"] * is_told


def _handled(broker: BrokerUnderTest) -> list[Message]:
    """What a consumer gets, up to one that is published now."""
    handling, last = Handling(), new_message()
    with running(broker.address.consumer(), handling):
        broker.address.publish([last])
        wait_until(lambda: last.id in handling.ids, "the last one comes")
        # What was abandoned is taken over as soon as it was idle for long enough.
        wait_until(lambda: len(handling.got) > 1, "the one before it comes")
    return [message for message in handling.got if message != last]
