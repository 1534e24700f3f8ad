"""The stored form of addresses with the configured secrets."""

import structlog

from holdfast.adapters.postgres.privacy.secrets_in_use import use_secrets
from holdfast.bootstrap.settings import Settings, SettingsError
from holdfast.domain.holder_hash import HolderHashes
from holdfast.ports.privacy.addresses import Addresses
from holdfast.services.access.address_seal import address_seal
from holdfast.services.access.installation_secrets import InstallationSecrets

_log = structlog.get_logger("holdfast.privacy")


def addresses_of(settings: Settings) -> Addresses:
    """Ignores a secret that `serve` generated for itself: after a restart, nobody could read what
    it has sealed."""
    secrets = settings.installation_secrets
    older = () if secrets else settings.older_secrets
    return Addresses(address_seal(secrets, older), HolderHashes(*secrets, older=older))


def refuse_missing_secrets(settings: Settings, url: str | None = None) -> None:
    """Call before anything that counts or writes holds: without a secret that others use, holds are
    not found by their address, and limits per holder would not apply."""
    secrets = settings.installation_secrets
    known = InstallationSecrets(secrets or settings.older_secrets).ids
    url = url or settings.required_database_url
    missing = use_secrets(url, known, known[0] if secrets else None)
    if missing is None and secrets:
        _log.warning("secrets.not_recorded")
    if missing:
        ids = ", ".join(each.hex() for each in missing)
        raise SettingsError(
            "HOLDFAST_SECRET_KEY_FALLBACKS: addresses are encrypted with a secret that is neither "
            f"here nor in HOLDFAST_SECRET_KEY (id {ids}). Set the same secrets for all processes: "
            "see docs/privacy.md"
        )
