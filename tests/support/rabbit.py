"""A private RabbitMQ with virtual hosts for tests."""

import itertools
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from holdfast.adapters.embedded.rabbit import NODE, EmbeddedRabbit
from tests.support.debian import CACHE

# Generous: on a busy machine, a command of RabbitMQ takes half a minute to start.
CTL_SECONDS_MAX = 120.0
VHOSTS_AT_ONCE = 10
NEW_VHOSTS = """
[begin
    rabbit_vhost:add(Name, <<"test">>),
    rabbit_auth_backend_internal:set_permissions(
        <<"holdfast">>, Name, <<".*">>, <<".*">>, <<".*">>, <<"test">>)
 end || Name <- [%s]], ok.
"""


class RabbitBroker(EmbeddedRabbit):
    """Start it from the main thread: it ends with that thread."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, CACHE)
        self._vhosts: list[str] = []
        self._numbers: Iterator[int] = itertools.count(1)

    def url_of(self, vhost: str) -> str:
        return self._url(self.port, vhost)

    def kill(self) -> None:
        """Kill -9, as in a crash. Its helpers end with it."""
        if self.is_running:
            # For half a second RabbitMQ keeps the names of new quorum queues in memory only. A
            # crash within that time loses the queues, which is not under test.
            with suppress(AssertionError):
                self.ctl("eval", "[dets:sync(Table) || Table <- dets:all()].")
        self.kill_at_once()

    def kill_at_once(self) -> None:
        """Kill -9 without that precaution, when its queues are older."""
        super().kill()

    def restart(self) -> None:
        """Restart; the data survives."""
        self.stop()
        self.start()

    def ctl(self, *arguments: str) -> str:
        command = [str(self.installation.programs / "rabbitmqctl"), "--node", NODE, "--quiet"]
        done = subprocess.run(
            [*command, *arguments],
            env=dict(self._environment()),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=CTL_SECONDS_MAX,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def new_vhost(self) -> str:
        """The URL of an unused virtual host. Several are made at once: the command takes longer to
        start than to make them."""
        if not self._vhosts:
            names = [f"test-{next(self._numbers)}" for _ in range(VHOSTS_AT_ONCE)]
            self.ctl("eval", NEW_VHOSTS % ", ".join(f'<<"{name}">>' for name in names))
            self._vhosts = names[::-1]
        return self.url_of(self._vhosts.pop())
