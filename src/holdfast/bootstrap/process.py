"""Prepares a server process right after the fork."""

import ctypes
import gc
import signal
import sys

from holdfast.bootstrap.logs import configure_logs
from holdfast.bootstrap.settings import Settings, load_settings

# How long a busy thread keeps the interpreter while others wait. Long reads and large orders
# compete with the engine's thread, which needs it some twenty times per hold.
SWITCH_SECONDS = 0.0005

_PR_SET_PDEATHSIG = 1


def prepare_process() -> Settings:
    """Call once in each server process."""
    _die_with_parent()
    settings = load_settings()
    configure_logs(settings)
    _settle_memory()
    sys.setswitchinterval(SWITCH_SECONDS)
    return settings


def _die_with_parent() -> None:
    """Have the kernel end this process gracefully when its parent ends, even if that was killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _settle_memory() -> None:
    """Collect young objects often and in small numbers, old ones rarely: loaded objects stay for
    ever, a hold leaves no reference cycles, and a collection stops every thread. Large orders and
    imports allocate hundreds of thousands of objects."""
    gc.freeze()
    gc.set_threshold(2_000, 5, 1_000)
