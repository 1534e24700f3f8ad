"""The application for Celery's own command: `celery -A holdfast.entrypoints.workers worker`."""

import sys

from celery.signals import celeryd_init

from holdfast.bootstrap.privacy.addresses import refuse_missing_secrets
from holdfast.bootstrap.settings import SettingsError, load_settings
from holdfast.entrypoints.workers.app import create_app

settings = load_settings()
app = create_app(settings)


@celeryd_init.connect  # type: ignore[untyped-decorator]
def refuse_to_start(**_: object) -> None:
    """Celery logs the errors of its signals and goes on, but it obeys an exit."""
    try:
        refuse_missing_secrets(settings)
    except SettingsError as error:
        sys.exit(f"holdfast: {error}")
