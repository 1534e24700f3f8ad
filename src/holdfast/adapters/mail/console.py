"""Prints notices on the terminal, for trials."""

import sys
from typing import TextIO

from holdfast.ports.facts.notices import Notice

_WIDTH = 72


class ConsoleNotifier:
    """Implements Notifier. Addresses are redacted here too."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout

    def send(self, notice: Notice) -> None:
        rule = "-" * _WIDTH
        head = f"To:      {notice.to.redacted}\nSubject: {notice.subject}"
        # One write, because other threads print too.
        self._stream.write(f"{rule}\n{head}\n\n{notice.text}{rule}\n")
        self._stream.flush()
