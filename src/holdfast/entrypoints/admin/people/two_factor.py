"""Turning two-factor authentication on and off, with django-otp."""

from base64 import b32encode
from binascii import unhexlify
from collections.abc import Sequence
from secrets import choice
from typing import Any

import segno
from django.db import transaction
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

BACKUP_CODES = 10
_BACKUP_CODE_LENGTH = 10
# Without letters and digits that look alike.
_LETTERS = "abcdefghjkmnpqrstuvwxyz"


def is_on(user: Any) -> bool:
    return bool(TOTPDevice.objects.filter(user_id=user.pk, confirmed=True).exists())


def device_to_confirm(user: Any) -> TOTPDevice:
    """The same until it is confirmed, so that the picture may be loaded again."""
    device: TOTPDevice | None = TOTPDevice.objects.filter(user=user, confirmed=False).first()
    return device or TOTPDevice.objects.create(user=user, name="authenticator", confirmed=False)


def picture_of(device: TOTPDevice) -> str:
    """The QR code, as SVG."""
    drawn = segno.make(device.config_url, error="m")
    return str(drawn.svg_inline(border=4, dark="#000", light="#fff", omitsize=True))


def secret_of(device: TOTPDevice) -> str:
    """For people who cannot scan, in groups of four."""
    text = b32encode(unhexlify(device.key)).decode()
    return " ".join(text[start : start + 4] for start in range(0, len(text), 4))


def confirm(user: Any, code: str) -> Sequence[str] | None:
    """Turn it on. Returns the backup codes, or None if the code is wrong."""
    with transaction.atomic():
        device = TOTPDevice.objects.select_for_update().filter(user=user, confirmed=False).first()
        if device is None or not device.verify_token("".join(code.split())):
            return None
        device.confirmed = True
        device.save()
        TOTPDevice.objects.filter(user=user).exclude(pk=device.pk).delete()
        return _new_backup_codes(user)


def turn_off(user: Any) -> None:
    with transaction.atomic():
        TOTPDevice.objects.filter(user=user).delete()
        StaticToken.objects.filter(device__user=user).delete()
        StaticDevice.objects.filter(user=user).delete()


def backup_codes_left(user: Any) -> int:
    left: int = StaticToken.objects.filter(device__user=user).count()
    return left


def _new_backup_codes(user: Any) -> Sequence[str]:
    StaticToken.objects.filter(device__user=user).delete()
    StaticDevice.objects.filter(user=user).delete()
    device = StaticDevice.objects.create(user=user, name="backup")
    codes = [
        "".join(choice(_LETTERS) for _ in range(_BACKUP_CODE_LENGTH)) for _ in range(BACKUP_CODES)
    ]
    StaticToken.objects.bulk_create([StaticToken(device=device, token=code) for code in codes])
    half = _BACKUP_CODE_LENGTH // 2
    return [f"{code[:half]}-{code[half:]}" for code in codes]
