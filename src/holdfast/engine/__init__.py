"""Admission: commands queue up, are decided in groups, and commit together.

`Admission` is the door, `Limits` are its bounds, and `COMMANDS` is all that can be asked of it. The
rest of the package is private to it.
"""

from holdfast.domain.group.registry import COMMANDS
from holdfast.engine.admission import Admission
from holdfast.engine.limits import Limits

__all__ = ["COMMANDS", "Admission", "Limits"]
