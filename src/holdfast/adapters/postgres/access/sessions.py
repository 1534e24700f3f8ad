"""Sessions of members on the API."""

from collections.abc import Sequence

from holdfast.adapters.postgres.access.keys import Transactions
from holdfast.adapters.postgres.access.members import MEMBERS
from holdfast.adapters.postgres.audit.entries import write_entry
from holdfast.domain.access.sessions import LIFETIME_SECONDS
from holdfast.domain.group.origin import Origin
from holdfast.domain.ids import MemberSessionId, OrganizationId
from holdfast.domain.values import JsonValue
from holdfast.ports.members import NewSession, OpenSession

# The oldest go first: nobody signs in this often.
SESSIONS_OF_MEMBER_MAX = 20

_OPEN = """
INSERT INTO member_session (organization_id, id, member_id, secret_hash, ip, user_agent, created_at,
    last_used_at, ends_at)
SELECT m.organization_id, %s, m.id, %s, %s::inet, %s, statement_timestamp(), statement_timestamp(),
    statement_timestamp() + make_interval(secs => %s)
FROM member m WHERE m.organization_id = %s AND m.user_id = %s
RETURNING member_id, created_at, ends_at
"""
# Also those that have ended: a member keeps few rows.
_CLEAN_UP = """
DELETE FROM member_session s USING (
    SELECT a.id FROM member_session a WHERE a.organization_id = %(own)s AND a.member_id = %(member)s
    ORDER BY a.created_at DESC OFFSET %(kept)s
) AS old
WHERE s.organization_id = %(own)s AND s.id = old.id
"""
_CLOSE = "DELETE FROM member_session WHERE organization_id = %s AND id = ANY (%s) RETURNING id"


class PostgresMemberSessions:
    """Implements MemberSessionStore."""

    def __init__(self, database: Transactions) -> None:
        self._database = database

    def open(self, session: NewSession, origin: Origin) -> OpenSession | None:
        own = session.organization_id
        whence = (origin.ip, origin.user_agent, LIFETIME_SECONDS)
        with self._database.transaction(own) as connection:
            values = (session.id, session.secret_hash, *whence, own, session.user_id)
            row = connection.execute(_OPEN, values).fetchone()
            if row is None:
                return None
            member_id, created_at, ends_at = row
            names = {"own": own, "member": member_id, "kept": SESSIONS_OF_MEMBER_MAX}
            connection.execute(_CLEAN_UP, names)
            member = MEMBERS.find(connection, own, member_id)
            assert member is not None
            about: dict[str, JsonValue] = {
                "user_id": member.user_id,
                "username": member.username,
                "member_session_id": str(session.id),
            }
            write_entry(
                connection, own, "member.logged_in", origin, old=None, new=about, catalog_id=own
            )
        return OpenSession(session.id, member, created_at, ends_at)

    def close(
        self,
        organization_id: OrganizationId,
        session_ids: Sequence[MemberSessionId],
        origin: Origin,
    ) -> None:
        own = organization_id
        with self._database.transaction(own) as connection:
            closed = connection.execute(_CLOSE, (own, list(session_ids))).fetchall()
            for (session_id,) in closed:
                about: dict[str, JsonValue] = {"member_session_id": str(session_id)}
                write_entry(
                    connection,
                    own,
                    "member.logged_out",
                    origin,
                    old=None,
                    new=about,
                    catalog_id=own,
                )
