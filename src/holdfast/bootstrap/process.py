"""How a server process starts, right after it was forked."""

import ctypes
import gc
import signal
import sys

from holdfast.bootstrap.logs import configure_logs
from holdfast.bootstrap.settings import Settings, load_settings

# How long a thread that computes keeps the interpreter while others want it. Long reads and large
# orders compete with the engine's thread, which needs it some twenty times for a hold.
SWITCH_SECONDS = 0.0005

_PR_SET_PDEATHSIG = 1


def prepare_process() -> Settings:
    """Call it once in each server process."""
    _die_with_parent()
    settings = load_settings()
    configure_logs(settings)
    _settle_memory()
    sys.setswitchinterval(SWITCH_SECONDS)
    return settings


def _die_with_parent() -> None:
    """Have the kernel end this process, gracefully, when its parent is gone, even if that one was
    killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _settle_memory() -> None:
    """What is loaded by now stays for ever, and a hold leaves no circles behind: looking for them
    after every few hundred objects only takes time."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
