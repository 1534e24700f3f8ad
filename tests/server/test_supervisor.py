"""The parent of the server processes."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from tests.support.patience import wait_until

PROGRAM = """
import os, signal, socket, sys, time
from holdfast.entrypoints.server.supervisor import supervise

def serve(listening):
    {before}
    listening.listen()
    os.write(1, b"%d\\n" % os.getpid())
    while True:
        connection, _ = listening.accept()
        connection.sendall(b"%d" % os.getpid())
        connection.close()

def listening():
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    made.bind(("127.0.0.1", {port}))
    return made

supervise(serve, [listening() for _ in range({count})], stop_seconds={stop_seconds})
print("over")
"""


@dataclass
class Parent:
    process: "subprocess.Popen[str]"
    port: int

    def next_line(self) -> str:
        """Without log entries."""
        assert self.process.stdout is not None
        return next(line.strip() for line in self.process.stdout if "server." not in line)

    def ask(self) -> int:
        """The process that answers."""
        with socket.create_connection(("127.0.0.1", self.port), 20) as connection:
            return int(connection.recv(100))

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)


@contextmanager
def running(count: int = 1, before: str = "pass", stop_seconds: float = 20) -> Iterator[Parent]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = PROGRAM.format(count=count, before=before, stop_seconds=stop_seconds, port=port)
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        yield Parent(process, port)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_all_processes(signal_number: signal.Signals) -> None:
    with running(count=3) as parent:
        pids = {int(parent.next_line()) for _ in range(3)}
        assert len(pids) == 3
        parent.process.send_signal(signal_number)
        assert parent.next_line() == "over"
        assert parent.process.wait(20) == 0
        assert not any(map(is_running, pids))


def test_a_process_that_ends_is_replaced_and_its_connections_wait() -> None:
    with running() as parent:
        first = int(parent.next_line())
        assert parent.ask() == first
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: not is_running(first), "the parent has noticed")
        # It has just been started, so it is not replaced at once.
        second = parent.ask()
        assert second == int(parent.next_line()) != first


def test_processes_that_end_at_once_are_not_replaced_in_a_tight_loop() -> None:
    with running(before="os.write(1, b'%d\\n' % os.getpid()); os._exit(3)") as parent:
        started = time.monotonic()
        pids = {parent.next_line() for _ in range(3)}
        assert len(pids) == 3
        assert time.monotonic() - started > 1.5


def test_a_process_that_does_not_stop_is_killed() -> None:
    before = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    with running(before=before, stop_seconds=0.5) as parent:
        pid = int(parent.next_line())
        parent.stop()
        assert parent.next_line() == "over"
        assert not is_running(pid)


def test_a_second_signal_does_not_interrupt_the_shutdown() -> None:
    before = "signal.signal(signal.SIGTERM, lambda *_: (time.sleep(1), os._exit(0)))"
    with running(before=before) as parent:
        parent.next_line()
        for _ in range(3):
            parent.stop()
            time.sleep(0.2)
        assert parent.next_line() == "over"
        assert parent.process.wait(20) == 0


def test_clients_cannot_connect_while_the_last_requests_are_answered() -> None:
    before = "signal.signal(signal.SIGTERM, lambda *_: (listening.close(), time.sleep(60)))"
    with running(before=before, stop_seconds=20) as parent:
        pid = int(parent.next_line())
        parent.stop()

        def is_refused() -> bool:
            try:
                socket.create_connection(("127.0.0.1", parent.port), 20).close()
            except ConnectionError:
                return True
            return False

        wait_until(is_refused, "the port is closed")
        assert is_running(pid)
