"""TLS to PostgreSQL, Redis and RabbitMQ: used if the URL asks for it, and only with a certificate
that is trusted and names the host."""

import ssl
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from holdfast.adapters.embedded import EmbeddedValkey
from holdfast.adapters.rabbitmq.connections import BROKER_ERRORS, connected
from tests.support.brokers import BrokerAddress
from tests.support.databases import server_url
from tests.support.patience import wait_until
from tests.support.platform import new_platform
from tests.support.rabbit import RabbitBroker
from tests.support.servers import RunningServer
from tests.support.tls import Certificate, TlsFront

HOST, OTHER_HOST = "localhost", "other.example"


def through(url: str, front: TlsFront, scheme: str, parameters: str = "") -> str:
    """The URL of the same service behind the front."""
    parts = urlsplit(url)
    login = f"{parts.username or ''}:{parts.password or ''}"
    return f"{scheme}://{login}@{HOST}:{front.port}{parts.path}{parameters}"


def verified(certificate: Certificate) -> str:
    return f"?sslmode=verify-full&sslrootcert={certificate.file}"


def is_published(broker: BrokerAddress, hold_id: bytes) -> bool:
    try:
        return any(hold_id in message.body for message in broker.published())
    except BROKER_ERRORS:
        return False  # the relay has not declared the queue yet


@pytest.fixture
def certificate(tmp_path: Path) -> Certificate:
    return Certificate.for_host(HOST, tmp_path)


@pytest.fixture
def trusted_certificate(certificate: Certificate) -> Certificate:
    return certificate


@pytest.fixture(autouse=True)
def trusted(trusted_certificate: Certificate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted_certificate.file))


@pytest.fixture
def postgres_front(database_url: str, certificate: Certificate) -> Iterator[TlsFront]:
    port = urlsplit(database_url).port
    assert port is not None
    with TlsFront(port, certificate, is_postgres=True) as front:
        yield front


@pytest.fixture
def rabbit_front(rabbit: RabbitBroker, certificate: Certificate) -> Iterator[TlsFront]:
    with TlsFront(rabbit.port, certificate) as front:
        yield front


@pytest.fixture
def valkey_front(valkey: EmbeddedValkey, certificate: Certificate) -> Iterator[TlsFront]:
    assert valkey.port is not None
    with TlsFront(valkey.port, certificate) as front:
        yield front


class TestServer:
    @pytest.fixture
    def vhost(self, rabbit: RabbitBroker) -> str:
        return rabbit.new_vhost()

    @pytest.fixture
    def brokers(
        self, vhost: str, rabbit_front: TlsFront, valkey: EmbeddedValkey, valkey_front: TlsFront
    ) -> dict[str, str]:
        return {
            "REDIS_URL": through(valkey.url, valkey_front, "rediss"),
            "AMQP_URL": through(vhost, rabbit_front, "amqps"),
        }

    @pytest.fixture
    def server(
        self,
        database_url: str,
        certificate: Certificate,
        postgres_front: TlsFront,
        brokers: dict[str, str],
        tmp_path: Path,
    ) -> Iterator[RunningServer]:
        login = server_url(database_url)
        url = through(login, postgres_front, "postgresql", verified(certificate))
        environment = {"DATABASE_URL": url, **brokers}
        with RunningServer(database_url, tmp_path / "log", environment) as running:
            yield running

    def test_a_hold_is_placed_and_published_over_tls_alone(
        self, server: RunningServer, vhost: str
    ) -> None:
        ready = httpx.get(f"{server.base_url}/readyz").json()
        assert set(ready["checks"].values()) == {"ok"}
        platform = new_platform(server.base_url, server.database_url)
        placed = platform.place(platform.on_sale(1))
        assert placed.status_code == 201
        hold_id, broker = placed.json()["hold_id"].encode(), BrokerAddress("rabbitmq", vhost)
        wait_until(lambda: is_published(broker, hold_id), "the hold is published")


class TestUntrusted:
    """The certificate names another host, or another one is trusted."""

    @pytest.fixture(params=[HOST, OTHER_HOST])
    def certificate(self, request: pytest.FixtureRequest, tmp_path: Path) -> Certificate:
        return Certificate.for_host(request.param, tmp_path)

    @pytest.fixture
    def trusted_certificate(self, certificate: Certificate, tmp_path: Path) -> Certificate:
        if OTHER_HOST in certificate.file.name:
            return certificate
        (tmp_path / "other").mkdir()
        return Certificate.for_host(HOST, tmp_path / "other")

    def test_rabbitmq_gets_no_password(self, rabbit: RabbitBroker, rabbit_front: TlsFront) -> None:
        url = through(rabbit.url, rabbit_front, "amqps")
        with pytest.raises((ssl.SSLCertVerificationError, *BROKER_ERRORS)), connected(url):
            pass

    def test_redis_is_reported_as_unreachable(
        self, database_url: str, valkey: EmbeddedValkey, valkey_front: TlsFront, tmp_path: Path
    ) -> None:
        environment = {"REDIS_URL": through(valkey.url, valkey_front, "rediss")}
        with RunningServer(database_url, tmp_path / "log", environment) as server:
            assert httpx.get(f"{server.base_url}/readyz").json()["checks"]["redis"] != "ok"

    def test_postgresql_is_not_used(
        self, database_url: str, postgres_front: TlsFront, trusted_certificate: Certificate
    ) -> None:
        url = through(database_url, postgres_front, "postgresql", verified(trusted_certificate))
        with pytest.raises(psycopg.OperationalError, match="certificate"):
            psycopg.connect(url)
