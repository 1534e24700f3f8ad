"""Which events of a Python profile are function calls."""

from pathlib import Path
from types import FrameType

BENCH = f"{Path(__file__).parents[1]}/"


def is_call(frame: FrameType, event: str) -> bool:
    """A comprehension is part of its function; a resumed coroutine is no new call."""
    if event != "call":
        return False
    code = frame.f_code
    return code.co_code[frame.f_lasti + 1] == 0 and not code.co_name.endswith(("comp>", "genexpr>"))


def is_ours(frame: FrameType) -> bool:
    """Whether the bench itself calls."""
    return frame.f_code.co_filename.startswith(BENCH)
