"""`holdfast members`."""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from holdfast.bootstrap.organizations import MemberDesk, UnknownOrganization, members_of
from holdfast.bootstrap.settings import Settings
from holdfast.domain.access.members import InvitedMember, Member
from holdfast.domain.access.roles import MEANING_OF_ROLE, Role
from holdfast.domain.access.scopes import Mode
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.entrypoints.cli.accounts import user_name
from holdfast.entrypoints.cli.terminal import (
    CommandFailed,
    add_yes,
    confirm,
    needs_database,
    say,
    uuid_argument,
)
from holdfast.services.access.members import MemberAnswered, MemberRoll

_ROLES = "; ".join(f"{role.value}: {meaning}" for role, meaning in MEANING_OF_ROLE.items())


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    members = commands.add_parser(
        "members",
        help="add, list, change and remove the members of an organization",
        description="Manages the people who work for an organization. A change takes effect at "
        f"once on every server. Roles: {_ROLES}.",
    )
    actions = members.add_subparsers(title="actions", metavar="ACTION", required=True)
    adding = _action(
        actions,
        "add",
        add,
        "add a person",
        "Adds a person. If nobody has this name yet, an account is created, and a path is printed "
        "where its owner chooses a password, once, within 7 days.",
    )
    _add_person(adding)
    _add_role(adding)
    adding.add_argument("--email", help="e-mail address of a new person")
    adding.add_argument(
        "--existing",
        action="store_true",
        help="add an account that has a password already; without this it is refused",
    )
    _action(actions, "list", show, "list the members", "Lists the members of both sides.")
    changing = _action(actions, "role", change, "change a role", "Gives a member another role.")
    _add_person(changing)
    _add_role(changing)
    removing = _action(
        actions, "remove", remove, "remove a member", "Removes a member. The account stays."
    )
    _add_person(removing)
    add_yes(removing)


def _action(
    actions: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    run: Callable[[Settings, argparse.Namespace], int],
    summary: str,
    description: str,
) -> argparse.ArgumentParser:
    action = actions.add_parser(name, help=summary, description=description)
    action.add_argument(
        "organization", type=uuid_argument, help="the id of the organization's test or live side"
    )
    mode = action.add_mutually_exclusive_group()
    for each in Mode:
        mode.add_argument(
            f"--{each.value}",
            dest="mode",
            action="store_const",
            const=each,
            help=f"only the {each.value} side; default: both",
        )
    action.set_defaults(run=run)
    return action


def _add_person(action: argparse.ArgumentParser) -> None:
    action.add_argument("username", type=user_name, help="the name that the person logs in with")


def _add_role(action: argparse.ArgumentParser) -> None:
    names = "{" + ",".join(Role) + "}"
    action.add_argument("--role", type=_role, metavar=names, required=True)


def _role(text: str) -> Role:
    try:
        return Role(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be one of {', '.join(Role)}") from None


def add(settings: Settings, options: argparse.Namespace) -> int:
    invitation = None
    with _desk(settings, options) as desk:
        for side in desk.sides:
            answer = desk.roll(side).add(
                options.username, options.email, options.role, takes_existing=options.existing
            )
            outcome = _accepted(answer, but=RefusalCode.ALREADY_MEMBER)
            if isinstance(outcome, Refusal):
                say(f"{options.username} is already a member of the {side.mode.value} side")
                continue
            say(f"{options.username} is {options.role.value} of the {side.mode.value} side")
            if isinstance(outcome, InvitedMember):
                invitation = outcome.invitation  # the one of the last side counts
    if invitation is not None:
        say(f"invitation  /admin/invitation/{invitation}/")
    return 0


def show(settings: Settings, options: argparse.Namespace) -> int:
    with _desk(settings, options) as desk:
        for side in desk.sides:
            say(f"{side.name}, {side.mode.value} side, organization {side.organization_id}")
            members = desk.members(side)
            for member in members:
                at = member.last_login_at
                seen = "never logged in" if at is None else f"logged in {at:%F %R}"
                state = "" if member.is_active else ", deactivated"
                say(f"  {member.username}  {member.role.value}  ({seen}{state})")
            if not members:
                say("  no members")
    return 0


def change(settings: Settings, options: argparse.Namespace) -> int:
    def to_role(roll: MemberRoll, member: Member) -> MemberAnswered:
        return roll.change_role(member.id, options.role)

    return _for_each_side(settings, options, to_role, f"is {options.role.value}")


def remove(settings: Settings, options: argparse.Namespace) -> int:
    confirm(f"{options.username} will lose access at once. Remove?", options)
    return _for_each_side(
        settings, options, lambda roll, member: roll.remove(member.id), "is no longer a member"
    )


def _for_each_side(
    settings: Settings,
    options: argparse.Namespace,
    change_member: Callable[[MemberRoll, Member], MemberAnswered],
    said: str,
) -> int:
    is_known = False
    with _desk(settings, options) as desk:
        for side in desk.sides:
            member = desk.find(side, options.username)
            if member is not None:
                is_known = True
                _accepted(change_member(desk.roll(side), member))
                say(f"{options.username} {said} of the {side.mode.value} side")
    if not is_known:
        raise CommandFailed(f"{options.username} is not a member")
    return 0


@contextmanager
def _desk(settings: Settings, options: argparse.Namespace) -> Iterator[MemberDesk]:
    try:
        with (
            needs_database("the members could not be read or changed", as_owner=True),
            members_of(settings, options.organization, options.mode) as desk,
        ):
            yield desk
    except UnknownOrganization:
        raise CommandFailed("there is no organization with this id") from None


def _accepted(
    answer: MemberAnswered, but: RefusalCode | None = None
) -> Member | InvitedMember | Refusal:
    outcome = answer.outcome
    assert outcome is not None
    if isinstance(outcome, Refusal) and outcome.code is not but:
        hint = ". Pass --existing" if outcome.code is RefusalCode.USERNAME_TAKEN else ""
        raise CommandFailed(outcome.message + hint)
    return outcome
