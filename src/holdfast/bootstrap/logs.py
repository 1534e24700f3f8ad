"""Logs: one JSON object per line, without e-mail addresses and secrets."""

import contextlib
import logging
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from select import PIPE_BUF
from typing import TextIO
from uuid import UUID

import msgspec
import structlog

from holdfast.bootstrap.settings import Settings
from holdfast.domain.facts import iso

# A word of a log entry: it ends at characters that no address has; a JSON escape counts as one
# letter.
_WORD = re.compile(r'(?:\\u[0-9a-f]{4}|\\[\\"]|[^\s"<>(),;:\\])+', re.IGNORECASE)
# Keys, invitations, sessions and holder tokens, for instance in the path of a request.
_SECRET = re.compile(r"(h[kist]_)[A-Za-z0-9_-]{16,}")
_encoder = msgspec.json.Encoder(enc_hook=repr)
_log = structlog.get_logger()


def configure_logs(settings: Settings) -> None:
    """Write our logs and those of libraries to standard error, in one format."""
    configure_own_logs(settings)
    shared, render = _processors(settings)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *render],
        )
    )
    level = max(_level(settings), logging.WARNING)
    logging.basicConfig(handlers=[handler], level=level, force=True)


def configure_own_logs(settings: Settings) -> None:
    """Leave the logs of libraries to the program that we are a part of."""
    shared, render = _processors(settings)
    structlog.configure(
        processors=[*shared, *render],
        wrapper_class=structlog.make_filtering_bound_logger(_level(settings)),
        logger_factory=lambda *_: _Lines(sys.stderr),
        cache_logger_on_first_use=True,
    )


_Processors = list[structlog.typing.Processor]


def _processors(settings: Settings) -> tuple[_Processors, _Processors]:
    """Those of every entry, and those that write it."""
    shared: _Processors = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    if settings.holdfast_log_format == "json":
        return shared, [_render_json]
    return shared, [_redact_values, structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]


def _level(settings: Settings) -> int:
    return logging.getLevelNamesMapping()[settings.holdfast_log_level.upper()]


def _write(stream: TextIO, text: str) -> None:
    """An entry that cannot be written (broken pipe, full disk) is dropped: ticket sales go on."""
    with contextlib.suppress(OSError, ValueError):
        stream.write(text + "\n")
        stream.flush()


class _Lines:
    """The logger that structlog writes to."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def msg(self, line: str) -> None:
        _write(self._stream, line)

    debug = info = warning = error = critical = msg


def log_at_once(entries: Sequence[Mapping[str, object]]) -> None:
    """Log entries of one moment, at level info, with one time stamp and few system calls: each call
    releases the interpreter lock, and the thread has to wait to get it back. Logging them one by
    one took a tenth of the engine's time."""
    if not _log.is_enabled_for(logging.INFO):
        return
    if structlog.get_config()["processors"][-1] is not _render_json:
        for entry in entries:
            _log.info(**{name: _readable(value) for name, value in entry.items()})
        return
    common = {"level": "info", "timestamp": iso(datetime.now(UTC))}
    lines = [_render_json(None, "", {**entry, **common}) for entry in entries]
    for text in lines if len(lines) < 2 else _joined(lines):
        _write(sys.stderr, text)


def _readable(value: object) -> object:
    return str(value) if isinstance(value, UUID) else value


def _joined(lines: list[str]) -> Iterator[str]:
    """Join as many entries as a pipe takes atomically: other processes may write to it in
    between."""
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
    # nearly always
    if text.count("@") == text.count("***@") and _SECRET.search(text) is None:
        return text
    return redact(None, "", text)


def _redact_values(
    _logger: object, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """Before they are rendered: in `customer_email=ann@...` the name would be part of the
    address."""
    for name, value in event.items():
        text = value if isinstance(value, str) else repr(value)
        hidden = redact(None, "", text)
        if hidden != text:
            event[name] = hidden
    return event


def redact(_logger: object, _method: str, line: object) -> str:
    """Hide the name in every e-mail address, and every key, token and invitation, in any field."""
    return _SECRET.sub(r"\1***", _WORD.sub(_without_name, str(line)))


def _without_name(word: re.Match[str]) -> str:
    """Matching word by word takes one pass; a pattern for whole addresses would restart at each
    letter, which takes seconds for long input from strangers."""
    name, _, domain = word[0].rpartition("@")
    if not name:
        return word[0]
    first = name[0].replace("\\", "")
    return f"{first}***@{domain}"
