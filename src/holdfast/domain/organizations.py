"""The settings of an organization. Its test and its live side have their own."""

from collections.abc import Callable, Mapping
from dataclasses import field, fields, replace
from datetime import datetime
from enum import Enum, auto
from functools import partial
from string import Formatter
from typing import Any
from urllib.parse import quote, urlsplit
from zoneinfo import ZoneInfo

from holdfast.domain.access.rates import SECONDS_MAX, SECONDS_OF_MANY_MAX, Rate, rate_rule
from holdfast.domain.access.scopes import Mode
from holdfast.domain.catalog.changes import refuse_policy
from holdfast.domain.ids import OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.policy import PolicyChange, PolicyOverride
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import (
    TIME_ZONE_LENGTH_MAX,
    TIME_ZONE_RULE,
    EmailAddress,
    InvalidValue,
)

NAME_LENGTH_MAX = 200
FOOTER_LENGTH_MAX = 1_000
URL_LENGTH_MAX = 500
ORIGIN_LENGTH_MAX = 255
ORIGINS_MAX = 20
# What a link in an e-mail may contain, in braces.
LINK_NAMES = ("hold_id", "reference", "cart_token")


SettingValue = str | tuple[str, ...] | bool


class SettingKind(Enum):
    TEXT = auto()
    LIST = auto()  # of texts
    SWITCH = auto()


@immutable
class Setting:
    """`check` raises ValueError for a text that breaks the rule. `label` is for the admin pages.
    `length_max` is of a text, or of each text of a list."""

    label: str
    meaning: str
    rule: str
    example: SettingValue
    check: Callable[[str], object]
    length_max: int
    is_required: bool = False
    kind: SettingKind = SettingKind.TEXT


def _named(text: str) -> None:
    if not text.strip() or not text.isprintable():
        raise ValueError


def _link(text: str) -> None:
    names = [
        (name, spec, conversion) for _, name, spec, conversion in Formatter().parse(text) if name
    ]
    address = urlsplit(text)
    is_address = address.scheme in {"http", "https"} and bool(address.hostname)
    # Everybody who gets the mail would read a password in it.
    is_address = is_address and "@" not in address.netloc
    is_filled = all(each in {(name, "", None) for name in LINK_NAMES} for each in names)
    if not (is_address and is_filled and text.isprintable() and " " not in text):
        raise ValueError


def _origin(text: str) -> None:
    """As a browser sends it: scheme, host and perhaps a port that is not the default, no path."""
    address = urlsplit(text)
    default = {"http": 80, "https": 443}[address.scheme]
    port = "" if address.port is None else f":{address.port}"
    host = address.hostname or ""
    host = f"[{host}]" if ":" in host else host
    is_plain = host.isascii() and "*" not in host and address.port not in {default, 0}
    if not host or not is_plain or text != f"{address.scheme}://{host}{port}":
        raise ValueError


_LINK_RULE = (
    f"must be a URL of at most {URL_LENGTH_MAX} characters that starts with https:// or http://,"
    " without a username or password;"
    f" it may contain {', '.join(f'{{{name}}}' for name in LINK_NAMES)}"
)


def _setting(*about: Any, **more: Any) -> Any:
    return field(default=None, metadata={"setting": Setting(*about, **more)})


def _rate(label: str, meaning: str, example: str, seconds_max: int = SECONDS_OF_MANY_MAX) -> Any:
    check = partial(Rate.parse, seconds_max=seconds_max)
    return _setting(label, meaning, rate_rule(seconds_max), example, check, 13)


@immutable(kw_only=True)
class Organization:
    id: OrganizationId
    mode: Mode
    created_at: datetime
    policy: PolicyOverride
    name: str = _setting(
        "name",
        "Its name, for operators.",
        f"must be 1 to {NAME_LENGTH_MAX} printable characters and must not be blank",
        "River Stage",
        _named,
        NAME_LENGTH_MAX,
        is_required=True,
    )
    time_zone: str = _setting(
        "time zone",
        "Time zone of the times in e-mails, for events without their own.",
        TIME_ZONE_RULE,
        "Europe/Berlin",
        ZoneInfo,
        TIME_ZONE_LENGTH_MAX,
        is_required=True,
    )
    mail_name: str | None = _setting(
        "sender name",
        "Sender name of e-mails to buyers.",
        f"must be 1 to {NAME_LENGTH_MAX} printable characters and must not be blank",
        "River Stage box office",
        _named,
        NAME_LENGTH_MAX,
    )
    mail_reply_to: str | None = _setting(
        "reply-to address",
        "E-mail address that buyers reply to.",
        "must be an e-mail address",
        "desk@example.com",
        EmailAddress,
        254,
    )
    mail_footer: str | None = _setting(
        "e-mail footer",
        "Text at the end of every e-mail.",
        f"must be 1 to {FOOTER_LENGTH_MAX} printable characters and must not be blank",
        "River Stage, 1 Harbour Street",
        _named,
        FOOTER_LENGTH_MAX,
    )
    pay_url: str | None = _setting(
        "payment page",
        "Page where the buyer pays for a hold. E-mails link to it.",
        _LINK_RULE,
        "https://tickets.example.com/pay/{hold_id}",
        _link,
        URL_LENGTH_MAX,
    )
    cart_url: str | None = _setting(
        "cart page",
        "Cart page. E-mails about a hold with a cart link here instead.",
        _LINK_RULE,
        "https://tickets.example.com/cart/{cart_token}",
        _link,
        URL_LENGTH_MAX,
    )
    mail_when_expired: bool | None = _setting(
        "e-mail about expired holds",
        "Whether buyers get an e-mail when their hold expires without payment.",
        "must be true or false",
        False,
        bool,
        5,
        kind=SettingKind.SWITCH,
    )
    rate_seats_per_holder: str | None = _rate(
        "seats per buyer",
        "Seats and tickets that one buyer can reserve, and in how many seconds.",
        "10/300",
    )
    rate_requests_per_key: str | None = _rate(
        "requests per key",
        "Requests with one API key, and in how many seconds.",
        "500/1",
        SECONDS_MAX,
    )
    rate_requests_per_holder: str | None = _rate(
        "requests per buyer",
        "Requests to hold something for one buyer, and in how many seconds.",
        "30/60",
    )
    rate_requests_per_address: str | None = _rate(
        "requests per address",
        "Requests from one IP address, and in how many seconds.",
        "600/60",
    )

    allowed_origins: tuple[str, ...] | None = _setting(
        "allowed origins",
        "Origins of the pages whose scripts may call the API with a holder token. Without any, "
        "browsers refuse such calls from other origins than the API's own.",
        f"must be at most {ORIGINS_MAX} different origins of at most {ORIGIN_LENGTH_MAX} "
        "characters, such as https://tickets.example.com: lower case, no path, no default port, "
        "no wildcard",
        ("https://tickets.example.com",),
        _origin,
        ORIGIN_LENGTH_MAX,
        kind=SettingKind.LIST,
    )
    anonymous_holders: bool | None = _setting(
        "anonymous holders",
        "Whether holder tokens may be issued without `user_id` and `customer_email`.",
        "must be true or false",
        False,
        bool,
        5,
        kind=SettingKind.SWITCH,
    )
    two_factor_required: bool | None = _setting(
        "two-factor required",
        "Whether members need two-factor authentication. Without it, they can only set it up.",
        "must be true or false",
        False,
        bool,
        5,
        kind=SettingKind.SWITCH,
    )

    def link_to(self, hold_id: object, reference: str, cart_token: str | None) -> str | None:
        """Where the buyer pays for a hold."""
        link = self.pay_url
        if cart_token is not None and self.cart_url is not None:
            link = self.cart_url
        if link is None:
            return None
        named = (str(hold_id), reference, cart_token or "")
        for name, value in zip(LINK_NAMES, named, strict=True):
            link = link.replace(f"{{{name}}}", quote(value, safe=""))
        return link

    def settings(self) -> dict[str, SettingValue | None]:
        return {name: getattr(self, name) for name in SETTINGS}


SETTINGS: Mapping[str, Setting] = {
    each.name: each.metadata["setting"]
    for each in fields(Organization)
    if "setting" in each.metadata
}


@immutable
class ChangeOrganization:
    """`settings` are the changed ones by name; None clears one."""

    organization_id: OrganizationId
    policy: PolicyChange | None
    settings: Mapping[str, SettingValue | None]


def check_setting(name: str, value: SettingValue | None) -> None:
    """Raises InvalidValue."""
    setting = SETTINGS[name]
    if value is None:
        is_valid = not setting.is_required
    elif isinstance(value, tuple):
        is_valid = len(set(value)) == len(value) <= ORIGINS_MAX
        is_valid = is_valid and all(_is_valid(setting, text) for text in value)
    else:
        is_valid = isinstance(value, bool) or _is_valid(setting, value)
    if not is_valid:
        raise _invalid(name)


def setting_of(name: str, text: str) -> SettingValue | None:
    """The value of a setting as people type it; an empty text clears it. Raises InvalidValue."""
    kind = SETTINGS[name].kind
    value: SettingValue | None = text or None
    if kind is SettingKind.LIST:
        value = tuple(text.replace(",", " ").split()) or None
    elif kind is SettingKind.SWITCH and text:
        if text not in {"true", "false"}:
            raise _invalid(name)
        value = text == "true"
    check_setting(name, value)
    return value


def written_setting(value: SettingValue | None) -> str | None:
    """The reverse of `setting_of`."""
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(value) if isinstance(value, tuple) else value


def _invalid(name: str) -> InvalidValue:
    return InvalidValue("invalid_setting", f"{name} {SETTINGS[name].rule}")


def _is_valid(setting: Setting, text: str) -> bool:
    try:
        setting.check(text)
    except (ValueError, KeyError, OSError, InvalidValue):  # ZoneInfo raises all but the last
        return False
    return len(text) <= setting.length_max


def changed_organization(
    organization: Organization, change: ChangeOrganization
) -> Organization | Refusal:
    policy = organization.policy.changed(change.policy) if change.policy else organization.policy
    refusal = refuse_policy(policy) if change.policy else None
    settings: dict[str, Any] = dict(change.settings)
    return refusal or replace(organization, policy=policy, **settings)
