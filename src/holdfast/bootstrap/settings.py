"""Configuration by environment variables. Every default is safe; an invalid value stops the start
with a message that names the variable."""

import os
from collections.abc import Mapping
from email.errors import MessageError
from email.headerregistry import Address
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
import psycopg
from msgspec import Meta
from msgspec.inspect import FloatType, IntType, LiteralType, Metadata, StrType, UnionType
from psycopg.conninfo import conninfo_to_dict

Network = IPv4Network | IPv6Network
SECRET_LENGTH_MIN = 32

_Text = Annotated[str, Meta(min_length=1)]
_UpToAnHour = Annotated[int, Meta(ge=1, le=3600)]
_UpToTenYears = Annotated[int, Meta(ge=1, le=3650)]

# Error messages name the first scheme of each.
_SCHEMES = {
    "database_url": ("postgresql", "postgres"),
    "holdfast_owner_database_url": ("postgresql", "postgres"),
    "redis_url": ("redis", "rediss"),
    "amqp_url": ("amqp", "amqps"),
    "holdfast_smtp_url": ("smtp", "smtps"),
    "holdfast_inventory_url": ("http", "https"),
}


class SettingsError(Exception):
    """An invalid setting. The message names the variable and what it accepts."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Each field is read from the variable of the same name, in capitals. See
    docs/configuration.md."""

    database_url: str | None = None
    holdfast_owner_database_url: str | None = None
    redis_url: str | None = None
    amqp_url: str | None = None
    holdfast_home: _Text = ".holdfast"
    holdfast_host: _Text = "127.0.0.1"
    holdfast_port: Annotated[int, Meta(ge=1, le=65535)] = 8000
    holdfast_processes: Annotated[int, Meta(ge=1, le=64)] = 1
    holdfast_secret_key: Annotated[str, Meta(min_length=SECRET_LENGTH_MIN)] | None = None
    holdfast_secret_key_fallbacks: _Text | None = None
    # Set by `holdfast serve` if it had to make up a secret key.
    holdfast_secret_key_is_temporary: Literal["yes", "no"] = "no"  # noqa: S105
    holdfast_allowed_hosts: _Text = "127.0.0.1,localhost,[::1]"
    holdfast_trusted_proxies: str | None = None
    holdfast_log_format: Literal["json", "console"] = "json"
    holdfast_log_level: Literal["debug", "info", "warning", "error"] = "info"
    holdfast_queue_max: Annotated[int, Meta(ge=4, le=1_000_000)] = 4096
    holdfast_group_max: Annotated[int, Meta(ge=1, le=1024)] = 128
    holdfast_deadline_seconds: Annotated[int, Meta(ge=1, le=60)] = 5
    holdfast_drain_seconds: Annotated[int, Meta(ge=0, le=300)] = 10
    holdfast_duties: Literal["threads", "none"] = "threads"
    holdfast_reaper_seconds: _UpToAnHour = 1
    holdfast_reaper_beat_seconds: _UpToAnHour = 30
    holdfast_promoter_seconds: Annotated[float, Meta(ge=0.05, le=3600)] = 0.5
    holdfast_grace_seconds: Annotated[int, Meta(ge=1, le=86_400)] = 120
    holdfast_audit_minutes: Annotated[int, Meta(ge=0, le=10_080)] = 60
    holdfast_audit_kept_days: Annotated[int, Meta(ge=0, le=3650)] = 0
    holdfast_facts_queue: _Text = "holdfast.facts"
    holdfast_facts_kept_days: _UpToTenYears = 30
    holdfast_receipts_kept_days: _UpToTenYears = 30
    holdfast_notifier: Literal["none", "console", "smtp"] = "none"
    holdfast_smtp_url: str | None = None
    holdfast_mail_from: Annotated[str, Meta(min_length=3)] = "tickets@localhost"
    holdfast_payments: Literal["trust", "demo"] = "trust"
    holdfast_inventory_url: str | None = None
    holdfast_inventory_key: Annotated[str, Meta(min_length=16)] | None = None
    holdfast_answers_kept_hours: Annotated[int, Meta(ge=24, le=8760)] = 24

    @property
    def owner_url(self) -> str | None:
        return self.holdfast_owner_database_url or self.database_url

    @property
    def required_database_url(self) -> str:
        return _required_database(self.database_url)

    @property
    def required_owner_url(self) -> str:
        return _required_database(self.owner_url)

    @property
    def installation_secrets(self) -> tuple[str, ...]:
        """The secret that makes holder tokens and seals addresses, and older ones that still open
        them. None if the first one would not survive a restart."""
        if self.holdfast_secret_key is None or self.holdfast_secret_key_is_temporary == "yes":  # noqa: S105
            return ()
        # After a rotation, the new one may still be among the fallbacks.
        return tuple(dict.fromkeys((self.holdfast_secret_key, *self.older_secrets)))

    @property
    def older_secrets(self) -> tuple[str, ...]:
        return _fallbacks(self.holdfast_secret_key_fallbacks)

    @property
    def broker(self) -> str | None:
        """The broker for facts and messages: RabbitMQ if both are set."""
        if self.amqp_url is not None:
            return "rabbitmq"
        return None if self.redis_url is None else "redis"

    @property
    def trusted_proxies(self) -> tuple[Network, ...]:
        texts = (self.holdfast_trusted_proxies or "").split(",")
        return tuple(ip_network(text.strip()) for text in texts if text.strip())

    @property
    def home(self) -> Path:
        return Path(self.holdfast_home).expanduser().resolve()


def _fallbacks(text: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.strip() for each in (text or "").split(",") if each.strip()))


def _required_database(url: str | None) -> str:
    if url is None:
        raise SettingsError("DATABASE_URL: must be set")
    return url


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Read and check every variable. Unset and empty are the same."""
    environment = os.environ if environment is None else environment
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(Settings):
        variable = field.name.upper()
        text = environment.get(variable, "").strip()
        if text:
            values[field.name] = _converted(variable, text, field.type)
            if field.name in _SCHEMES:
                _check_url(variable, text, _SCHEMES[field.name])
    settings = Settings(**values)
    _check_mail(settings)
    _check_inventory(settings)
    _check_proxies(settings)
    if any(len(each) < SECRET_LENGTH_MIN for each in settings.older_secrets):
        raise SettingsError(
            "HOLDFAST_SECRET_KEY_FALLBACKS: must be secrets of at least "
            f"{SECRET_LENGTH_MIN} characters, separated by commas"
        )
    return settings


def _converted(variable: str, text: str, kind: Any) -> Any:
    try:
        return msgspec.convert(text, kind, strict=False)
    except msgspec.ValidationError:
        raise SettingsError(f"{variable}: must be {_expected(kind)}") from None


def _expected(kind: Any) -> str:
    """Describe the expected value. Unlike msgspec, don't repeat the given one: it may be a
    secret."""
    info = msgspec.inspect.type_info(kind)
    while isinstance(info, Metadata | UnionType):
        info = info.type if isinstance(info, Metadata) else info.types[0]
    match info:
        case IntType(ge=low, le=high):
            return f"a whole number from {low} to {high}"
        case FloatType(ge=low, le=high):
            return f"a number from {low:g} to {high:g}"
        case LiteralType(values=values):
            return "one of " + ", ".join(map(str, values))
        case StrType(min_length=shortest):
            return f"at least {shortest} characters"
    raise AssertionError(info)


def _check_url(variable: str, url: str, schemes: tuple[str, ...]) -> None:
    """Parse the whole URL, so that a typo stops the start."""
    if not url.startswith(tuple(f"{scheme}://" for scheme in schemes)):
        raise SettingsError(f"{variable}: must start with {schemes[0]}://")
    try:
        if "postgresql" in schemes:
            port = conninfo_to_dict(url).get("port")
        elif "redis" in schemes:
            # Slow to load, and not needed without Redis.
            from redis.connection import parse_url  # noqa: PLC0415

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


def _check_proxies(settings: Settings) -> None:
    try:
        _ = settings.trusted_proxies
    except ValueError:
        raise SettingsError(
            "HOLDFAST_TRUSTED_PROXIES: must be IP addresses or networks, separated by commas, such"
            " as 10.0.0.0/8, 192.0.2.7"
        ) from None


def _check_inventory(settings: Settings) -> None:
    if settings.holdfast_inventory_url is not None and settings.holdfast_inventory_key is None:
        raise SettingsError("HOLDFAST_INVENTORY_KEY: must be set with HOLDFAST_INVENTORY_URL")
    if "@" in urlsplit(settings.holdfast_inventory_url or "").netloc:
        raise SettingsError(
            "HOLDFAST_INVENTORY_URL: must not contain a user or a password: the key identifies us"
        )


def _check_mail(settings: Settings) -> None:
    """Check at the start, not when the first mail is due."""
    if settings.holdfast_notifier == "smtp" and settings.holdfast_smtp_url is None:
        raise SettingsError("HOLDFAST_SMTP_URL: must be set to send notices by mail")
    try:
        Address(addr_spec=settings.holdfast_mail_from)
        is_address = settings.holdfast_mail_from.isascii()
    except (ValueError, IndexError, MessageError):
        is_address = False
    if not is_address:
        raise SettingsError("HOLDFAST_MAIL_FROM: must be an e-mail address, in ASCII")
