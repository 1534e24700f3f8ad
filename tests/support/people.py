"""Members with a password."""

from dataclasses import dataclass
from uuid import uuid4

import psycopg
from django.contrib.auth.hashers import PBKDF2PasswordHasher

PASSWORD = "a long enough password"
# One round: only the log-in itself shall be slow.
HASHED = PBKDF2PasswordHasher().encode(PASSWORD, "salt", iterations=1)


@dataclass(frozen=True)
class Staff:
    user_id: int
    username: str
    member_id: str
    role: str


def add_staff(owner_url: str, organization_id: str, role: str, hashed: str = HASHED) -> Staff:
    """Insert an account that is a member of the organization."""
    name, member_id = f"staff-{uuid4().hex[:12]}", str(uuid4())
    with psycopg.connect(owner_url) as connection:
        connection.execute("SET holdfast.owner = 'on'")
        row = connection.execute(
            "INSERT INTO auth_user (username, password, email, first_name, last_name, date_joined,"
            " is_superuser, is_staff, is_active)"
            " VALUES (%s, %s, '', '', '', now(), false, true, true) RETURNING id",
            [name, hashed],
        ).fetchone()
        assert row is not None
        connection.execute(
            "INSERT INTO member (organization_id, id, user_id, role) VALUES (%s, %s, %s, %s)",
            [organization_id, member_id, row[0], role],
        )
    return Staff(row[0], name, member_id, role)
