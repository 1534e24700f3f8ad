"""The engine: commands queue up, are decided in groups, and commit together.

`Admission` is the entry point, `Limits` its bounds, and `COMMANDS` lists what it accepts. The rest
of the package is private.
"""

from holdfast.domain.group.registry import COMMANDS
from holdfast.engine.admission import Admission
from holdfast.engine.limits import Limits

__all__ = ["COMMANDS", "Admission", "Limits"]
