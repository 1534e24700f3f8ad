"""The client's address behind proxies: from X-Forwarded-For, but only if the peer is trusted."""

import pytest
from starlette.types import Receive, Scope, Send

from holdfast.bootstrap.settings import Settings, SettingsError, load_settings
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.server.proxies import TrustedProxies
from tests.server.clients import hosting, on_the_loop

PROXIES = "10.0.0.0/8, 192.0.2.7, 2001:db8::/32"
PROXY = "10.1.2.3"


def client(peer: str, *forwarded: str, trusted: str = PROXIES) -> str:
    proxies = TrustedProxies(Settings(holdfast_trusted_proxies=trusted).trusted_proxies)
    headers = [(b"x-forwarded-for", each.encode("latin-1")) for each in forwarded]
    found = proxies.client((peer, 4711), [(b"host", b"api"), *headers])
    assert found is not None
    return found[0]


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        pytest.param("203.0.113.9", "198.51.100.1", "203.0.113.9", id="a peer nobody trusts"),
        pytest.param(PROXY, "198.51.100.1", "198.51.100.1", id="one proxy"),
        pytest.param(PROXY, "198.51.100.1, 192.0.2.7", "198.51.100.1", id="two proxies"),
        pytest.param(PROXY, "1.2.3.4, 198.51.100.1", "198.51.100.1", id="a lie in front"),
        pytest.param(PROXY, "10.9.9.9,198.51.100.1,192.0.2.7", "198.51.100.1", id="another lie"),
        pytest.param(PROXY, "10.0.0.1, 10.0.0.2", "10.0.0.1", id="only proxies"),
        pytest.param(PROXY, "", PROXY, id="an empty header"),
        pytest.param(PROXY, "unknown", PROXY, id="no address"),
        pytest.param(PROXY, "198.51.100.1, 999.1.1.1", PROXY, id="malformed at the end"),
        pytest.param(PROXY, "198.51.100.1, ", PROXY, id="empty at the end"),
        pytest.param(PROXY, "<script>, 198.51.100.1", "198.51.100.1", id="malformed in front"),
        pytest.param(PROXY, "198.51.100.1:443", PROXY, id="with a port"),
        pytest.param(PROXY, "\xff", PROXY, id="not ASCII"),
        pytest.param("2001:db8::1", "2001:DB8:0::2, 2a00::1", "2a00::1", id="IPv6"),
        pytest.param("::ffff:10.1.2.3", "::ffff:198.51.100.1", "198.51.100.1", id="IPv4 over IPv6"),
    ],
)
def test_the_client_is_the_first_from_the_right_that_is_no_proxy(
    peer: str, forwarded: str, expected: str
) -> None:
    assert client(peer, forwarded) == expected


def test_several_headers_are_one_list() -> None:
    assert client(PROXY, "1.2.3.4", "198.51.100.1", "10.0.0.1") == "198.51.100.1"


def test_without_the_header_the_proxy_itself_is_the_client() -> None:
    assert client(PROXY) == PROXY


@pytest.mark.parametrize("value", ["proxy.example.com", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0;"])
def test_an_invalid_list_of_proxies_stops_the_start(value: str) -> None:
    with pytest.raises(SettingsError, match="HOLDFAST_TRUSTED_PROXIES: must be IP addresses"):
        load_settings({"HOLDFAST_TRUSTED_PROXIES": value})


@on_the_loop
async def test_api_and_pages_see_the_same_client() -> None:
    async def api(call: Call, receive: Receive) -> Reply:
        call.actor = "key:1"
        return Reply(200, f"{call.address} {call.origin.ip}".encode())

    async def pages(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": scope["client"][0].encode()})

    trusted = Settings(holdfast_trusted_proxies="127.0.0.1").trusted_proxies
    request = "GET {} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 1.2.3.4, 198.51.100.1\r\n\r\n"
    for proxies, expected in ((TrustedProxies(trusted), "198.51.100.1"), (None, "127.0.0.1")):
        async with hosting(api, pages, proxies=proxies) as host:
            connection = await host.connect()
            connection.send(request.format("/api/x"))
            assert (await connection.response()).body == f"{expected} {expected}".encode()
            connection.send(request.format("/page"))
            assert (await connection.response()).body == expected.encode()
