"""Admission: commands queue up, are decided in groups, and commit together.

`Admission` is the door; `Limits` are its bounds. The rest of the package is private to it.
"""

from holdfast.engine.admission import Admission
from holdfast.engine.limits import Limits

__all__ = ["Admission", "Limits"]
