"""Starts a program that cannot outlive the process that requested it.

This file is run by its path in an isolated interpreter (see `processes.py`), so it imports only the
standard library:

    python -I -S launch.py --parent PID --death-signal NUMBER [options] -- program arguments

The kernel sends the death signal when the THREAD that forked this process ends, even if its process
lives on. Start the launcher from the main thread.
"""

import argparse
import ctypes
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

# Exit codes for the caller, above those that PostgreSQL and Valkey use.
REFUSED_EXIT_CODE = 71
ORPHANED_EXIT_CODE = 72
UNREACHABLE_EXIT_CODE = 73
NOT_EXECUTABLE_EXIT_CODE = 126

_PR_SET_PDEATHSIG = 1
_CLONE_NEWUSER = 0x10000000


def parse(arguments: list[str]) -> argparse.Namespace:
    """Parse the command line; identities are written as uid:gid."""
    parser = argparse.ArgumentParser(prog="launch.py", description=__doc__)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--death-signal", type=int, required=True)
    identity = parser.add_mutually_exclusive_group()
    identity.add_argument("--appear-as", type=_ids, help="enter a user namespace as this identity")
    identity.add_argument("--become", type=_ids, help="give up root for this identity")
    parser.add_argument("--writable", type=Path, help="fail unless this directory is writable")
    parser.add_argument("command", nargs="+")
    return parser.parse_args(arguments)


def _ids(text: str) -> tuple[int, int]:
    uid, gid = text.split(":")
    return int(uid), int(gid)


def enter_user_namespace(uid: int, gid: int) -> None:
    """Appear as uid:gid inside the namespace; outside, keep the identity but not its privileges."""
    outer_uid, outer_gid = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWUSER) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    # An unprivileged process may write its group map only after it has disabled setgroups.
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{uid} {outer_uid} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{gid} {outer_gid} 1", encoding="ascii")


def become(uid: int, gid: int) -> None:
    """Drop root for good; the user comes last, because changing groups needs root."""
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)


def die_with_parent(parent: int, death_signal: int) -> None:
    """Request the signal from the kernel, then check that the parent had not died before."""
    # The program would inherit signals that the parent ignores or blocks.
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
    """Write the reason to the service's log, and exit."""
    sys.stderr.write(f"launcher: {message}\n")
    sys.exit(exit_code)


def main(arguments: list[str]) -> None:
    """Change identity, bind this process to its parent, and execute the program."""
    options = parse(arguments)
    try:
        if options.appear_as:
            enter_user_namespace(*options.appear_as)
        if options.become:
            become(*options.become)
    except OSError as error:
        give_up(f"this machine refuses the change of identity: {error}", REFUSED_EXIT_CODE)
    # After the change of identity, which clears the death signal.
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
