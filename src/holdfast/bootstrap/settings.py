"""Configuration by environment variables. Every default is safe; a wrong value stops the start
with one line that names the variable."""

import os
from collections.abc import Mapping
from email.errors import MessageError
from email.headerregistry import Address
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
import psycopg
from msgspec import Meta
from psycopg.conninfo import conninfo_to_dict
from redis.connection import parse_url


class SettingsError(Exception):
    """One clear line that names the variable and says what it takes."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Each field is read from the variable of its name, in capitals."""

    database_url: Annotated[
        str | None,
        Meta(description="PostgreSQL 15 or newer. Unset, `holdfast demo` starts an embedded one."),
    ] = None
    holdfast_owner_database_url: Annotated[
        str | None,
        Meta(
            description="How `migrate` and `create-organization` connect, where DATABASE_URL is a "
            "login that does not own the tables. Unset, they use DATABASE_URL."
        ),
    ] = None
    redis_url: Annotated[
        str | None,
        Meta(description="Redis or Valkey. It is only ever a hint: Holdfast works without it."),
    ] = None
    amqp_url: Annotated[
        str | None,
        Meta(
            description="RabbitMQ 3.10 or newer: facts are published there, orders are read from "
            "there, and Celery works through it. Unset, facts go to Redis where there is one."
        ),
    ] = None
    holdfast_home: Annotated[
        str, Meta(description="Where the embedded services keep their data.", min_length=1)
    ] = ".holdfast"
    holdfast_host: Annotated[str, Meta(description="The address to listen on.", min_length=1)] = (
        "127.0.0.1"
    )
    holdfast_port: Annotated[int, Meta(description="The port to listen on.", ge=1, le=65535)] = 8000
    holdfast_processes: Annotated[
        int, Meta(description="How many server processes share the port.", ge=1, le=64)
    ] = 1
    holdfast_secret_key: Annotated[
        Annotated[str, Meta(min_length=32)] | None,
        Meta(
            description="Signs the log-in cookies of the admin pages, and keys the hash by which "
            "facts tell holders apart. Unset, a random one is made at each start, so people have "
            "to log in again after a restart. Set it for several processes."
        ),
    ] = None
    holdfast_allowed_hosts: Annotated[
        str,
        Meta(description="Host names that the pages answer to, separated by commas.", min_length=1),
    ] = "127.0.0.1,localhost,[::1]"
    holdfast_log_format: Annotated[
        Literal["json", "console"], Meta(description="`json` for machines, `console` for people.")
    ] = "json"
    holdfast_log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(description="The least level that is logged."),
    ] = "info"
    holdfast_queue_max: Annotated[
        int,
        Meta(
            description="How many commands may wait for the engine; one more is refused at once "
            "with 503. One organization may fill three quarters of it.",
            ge=4,
            le=1_000_000,
        ),
    ] = 4096
    holdfast_group_max: Annotated[
        int, Meta(description="How many commands one transaction may carry.", ge=1, le=1024)
    ] = 128
    holdfast_deadline_seconds: Annotated[
        int,
        Meta(
            description="A command that could not be decided within this time is refused with 503.",
            ge=1,
            le=60,
        ),
    ] = 5
    holdfast_drain_seconds: Annotated[
        int,
        Meta(
            description="At shutdown: how long to go on answering what is already queued.",
            ge=0,
            le=300,
        ),
    ] = 10
    holdfast_duties: Annotated[
        Literal["threads", "none"],
        Meta(
            description="`threads`: the server does the background duties itself. `none`: "
            "`holdfast release-expired --watch`, `worker`, `relay` and `consume` do them."
        ),
    ] = "threads"
    holdfast_reaper_seconds: Annotated[
        int,
        Meta(
            description="The reaper wakes when the next hold is due, and at least this often.",
            ge=1,
            le=3600,
        ),
    ] = 1
    holdfast_reaper_beat_seconds: Annotated[
        int,
        Meta(
            description="How often Celery Beat sends a reaper, as a backstop.",
            ge=1,
            le=3600,
        ),
    ] = 30
    holdfast_promoter_seconds: Annotated[
        float,
        Meta(
            description="How often the promoter looks for lines that nobody could finish yet.",
            ge=0.05,
            le=3600,
        ),
    ] = 0.5
    holdfast_grace_seconds: Annotated[
        int,
        Meta(
            description="A hold that is still active this long after its end counts as an orphan "
            "in `holdfast audit`.",
            ge=1,
            le=86400,
        ),
    ] = 120
    holdfast_audit_minutes: Annotated[
        int,
        Meta(
            description="How often the books are audited in the background; 0: never.",
            ge=0,
            le=10_080,
        ),
    ] = 60
    holdfast_facts_queue: Annotated[
        str,
        Meta(
            description="The queue on RabbitMQ that gets every fact. `none`: no such queue; then "
            "facts that no other queue is bound to wait in the outbox.",
            min_length=1,
        ),
    ] = "holdfast.facts"
    holdfast_facts_kept_days: Annotated[
        int, Meta(description="How long facts that were relayed can be polled.", ge=1, le=3650)
    ] = 30
    holdfast_receipts_kept_days: Annotated[
        int,
        Meta(description="How long a message that comes again is recognized.", ge=1, le=3650),
    ] = 30
    holdfast_notifier: Annotated[
        Literal["none", "console", "smtp"],
        Meta(description="How buyers are told of a confirmed order and of a hold about to end."),
    ] = "none"
    holdfast_smtp_url: Annotated[
        str | None,
        Meta(
            description="The mail server: `smtp://user:password@host:587` (STARTTLS where it is "
            "offered) or `smtps://...`."
        ),
    ] = None
    holdfast_mail_from: Annotated[
        str, Meta(description="The sender of those mails.", min_length=3)
    ] = "tickets@localhost"
    holdfast_payments: Annotated[
        Literal["trust", "demo"],
        Meta(
            description="`trust`: who has a secret key and says that it was paid, is believed. "
            "`demo`: only payments of the demo provider count."
        ),
    ] = "trust"
    holdfast_answers_kept_hours: Annotated[
        int, Meta(description="How long the answer to an idempotency key is kept.", ge=24, le=8760)
    ] = 24

    @property
    def owner_url(self) -> str | None:
        return self.holdfast_owner_database_url or self.database_url

    @property
    def broker(self) -> str | None:
        """What carries facts and messages: RabbitMQ where there is one."""
        if self.amqp_url is not None:
            return "rabbitmq"
        return None if self.redis_url is None else "redis"

    @property
    def home(self) -> Path:
        return Path(self.holdfast_home).expanduser().resolve()


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Read and check every variable. Unset and empty are the same."""
    environment = os.environ if environment is None else environment
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(Settings):
        variable = field.encode_name.upper()
        text = environment.get(variable, "").strip()
        if text:
            values[field.name] = _converted(variable, text, field.type)
    _check_url("DATABASE_URL", values.get("database_url"), ("postgresql", "postgres"))
    owner_url = values.get("holdfast_owner_database_url")
    _check_url("HOLDFAST_OWNER_DATABASE_URL", owner_url, ("postgresql", "postgres"))
    _check_url("REDIS_URL", values.get("redis_url"), ("redis", "rediss"))
    _check_url("AMQP_URL", values.get("amqp_url"), ("amqp", "amqps"))
    _check_url("HOLDFAST_SMTP_URL", values.get("holdfast_smtp_url"), ("smtp", "smtps"))
    settings = Settings(**values)
    _check_mail(settings)
    return settings


def _check_mail(settings: Settings) -> None:
    """Told at the start, and not when the first buyer waits for a mail."""
    if settings.holdfast_notifier == "smtp" and settings.holdfast_smtp_url is None:
        raise SettingsError("HOLDFAST_SMTP_URL: must be set to send notices by mail")
    try:
        Address(addr_spec=settings.holdfast_mail_from)
        is_address = settings.holdfast_mail_from.isascii()
    except (ValueError, IndexError, MessageError):
        is_address = False
    if not is_address:
        raise SettingsError("HOLDFAST_MAIL_FROM: must be an e-mail address, in ASCII")


def _converted(variable: str, text: str, kind: Any) -> Any:
    try:
        return msgspec.convert(text, kind, strict=False)
    except msgspec.ValidationError:
        raise SettingsError(f"{variable}: must be {_expected(kind)}") from None


def _expected(kind: Any) -> str:
    """What the variable takes, in words. The value itself is not repeated: it may be a secret."""
    info = msgspec.inspect.type_info(kind)
    if isinstance(info, msgspec.inspect.Metadata):
        info = info.type
    if isinstance(info, msgspec.inspect.UnionType):
        info = next(part for part in info.types if not isinstance(part, msgspec.inspect.NoneType))
    match info:
        case msgspec.inspect.IntType(ge=low, le=high):
            return f"a whole number from {low} to {high}"
        case msgspec.inspect.LiteralType(values=values):
            return "one of " + ", ".join(map(str, values))
        case msgspec.inspect.StrType(min_length=shortest) if shortest:
            return f"at least {shortest} characters"
    return "text"


def _check_url(variable: str, url: object, schemes: tuple[str, ...]) -> None:
    """The whole address is read here, so that a slip of the pen stops the start."""
    if not isinstance(url, str):
        return
    if not url.startswith(tuple(f"{scheme}://" for scheme in schemes)):
        raise SettingsError(f"{variable}: must start with {schemes[0]}://")
    try:
        if "postgresql" in schemes:
            port = conninfo_to_dict(url).get("port")
        elif "redis" in schemes:
            port = parse_url(url).get("port")  # type: ignore[no-untyped-call]
        else:
            port = urlsplit(url).port
        is_valid = all(1 <= int(one) <= 65535 for one in str(port or 5432).split(","))
    except (psycopg.Error, ValueError):
        is_valid = False
    if not is_valid:
        raise SettingsError(
            f"{variable}: is not a valid address of the form {schemes[0]}://user@host:port/name"
        )
