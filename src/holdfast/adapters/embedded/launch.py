"""Starts one program so that it cannot outlive the process that asked for it.

This file is run by its path in an isolated interpreter (see `processes.py`), so it imports nothing
but the standard library and needs no search path:

    python -I -S launch.py --parent PID --death-signal NUMBER [options] -- program arguments

The kernel delivers the death signal when the THREAD that forked this process ends, not only when
its process does. Whoever starts the launcher must therefore do so from the main thread.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

# Exit codes the caller tells apart. They lie above those PostgreSQL and Valkey use themselves.
REFUSED_EXIT_CODE = 71
ORPHANED_EXIT_CODE = 72
UNREACHABLE_EXIT_CODE = 73
NOT_EXECUTABLE_EXIT_CODE = 126

_PR_SET_PDEATHSIG = 1
_CLONE_NEWUSER = 0x10000000


def parse(arguments: list[str]) -> argparse.Namespace:
    """Read the command line; identities are written as uid:gid."""
    parser = argparse.ArgumentParser(prog="launch.py", description=__doc__)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--death-signal", type=int, required=True)
    identity = parser.add_mutually_exclusive_group()
    identity.add_argument("--appear-as", type=_ids, help="enter a user namespace as this identity")
    identity.add_argument("--become", type=_ids, help="give up root for this identity")
    parser.add_argument("--writable", type=Path, help="give up unless this directory is writable")
    parser.add_argument("command", nargs="+")
    return parser.parse_args(arguments)


def _ids(text: str) -> tuple[int, int]:
    uid, gid = text.split(":")
    return int(uid), int(gid)


def enter_user_namespace(uid: int, gid: int) -> None:
    """Appear as uid:gid to this program only; outside it stays who it was, without its powers."""
    outer_uid, outer_gid = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWUSER) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    # The kernel accepts a group map from the process itself only after setgroups is given up.
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{uid} {outer_uid} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{gid} {outer_gid} 1", encoding="ascii")


def become(uid: int, gid: int) -> None:
    """Give up root for good; the user goes last, as without root the groups cannot change."""
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)


def die_with_parent(parent: int, death_signal: int) -> None:
    """Ask the kernel for the signal, then make sure the parent did not die before it was asked."""
    # A signal ignored or blocked by the parent would stay so in the program, until it sets its own.
    if death_signal != signal.SIGKILL:
        signal.signal(death_signal, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_PDEATHSIG, death_signal, 0, 0, 0) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    if os.getppid() != parent:
        sys.exit(ORPHANED_EXIT_CODE)


def give_up(message: str, exit_code: int) -> NoReturn:
    """Say why in the service's log, and end with a code the caller knows."""
    sys.stderr.write(f"launcher: {message}\n")
    sys.exit(exit_code)


def main(arguments: list[str]) -> None:
    """Change identity, bind this process to its parent, and turn into the program."""
    options = parse(arguments)
    try:
        if options.appear_as:
            enter_user_namespace(*options.appear_as)
        if options.become:
            become(*options.become)
    except OSError as error:
        give_up(f"this machine refuses the change of identity: {error}", REFUSED_EXIT_CODE)
    # Only now: a change of identity makes the kernel forget the death signal.
    die_with_parent(options.parent, options.death_signal)
    if options.writable and not os.access(options.writable, os.R_OK | os.W_OK | os.X_OK):
        give_up(f"{options.writable} is out of reach", UNREACHABLE_EXIT_CODE)
    os.umask(0o077)
    try:
        os.execv(options.command[0], options.command)  # noqa: S606 - a shell is what we avoid
    except OSError as error:
        give_up(f"cannot execute {options.command[0]}: {error}", NOT_EXECUTABLE_EXIT_CODE)


if __name__ == "__main__":
    main(sys.argv[1:])
