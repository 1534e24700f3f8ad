"""The settings of an organization. Its test and its live side have their own."""

from collections.abc import Callable, Mapping
from dataclasses import field, fields, replace
from datetime import datetime
from string import Formatter
from typing import Any
from urllib.parse import quote, urlsplit
from zoneinfo import ZoneInfo

from holdfast.domain.access.rates import RATE_RULE, Rate
from holdfast.domain.access.scopes import Mode
from holdfast.domain.catalog.changes import refuse_policy
from holdfast.domain.ids import OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.policy import PolicyChange, PolicyOverride
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import EmailAddress, InvalidValue

NAME_LENGTH_MAX = 200
FOOTER_LENGTH_MAX = 1_000
URL_LENGTH_MAX = 500
# What a link in an e-mail may contain, in braces.
LINK_NAMES = ("hold_id", "reference", "cart_token")


@immutable
class Setting:
    """`check` raises ValueError for a text that breaks the rule. `label` is for the admin pages."""

    label: str
    meaning: str
    rule: str
    example: str
    check: Callable[[str], object]
    length_max: int
    is_required: bool = False


def _named(text: str) -> None:
    if not text.strip() or not text.isprintable():
        raise ValueError


def _link(text: str) -> None:
    names = [
        (name, spec, conversion) for _, name, spec, conversion in Formatter().parse(text) if name
    ]
    address = urlsplit(text)
    is_address = address.scheme in {"http", "https"} and bool(address.hostname)
    is_filled = all(each in {(name, "", None) for name in LINK_NAMES} for each in names)
    if not (is_address and is_filled and text.isprintable() and " " not in text):
        raise ValueError


_LINK_RULE = (
    f"must be a URL of at most {URL_LENGTH_MAX} characters that starts with https:// or http://;"
    f" it may contain {', '.join(f'{{{name}}}' for name in LINK_NAMES)}"
)


def _setting(*about: Any, **more: Any) -> Any:
    return field(default=None, metadata={"setting": Setting(*about, **more)})


def _rate(label: str, meaning: str, example: str) -> Any:
    return _setting(label, meaning, RATE_RULE, example, Rate.parse, 13)


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
        "Time zone of the times in e-mails.",
        "must be the name of a time zone, such as Europe/Berlin",
        "Europe/Berlin",
        ZoneInfo,
        50,
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
        "Line at the end of every e-mail.",
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
    rate_seats_per_holder: str | None = _rate(
        "seats per buyer",
        "Seats and tickets that one buyer can reserve, and in how many seconds.",
        "10/300",
    )
    rate_requests_per_key: str | None = _rate(
        "requests per key",
        "Requests with one API key, and in how many seconds.",
        "500/1",
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

    def settings(self) -> dict[str, str | None]:
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
    settings: Mapping[str, str | None]


def check_setting(name: str, text: str | None) -> None:
    """Raises InvalidValue."""
    setting = SETTINGS[name]
    if not (_is_valid(setting, text) if text is not None else not setting.is_required):
        raise InvalidValue("invalid_setting", f"{name} {setting.rule}")


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
