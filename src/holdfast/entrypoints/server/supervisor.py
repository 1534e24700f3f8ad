"""The parent of the server processes: it starts them, replaces those that end, and stops them."""

import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Sequence

import structlog

# A process that ended sooner is replaced only after a pause.
_SHORT_LIFE_SECONDS = 1.0
_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGCHLD})

_log = structlog.get_logger("holdfast.server")

Serve = Callable[[socket.socket], None]


def supervise(serve: Serve, sockets: Sequence[socket.socket], stop_seconds: float) -> None:
    """Run one process per socket until SIGTERM or SIGINT. The parent keeps the sockets, so
    connections that arrive while a process is replaced wait for the new one."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        processes = {_fork(serve, each, sockets): each for each in sockets}
        started = time.monotonic()
        while signal.sigwait(_SIGNALS) == signal.SIGCHLD:
            for pid in _ended(processes):
                own = processes.pop(pid)
                _log.error("server.process_ended", pid=pid)
                time.sleep(max(0.0, started + _SHORT_LIFE_SECONDS - time.monotonic()))
                started = time.monotonic()
                processes[_fork(serve, own, sockets)] = own
        for each in sockets:
            each.close()  # from now on, clients cannot connect
        _stop(set(processes), stop_seconds)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _fork(serve: Serve, own: socket.socket, sockets: Sequence[socket.socket]) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        for other in sockets:
            if other is not own:
                other.close()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        serve(own)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # Nothing of the parent's may be cleaned up here.
        os._exit(code)


def _ended(processes: "dict[int, socket.socket]") -> list[int]:
    return [pid for pid in processes if os.waitpid(pid, os.WNOHANG)[0] == pid]


def _stop(pids: set[int], stop_seconds: float) -> None:
    give_up_at = time.monotonic() + stop_seconds
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    while pids and (left := give_up_at - time.monotonic()) > 0:
        pids -= {pid for pid in pids if os.waitpid(pid, os.WNOHANG)[0] == pid}
        if pids:
            signal.sigtimedwait({signal.SIGCHLD}, left)
    for pid in pids:
        _log.error("server.process_killed", pid=pid)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
