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
    if settings.holdfast_log_format == "json":
        render: list[structlog.typing.Processor] = [_render_json]
    else:
        render = [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()), redact_addresses]
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


def _write(stream: TextIO, text: str) -> None:
    """A log entry that cannot be written (broken pipe, full disk) is lost: ticket sales go on."""
    with contextlib.suppress(OSError, ValueError):
        stream.write(text + "\n")
        stream.flush()


class _Lines:
    """The logger that structlog writes to."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def msg(self, line: str) -> None:
        if _gathered.lines is None:
            _write(self._stream, line)
        else:
            _gathered.lines.append(line)

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
        for text in lines if len(lines) < 2 else _joined(lines):
            _write(sys.stderr, text)


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


def _render_json(_logger: object, _method: str, event: structlog.typing.EventDict) -> str:
    text = _encoder.encode(event).decode()
    if text.count("@") == text.count("***@"):  # nearly always
        return text
    return redact_addresses(None, "", text)


def redact_addresses(_logger: object, _method: str, line: object) -> str:
    """Hide the name in every e-mail address, whichever field it was logged in."""
    return _WORD.sub(_without_name, str(line))


def _without_name(word: re.Match[str]) -> str:
    """Word by word is one pass over whatever strangers send; a pattern of an address would begin
    anew at each of their letters, and that takes seconds for a long one."""
    name, _, domain = word[0].rpartition("@")
    if not name:
        return word[0]
    first = name[0].replace("\\", "")
    return f"{first}***@{domain}"
