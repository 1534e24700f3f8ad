"""`holdfast settings`."""

import argparse

from holdfast.bootstrap.organizations import UnknownOrganization, operator_origin, settings_of
from holdfast.bootstrap.settings import Settings
from holdfast.domain.ids import OrganizationId
from holdfast.domain.organizations import (
    SETTINGS,
    Organization,
    SettingValue,
    setting_of,
    written_setting,
)
from holdfast.domain.policy import POLICY_FIELDS, PolicyChange
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import InvalidValue
from holdfast.entrypoints.cli.terminal import CommandFailed, needs_database, say, uuid_argument
from holdfast.services.organizations import SettingsEditor

_SWITCHES = {"true": 1, "false": 0}


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    settings = commands.add_parser(
        "settings",
        help="show or change the settings of an organization",
        description="Shows the settings of one side of an organization, and changes those given as "
        "NAME=VALUE. An empty value clears a setting; name and time_zone cannot be empty.",
    )
    settings.add_argument(
        "organization", type=uuid_argument, help="the id of its test or live side"
    )
    settings.add_argument(
        "change",
        nargs="*",
        type=_pair,
        metavar="NAME=VALUE",
        help="a setting to change; NAME= clears it",
    )
    settings.set_defaults(run=run)


def run(settings: Settings, options: argparse.Namespace) -> int:
    organization_id = OrganizationId(options.organization)
    policy, texts = _changes(dict(options.change))
    try:
        with (
            needs_database("the settings could not be read or changed", as_owner=True),
            settings_of(settings, organization_id) as store,
        ):
            if policy or texts:
                origin = operator_origin()
                editor = SettingsEditor(store, organization_id, origin)
                answer = editor.change(policy or None, texts)
                if isinstance(answer.outcome, Refusal):
                    raise CommandFailed(answer.outcome.message)
            organization = store.organization(organization_id)
            assert organization is not None
            _show(organization)
    except UnknownOrganization:
        raise CommandFailed("there is no organization with this id") from None
    return 0


def _show(organization: Organization) -> None:
    values: dict[str, str | None] = {"mode": organization.mode.value}
    settings = organization.settings().items()
    values |= {name: written_setting(value) for name, value in settings}
    values |= {name: _written(value) for name, value in organization.policy.by_name().items()}
    width = max(map(len, values))
    for name, value in values.items():
        say(f"{name:<{width}}  {'-' if value is None else value}")


def _written(value: int | None) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)


def _changes(given: dict[str, str]) -> tuple[PolicyChange, dict[str, SettingValue | None]]:
    policy: PolicyChange = {}
    texts: dict[str, SettingValue | None] = {}
    for name, text in given.items():
        try:
            if name in POLICY_FIELDS:
                policy[name] = _policy_value(name, text)
            else:
                texts[name] = setting_of(name, text)
        except InvalidValue as error:
            raise CommandFailed(error.message) from None
    return policy, texts


def _policy_value(name: str, text: str) -> int | None:
    if not text:
        return None
    field = POLICY_FIELDS[name]
    if field.bounds is None:
        if text not in _SWITCHES:
            raise CommandFailed(f"{name} must be true or false")
        return bool(_SWITCHES[text])
    if not text.isdecimal() or not text.isascii():
        raise CommandFailed(field.rule(name))
    field.check(name, int(text))
    return int(text)


def _pair(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or name not in {**SETTINGS, **POLICY_FIELDS}:
        known = ", ".join((*SETTINGS, *POLICY_FIELDS))
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, where NAME is one of {known}")
    return name, value
