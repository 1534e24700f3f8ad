"""Streams keep everything that a group has yet to read, also over a restart."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from holdfast.adapters.embedded import EmbeddedValkey
from holdfast.adapters.redis import streams
from holdfast.adapters.redis.facts import ValkeyPublisher
from holdfast.adapters.redis.retention import BOUND
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
    """Publish messages of a type that our consumers skip."""
    for _ in range(count // 100):
        publisher.publish([new_message("seat.held") for _ in range(100)])


def length(broker: BrokerUnderTest) -> int:
    with closing(streams.connect(broker.address.url)) as client:
        return int(client.xlen(streams.FACTS))


def join(broker: BrokerUnderTest, group: str = NOTIFICATIONS.queue) -> None:
    """Create the group of a consumer that is not running now."""
    with closing(streams.connect(broker.address.url)) as client:
        client.xgroup_create(streams.FACTS, group, id="0", mkstream=True)


def read_all(broker: BrokerUnderTest, *, unfinished: int = 0) -> None:
    """Read everything as a consumer that then disappears, leaving the first messages
    unacknowledged."""
    with closing(streams.connect(broker.address.url)) as client:
        wanted = {streams.FACTS: ">"}
        ((_, entries),) = client.xreadgroup(NOTIFICATIONS.queue, "gone", wanted)
        finished = [entry_id for entry_id, _ in entries[unfinished:]]
        client.xack(streams.FACTS, NOTIFICATIONS.queue, *finished)


class TestTrimming:
    def test_without_groups_only_the_newest_are_kept(
        self, valkey_alone: BrokerUnderTest, publisher: ValkeyPublisher
    ) -> None:
        publish_others(publisher, 10 * KEPT)
        assert KEPT <= length(valkey_alone) < 3 * KEPT

    def test_messages_that_every_group_has_read_are_trimmed(
        self, valkey_alone: BrokerUnderTest, publisher: ValkeyPublisher
    ) -> None:
        join(valkey_alone)
        for _ in range(10):
            publish_others(publisher, KEPT)
            read_all(valkey_alone)
        assert KEPT <= length(valkey_alone) < 4 * KEPT

    def test_unread_messages_are_kept(
        self, valkey_alone: BrokerUnderTest, publisher: ValkeyPublisher
    ) -> None:
        join(valkey_alone)
        publisher.publish([message := new_message()])
        publish_others(publisher, 5 * KEPT)
        assert _handled(valkey_alone) == [message]

    def test_unacknowledged_messages_are_kept(
        self, valkey_alone: BrokerUnderTest, publisher: ValkeyPublisher
    ) -> None:
        join(valkey_alone)
        publisher.publish([message := new_message()])
        publish_others(publisher, KEPT)
        read_all(valkey_alone, unfinished=1)
        publish_others(publisher, 5 * KEPT)
        assert _handled(valkey_alone) == [message]

    def test_a_fast_group_does_not_trim_messages_of_a_slow_one(
        self, valkey_alone: BrokerUnderTest, publisher: ValkeyPublisher
    ) -> None:
        join(valkey_alone, "slow")
        join(valkey_alone)
        for _ in range(5):
            publish_others(publisher, KEPT)
            read_all(valkey_alone)
        assert length(valkey_alone) == 5 * KEPT

    def test_messages_beyond_the_bound_are_trimmed_with_a_log_entry(
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
    def test_the_broker_of_the_demo_keeps_its_messages(
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
        ("appendonly", "may_ask", "is_logged"),
        [("no", True, True), ("yes", True, False), ("no", False, False)],
    )
    def test_a_broker_without_persistence_is_logged(
        self, tmp_path: Path, appendonly: str, may_ask: bool, is_logged: bool
    ) -> None:
        with EmbeddedValkey(tmp_path, settings={"appendonly": appendonly}) as valkey:
            if not may_ask:
                with closing(streams.connect(valkey.url)) as client:
                    client.acl_setuser("default", enabled=True, commands=["-config"])
            address, handling = BrokerAddress("valkey", valkey.url), Handling()
            with capture_logs() as lines, running(address.consumer(), handling):
                address.publish([message := new_message()])
                handling.wait_for(message)
        assert [line["event"] for line in lines] == ["broker.forgets"] * is_logged


def _handled(broker: BrokerUnderTest) -> list[Message]:
    """The messages a consumer gets, up to one published now."""
    handling, last = Handling(), new_message()
    with running(broker.address.consumer(), handling):
        broker.address.publish([last])
        wait_until(lambda: last.id in handling.ids, "the last one comes")
        # Abandoned messages are taken over once they were idle long enough.
        wait_until(lambda: len(handling.got) > 1, "the one before it comes")
    return [message for message in handling.got if message != last]
