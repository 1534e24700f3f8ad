"""What would show a leak or a change: values that only the victim has, and digests of its rows."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import psycopg

from tests.matrix.installation import Answer, Request

# When a credential was last used is noted even if the call is refused afterwards.
NOTED = {"api_key": {"last_used_at"}, "member_session": {"last_used_at"}}
# Refused attempts with the victim's own credentials, valid or ended, are in the victim's audit log.
REFUSED = "new ? 'error'"
# Numbers of the victim's catalog; others may be anybody's.
NUMBERS = {"98731", "45817"}

_WORD = re.compile(r"[A-Za-z0-9_@.+-]{6,}")
# Every name of a tenant has a digit, which tells it from the words of a message.
_TELLING = re.compile(r"(?=.*\d)(?!\d+[.:]?\d*Z?$)")
_CATALOG = ("event", "session", "pool", "ticket_type", "block", "seat", "organization")


def words(text: str) -> set[str]:
    return {word.strip(".+-") for word in _WORD.findall(text)}


@dataclass(frozen=True)
class Table:
    name: str
    key: str  # the column with the organization
    columns: tuple[str, ...]

    @property
    def row(self) -> str:
        """What a digest covers."""
        covered = [f"{each}::text" for each in self.columns if each not in NOTED.get(self.name, ())]
        return f"concat_ws('|', {', '.join(covered)})"


class Records:
    """All rows of an organization, whatever tables there are."""

    def __init__(self, owner_url: str) -> None:
        self._url = owner_url
        self.tables = tuple(self._found())

    def _found(self) -> Iterator[Table]:
        query = """
            SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum)
            FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
            WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND NOT a.attisdropped
                AND c.relnamespace = 'public'::regnamespace
            GROUP BY c.relname ORDER BY c.relname"""
        with psycopg.connect(self._url) as owner:
            for name, columns in owner.execute(query).fetchall():
                if name == "organization":
                    yield Table(name, "id", tuple(columns))
                elif "organization_id" in columns:
                    yield Table(name, "organization_id", tuple(columns))

    def rows(self, organization_id: str) -> dict[str, list[str]]:
        found = {}
        with psycopg.connect(self._url) as owner:
            for table in self.tables:
                query = f"SELECT whole::text FROM {table.name} whole WHERE {table.key} = %s"
                rows = owner.execute(query.encode(), [organization_id])
                found[table.name] = [text for (text,) in rows]
        return found

    def changeable_rows(self, organization_id: str) -> set[tuple[str, str]]:
        """Every row with its table, without the columns that may change."""
        found = set[tuple[str, str]]()
        with psycopg.connect(self._url) as owner:
            for table in self.tables:
                query = f"SELECT {table.row} FROM {table.name} whole WHERE {table.key} = %s"
                rows = owner.execute(query.encode(), [organization_id])
                found |= {(table.name, text) for (text,) in rows}
        return found

    def canaries(self, organization_id: str, others: Collection[str]) -> set[str]:
        """Words in the victim's rows that are in nobody else's."""
        own, known = self._words(organization_id), set[str]()
        for other in others:
            known |= self._words(other)
        return {word for word in own - known if _TELLING.match(word) or word in NUMBERS}

    def private_canaries(self, organization_id: str, mentioning: Collection[str]) -> set[str]:
        """Words in a holder's rows that are in no row of the catalog, nor of anybody else."""
        own, known = set[str](), set[str]()
        for table, texts in self.rows(organization_id).items():
            for text in texts:
                is_own = table not in _CATALOG and any(each in text for each in mentioning)
                (own if is_own else known).update(words(text))
        return {word for word in own - known if _TELLING.match(word)}

    def _words(self, organization_id: str) -> set[str]:
        texts = (text for texts in self.rows(organization_id).values() for text in texts)
        return set().union(*map(words, texts))

    def digests(
        self, organization_id: str, *, mentioning: Collection[str] = (), with_refused: bool
    ) -> Mapping[str, tuple[int, str]]:
        """The number of rows of each table, and a digest of their contents. With `mentioning`, only
        of the rows that contain one of these texts."""
        found = {}
        with psycopg.connect(self._url) as owner:
            for table in self.tables:
                conditions = [f"{table.key} = %(organization)s"]
                if table.name == "audit" and not with_refused:
                    conditions.append(f"NOT {REFUSED}")
                if mentioning:
                    conditions.append("whole::text ~ %(mentioned)s")
                query = (
                    f"SELECT count(*), coalesce(md5(string_agg({table.row}, '/'"
                    f" ORDER BY {table.row})), '') FROM {table.name} whole"
                    f" WHERE {' AND '.join(conditions)}"
                )
                values = {"organization": organization_id, "mentioned": "|".join(mentioning)}
                row = owner.execute(query.encode(), values).fetchone()
                assert row is not None
                found[table.name] = (int(row[0]), str(row[1]))
        return found


def shown(answer: Answer) -> str:
    headers = b"\n".join(name + b": " + value for name, value in answer.headers)
    return headers.decode("latin-1") + "\n" + answer.body.decode("utf-8", "replace")


def leaked(answer: Answer, request: Request, canaries: Collection[str]) -> set[str]:
    """Canaries in the answer that the caller did not send."""
    found = words(shown(answer)) & set(canaries)
    return found - words(request.target + request.body.decode()) if found else found


_VOLATILE = (
    (re.compile(r'"request_id":"[^"]*"'), '"request_id"'),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<id>"),
    (re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+Z?"), "<time>"),
    (re.compile(r'"(version|expires_in|[a-z_]+_seconds|[a-z_]+_unix)":\d+'), "<number>"),
    (re.compile(r'"(token|secret_key|prefix|invitation_path|reference)":"[^"]*"'), "<made>"),
)


def texts_pattern(texts: Collection[str]) -> re.Pattern[str]:
    """Matches any of these, the longest first."""
    return re.compile("|".join(map(re.escape, sorted(texts, key=len, reverse=True))))


def shape(answer: Answer, sent: re.Pattern[str]) -> tuple[int, str]:
    """The answer without the sent texts and without what differs between any two answers."""
    text = sent.sub("<sent>", answer.body.decode("utf-8", "replace"))
    for pattern, name in _VOLATILE:
        text = pattern.sub(name, text)
    return answer.status, text
