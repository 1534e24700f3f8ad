"""The check that a server's login has no excessive rights."""

import psycopg

from holdfast.adapters.postgres.connections.connection import CONNECT_TIMEOUT_SECONDS

# Checks the login, not the role it sets: a pooler may lose SET ROLE, and RESET ROLE undoes it.
_LOGIN = """
SELECT r.rolsuper, r.rolbypassrls,
    (SELECT pg_has_role(session_user, c.relowner, 'MEMBER') FROM pg_class c
     WHERE c.oid = to_regclass('public.organization')),
    pg_has_role(session_user, to_regrole('holdfast_operator')::oid, 'USAGE')
FROM pg_roles r WHERE r.rolname = session_user
"""
_PROBLEMS = (
    "is a superuser, which bypasses row-level security",
    "has BYPASSRLS, which bypasses row-level security",
    "owns the tables, or can become their owner",
    "inherits the rights of holdfast_operator: make it NOINHERIT",
)


def login_problem(url: str) -> str | None:
    """Why a server should not use this login. None if it is fine, or if the database is down: a
    server starts without it."""
    try:
        with psycopg.connect(url, connect_timeout=CONNECT_TIMEOUT_SECONDS) as connection:
            row = connection.execute(_LOGIN).fetchone()
    except psycopg.OperationalError:
        return None
    assert row is not None
    return next((text for found, text in zip(row, _PROBLEMS, strict=True) if found), None)
