"""Logs: one JSON object per line, and no e-mail address in any of them."""

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

from holdfast.bootstrap.settings import Settings

_ADDRESS = re.compile(r"([A-Za-z0-9.!#$%&'*+/=?^_`{|}~-])[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]*@(?=\w)")


def configure_logs(settings: Settings) -> None:
    """Ours and those of the libraries, in one format, on standard error."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        redact_addresses,
    ]
    renderer: structlog.typing.Processor
    if settings.holdfast_log_format == "json":
        renderer = structlog.processors.JSONRenderer()
    else:
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    level = logging.getLevelNamesMapping()[settings.holdfast_log_level.upper()]
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processor=renderer)
    )
    logging.basicConfig(handlers=[handler], level=max(level, logging.WARNING), force=True)


def redact_addresses(
    _logger: object, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """The last net: whatever was logged, an address in it loses its name."""
    for key, value in event.items():
        if isinstance(value, str) and "@" in value:
            event[key] = _ADDRESS.sub(r"\1***@", value)
    return event
