"""Each test has a sale on a database of its own, and a broker that nobody else uses."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.adapters.embedded import EmbeddedValkey
from holdfast.ports import deliveries
from tests.relay.stage import Stage, staged
from tests.support.brokers import BrokerAddress, BrokerUnderTest
from tests.support.rabbit import RabbitBroker


@pytest.fixture
def stage(fresh_database_url: str) -> Iterator[Stage]:
    with staged(fresh_database_url) as stage:
        yield stage


@pytest.fixture(params=["rabbitmq", "valkey"])
def broker(request: pytest.FixtureRequest) -> BrokerUnderTest:
    fixture = "rabbit_alone" if request.param == "rabbitmq" else "valkey_alone"
    under_test = request.getfixturevalue(fixture)
    assert isinstance(under_test, BrokerUnderTest)
    return under_test


@pytest.fixture
def rabbit_alone(rabbit: RabbitBroker) -> BrokerUnderTest:
    return BrokerUnderTest(BrokerAddress("rabbitmq", rabbit.new_vhost()), rabbit)


@pytest.fixture
def valkey_alone(tmp_path: Path) -> Iterator[BrokerUnderTest]:
    settings = {"appendonly": "yes", "appendfsync": "always"}
    with EmbeddedValkey(tmp_path / "valkey", settings=settings) as valkey:
        yield BrokerUnderTest(BrokerAddress("valkey", valkey.url), valkey)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No long pauses between two attempts."""
    monkeypatch.setattr(deliveries, "PAUSE_SECONDS_MAX", 0.05)
