"""Logs: one JSON object per line, and no e-mail address in any of them."""

import contextlib
import logging
import re
import sys
import threading
from collections.abc import Iterator
from select import PIPE_BUF
from typing import TextIO

import msgspec
import structlog

from holdfast.bootstrap.settings import Settings

# A word of a line: what no address contains ends it, and an escape of JSON is one letter of it.
_WORD = re.compile(r'(?:\\u[0-9a-f]{4}|\\[\\"]|[^\s"<>(),;:\\])+', re.IGNORECASE)
_encoder = msgspec.json.Encoder(enc_hook=repr)


def configure_logs(settings: Settings) -> None:
    """Ours and those of the libraries, in one format, on standard error."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    render: list[structlog.typing.Processor] = [_renderer(settings), redact_addresses]
    level = logging.getLevelNamesMapping()[settings.holdfast_log_level.upper()]
    structlog.configure(
        processors=[*shared, *render],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: _Lines(sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *render],
        )
    )
    logging.basicConfig(handlers=[handler], level=max(level, logging.WARNING), force=True)


class _Lines:
    """Writes lines. A log that cannot be written (its reader is gone, the disk is full) is no
    reason to stop selling tickets: the line is lost, and nothing else."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def msg(self, line: str) -> None:
        if _gathered.lines is None:
            self.write(line)
        else:
            _gathered.lines.append(line)

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text + "\n")
            self._stream.flush()

    debug = info = warning = error = critical = msg


class _Gathered(threading.local):
    """The lines that this thread will write at once."""

    lines: list[str] | None = None


_gathered = _Gathered()


@contextlib.contextmanager
def written_at_once() -> Iterator[None]:
    """What this thread logs in here is written at the end, with few system calls: in each of them
    it lets go of the interpreter lock, and has to wait until it gets it back."""
    lines: list[str] = []
    _gathered.lines = lines
    try:
        yield
    finally:
        _gathered.lines = None
        out = _Lines(sys.stderr)
        for text in _joined(lines):
            out.write(text)


def _joined(lines: list[str]) -> Iterator[str]:
    """As many lines at once as a pipe takes in one piece: what other processes write into the same
    one comes between the pieces."""
    piece: list[str] = []
    room = PIPE_BUF
    for line in lines:
        size = 1 + (len(line) if line.isascii() else len(line.encode()))
        if piece and size > room:
            yield "\n".join(piece)
            piece, room = [], PIPE_BUF
        piece.append(line)
        room -= size
    if piece:
        yield "\n".join(piece)


def _renderer(settings: Settings) -> structlog.typing.Processor:
    if settings.holdfast_log_format == "json":
        return _render_json
    return structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())


def _render_json(_logger: object, _method: str, event: structlog.typing.EventDict) -> str:
    return _encoder.encode(event).decode()


def redact_addresses(_logger: object, _method: str, line: object) -> str:
    """The last net: whatever was logged, in whatever field, an address in it loses its name."""
    text = str(line)
    if text.count("@") == text.count("***@"):  # nearly always
        return text
    return _WORD.sub(_without_name, text)


def _without_name(word: re.Match[str]) -> str:
    """Word by word is one pass over whatever strangers send; a pattern of an address would begin
    anew at each of their letters, and that takes seconds for a long one."""
    name, _, domain = word[0].rpartition("@")
    if not name:
        return word[0]
    first = name[0].replace("\\", "")
    return f"{first}***@{domain}"
