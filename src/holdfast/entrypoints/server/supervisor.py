"""The parent of the server processes: it starts them, replaces those that end, and stops them."""

import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Sequence

import structlog

# A process is replaced no sooner than this after it was started.
_SHORT_LIFE_SECONDS = 1.0
_STOP = frozenset({signal.SIGTERM, signal.SIGINT})
_SIGNALS = _STOP | {signal.SIGCHLD}

_log = structlog.get_logger("holdfast.server")

Serve = Callable[[socket.socket], None]


def supervise(serve: Serve, sockets: Sequence[socket.socket], stop_seconds: float) -> None:
    """Run one process per socket until SIGTERM or SIGINT. The parent keeps the sockets, so
    connections that arrive while a process is replaced wait for the new one."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        processes = _Processes(serve, sockets)
        while not processes.wait():
            processes.replace_ended()
        for each in sockets:
            each.close()  # from now on, clients cannot connect
        processes.stop(stop_seconds)
    finally:
        while signal.sigtimedwait(_SIGNALS, 0) is not None:
            pass  # a second signal to stop would interrupt the caller's clean-up
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Processes:
    """For each socket, its process and when that started."""

    def __init__(self, serve: Serve, sockets: Sequence[socket.socket]) -> None:
        self._serve = serve
        self._sockets = sockets
        self._pids: dict[socket.socket, int] = {}
        self._started: dict[socket.socket, float] = {}
        self.replace_ended()

    def wait(self) -> bool:
        """Wait until a process ends or is due to be replaced. Returns whether to stop."""
        missing = [each for each in self._sockets if each not in self._pids]
        if not missing:
            return signal.sigwait(_SIGNALS) in _STOP
        due = min(self._started[each] for each in missing) + _SHORT_LIFE_SECONDS
        received = signal.sigtimedwait(_SIGNALS, max(0.0, due - time.monotonic()))
        return received is not None and received.si_signo in _STOP

    def replace_ended(self) -> None:
        for pid in self._reap():
            _log.error("server.process_ended", pid=pid)
        now = time.monotonic()
        for each in self._sockets:
            last = self._started.get(each)
            if each in self._pids or (last is not None and now < last + _SHORT_LIFE_SECONDS):
                continue
            self._started[each] = now
            try:
                self._pids[each] = _fork(self._serve, each, self._sockets)
            except OSError as error:  # no memory, or too many processes: try again later
                _log.error("server.fork_failed", reason=error.strerror)

    def stop(self, stop_seconds: float) -> None:
        give_up_at = time.monotonic() + stop_seconds
        for pid in self._pids.values():
            os.kill(pid, signal.SIGTERM)
        while self._pids and (left := give_up_at - time.monotonic()) > 0:
            self._reap()
            if self._pids:
                signal.sigtimedwait({signal.SIGCHLD}, left)
        for pid in self._pids.values():
            _log.error("server.process_killed", pid=pid)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def _reap(self) -> list[int]:
        ended = {
            each: pid for each, pid in self._pids.items() if os.waitpid(pid, os.WNOHANG)[0] == pid
        }
        for each in ended:
            del self._pids[each]
        return list(ended.values())


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
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            # Skip the parent's exit handlers.
            os._exit(code)
