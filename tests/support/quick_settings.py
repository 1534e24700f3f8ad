"""Django's settings for servers under test: the same, but passwords are hashed at once."""

from holdfast.bootstrap.django_settings import *  # noqa: F403

PASSWORD_HASHERS = ["tests.support.quick_hasher.QuickHasher"]
