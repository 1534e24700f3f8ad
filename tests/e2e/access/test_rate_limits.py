"""Rate limits on real server processes that share a Valkey."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
import redis

from holdfast.adapters.embedded import EmbeddedValkey
from tests.features.test_rate_limits import limit_seats
from tests.support.patience import wait_until
from tests.support.platform import Platform, Sale, new_platform
from tests.support.servers import RunningServer

CROWD, CLIENTS, LIMIT = 1_000, 12, 10
BUYER = "canary.buyer@example.com"


@pytest.fixture
def valkey_alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedValkey]:
    with EmbeddedValkey(tmp_path_factory.mktemp("valkey")) as valkey:
        yield valkey


def crowd(
    platform: Platform, sale: Sale, during: Callable[[], None] = lambda: None
) -> Counter[int]:
    """One buyer sends all requests from many connections. A third of the way, something happens."""
    body = platform.hold_body(sale, 1, customer_email=BUYER)
    done = Counter[int]()
    lock, is_time = threading.Lock(), threading.Event()

    def send(share: int) -> None:
        with httpx.Client(
            base_url=platform.base_url, headers=platform.client.headers, timeout=60, verify=False
        ) as client:
            for _ in range(share):
                status = client.post("/api/holds", json=body).status_code
                with lock:
                    done[status] += 1
                    if done.total() == CROWD // 3:
                        is_time.set()

    def act() -> None:
        is_time.wait(60)
        during()

    with ThreadPoolExecutor(CLIENTS + 1) as threads:
        acting = threads.submit(act)
        shares = [CROWD // CLIENTS + (each < CROWD % CLIENTS) for each in range(CLIENTS)]
        list(threads.map(send, shares))
        acting.result()
    return done


def in_effect(platform: Platform, rate: str) -> None:
    """On every process: each connection may meet another one."""
    limit_seats(platform, rate)

    def is_everywhere() -> bool:
        answers = [
            httpx.get(
                f"{platform.base_url}/api/organization",
                headers=platform.client.headers,
                verify=False,
            )
            for _ in range(8)
        ]
        return all("RateLimit-Policy" in answer.headers for answer in answers)

    wait_until(is_everywhere, "the limit is in effect everywhere")


def test_two_processes_never_exceed_the_limit_together(
    fresh_database_url: str,
    valkey_alone: EmbeddedValkey,
    make_server: Callable[..., RunningServer],
) -> None:
    shared = {"REDIS_URL": valkey_alone.url, "HOLDFAST_PROCESSES": "2", "HOLDFAST_DUTIES": "none"}
    server = make_server(fresh_database_url, **shared).start()
    platform = new_platform(server.base_url, fresh_database_url)
    sale = platform.on_sale(1_000)
    in_effect(platform, f"{LIMIT}/300")
    assert crowd(platform, sale) == {201: LIMIT, 429: CROWD - LIMIT}
    assert platform.available(sale) == [1_000 - LIMIT]
    with redis.Redis.from_url(valkey_alone.url) as client:
        keys = [key.decode() for key in client.scan_iter()]
        contents = repr([client.hgetall(key) for key in keys])
    own = f"holdfast:{{org:{platform.organization_id}}}:rate:"
    assert any(key.startswith(f"{own}seats_per_holder:300:") for key in keys)
    assert all(key.startswith(own) for key in keys)
    for personal in (BUYER, "canary", "127.0.0.1", platform.secret_key):
        assert personal not in repr(keys) + contents


def test_a_killed_valkey_opens_no_gate_and_answers_no_error(
    fresh_database_url: str,
    valkey_alone: EmbeddedValkey,
    make_server: Callable[..., RunningServer],
) -> None:
    alone = {"REDIS_URL": valkey_alone.url, "HOLDFAST_DUTIES": "none"}
    server = make_server(fresh_database_url, **alone).start()
    platform = new_platform(server.base_url, fresh_database_url)
    sale = platform.on_sale(1_000)
    in_effect(platform, f"{LIMIT}/300")
    first = platform.place(sale, 4, customer_email=BUYER)
    assert first.status_code == 201
    done = crowd(platform, sale, valkey_alone.kill)
    assert done == {201: LIMIT - 4, 429: CROWD - LIMIT + 4}
    assert platform.available(sale) == [1_000 - LIMIT]


def test_limits_count_the_client_behind_a_trusted_proxy(
    fresh_database_url: str, make_server: Callable[..., RunningServer]
) -> None:
    server = make_server(
        fresh_database_url, HOLDFAST_TRUSTED_PROXIES="127.0.0.1", HOLDFAST_DUTIES="none"
    ).start()
    platform = new_platform(server.base_url, fresh_database_url)
    answer = platform.client.patch(
        "/api/organization", json={"rate_requests_per_address": "2/3600"}
    )
    assert answer.status_code == 200

    def ask(address: str) -> httpx.Response:
        return platform.client.get("/api/holds", headers={"X-Forwarded-For": address})

    wait_until(lambda: "RateLimit" in ask("198.51.100.1").headers, "the limit is in effect")
    statuses = [ask("198.51.100.2").status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    assert ask("198.51.100.3").status_code == 200
    audited = platform.client.get("/api/audit", headers={"X-Forwarded-For": "198.51.100.4"})
    assert audited.status_code == 200


def test_a_limit_that_is_too_low_can_be_raised_again(platform: Platform) -> None:
    def limit(rate: str | None) -> int:
        sent = {"rate_requests_per_key": rate}
        return platform.client.patch("/api/organization", json=sent).status_code

    assert limit("1/86400") == 200
    wait_until(lambda: platform.client.get("/api/holds").status_code == 429, "the limit counts")
    assert limit(None) == 200
    wait_until(lambda: platform.client.get("/api/holds").status_code == 200, "the limit is gone")
