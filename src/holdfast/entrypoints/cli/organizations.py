"""`holdfast create-organization`."""

import argparse

from holdfast.bootstrap.accounts import create_organization
from holdfast.bootstrap.settings import Settings
from holdfast.entrypoints.cli.terminal import CommandFailed, say
from holdfast.ports.store import StoreError

NAME_LENGTH_MAX = 200


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "create-organization",
        help="create an organization and its first secret key",
        description="Creates an organization and prints its secret key. The key is shown only "
        "once: Holdfast stores its hash.",
    )
    parser.add_argument("name", type=_name, help="its display name")
    parser.add_argument(
        "--live", action="store_true", help="create a live key (hk_live_...), not a test key"
    )
    parser.set_defaults(run=run)


def _name(text: str) -> str:
    if not text.strip() or len(text) > NAME_LENGTH_MAX or not text.isprintable():
        raise argparse.ArgumentTypeError(
            f"a name must be 1 to {NAME_LENGTH_MAX} printable characters and must not be blank"
        )
    return text


def run(settings: Settings, options: argparse.Namespace) -> int:
    try:
        organization_id, secret = create_organization(
            settings, options.name, "live" if options.live else "test"
        )
    except StoreError as error:
        raise CommandFailed(
            "the organization could not be created: is PostgreSQL running and migrated?"
        ) from error
    say(f"organization_id  {organization_id}")
    say(f"secret_key       {secret}")
    return 0
