"""A person, as URLs name them: by keyed hashes of the address, by user id, or by both."""

from typing import Any, Self
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.db.models import Q
from django.http import Http404, HttpRequest, QueryDict
from django.urls import reverse
from django.utils.safestring import SafeString

from holdfast.domain.access.scopes import Scope
from holdfast.domain.holder_hash import HolderHashes
from holdfast.domain.ids import OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.values import EmailAddress, Holder, InvalidValue
from holdfast.entrypoints.admin.display import link
from holdfast.entrypoints.admin.lookups import uuid_or_none
from holdfast.entrypoints.admin.people.rights import current_request, may

HASHES_MAX = 20


@immutable
class Person:
    """`hashes` are those of the address with each secret."""

    organization_id: UUID
    hashes: tuple[UUID, ...] = ()
    user_id: str | None = None

    @classmethod
    def named(cls, organization_id: UUID, text: str) -> Self:
        """By a whole address or user id. Raises InvalidValue."""
        if "@" in text:
            return cls(organization_id, _hashes(organization_id, Holder(EmailAddress(text))))
        user_id = Holder(user_id=text).user_id
        return cls(organization_id, user_id=user_id)

    @classmethod
    def of_row(cls, row: Any) -> Self | None:
        """The holder of a hold or order; None if the row names nobody who can be found."""
        opened = settings.HOLDFAST_ADDRESSES.opened(
            row.organization_id, None if row.customer_email is None else bytes(row.customer_email)
        )
        hashes: tuple[UUID, ...] = ()
        if opened is not None and opened.is_readable:
            hashes = _hashes(row.organization_id, Holder(opened))
        elif row.email_key is not None:
            hashes = (row.email_key,)
        user_id = row.user_id
        if user_id is not None and "@" in user_id:  # an address, which no URL may contain
            hashes = (*hashes, *_hashes(row.organization_id, Holder(user_id=user_id)))
            user_id = None
        return cls(row.organization_id, hashes, user_id) if hashes or user_id else None

    @classmethod
    def of_query(cls, query: QueryDict) -> Self:
        """As in the URL of a page; 404 if it is not valid."""
        organization_id = uuid_or_none(query.get("organization", ""))
        hashes = tuple(map(uuid_or_none, filter(None, query.get("holder", "").split(","))))
        user_id = query.get("user") or None
        try:
            if user_id is not None:
                Holder(user_id=user_id)
        except InvalidValue:
            raise Http404 from None
        known = tuple(each for each in hashes if each is not None)
        is_valid = len(known) == len(hashes) <= HASHES_MAX and (known or user_id)
        if organization_id is None or not is_valid:
            raise Http404
        return cls(organization_id, known, user_id)

    @property
    def query(self) -> str:
        named: dict[str, object] = {"organization": self.organization_id}
        if self.hashes:
            named["holder"] = ",".join(each.hex for each in self.hashes)
        if self.user_id is not None:
            named["user"] = self.user_id
        return urlencode(named)

    @property
    def url(self) -> str:
        return f"{reverse('find-person')}?{self.query}"

    @property
    def rows(self) -> Q:
        """The person's holds or orders. One column at a time, so that each uses its index."""
        own = Q(organization_id=self.organization_id)
        found = Q(pk__in=())
        if self.hashes:
            found |= own & Q(email_key__in=self.hashes)
        if self.user_id is not None:
            found |= own & Q(user_id=self.user_id)
        return found


def list_lookups(person: Person, hash_lookup: str, user_lookup: str) -> dict[str, object]:
    """The parameters by which a list shows the rows of the person: by user id only if there is no
    address, because a list combines its filters."""
    if person.hashes:
        return {hash_lookup: ",".join(each.hex for each in person.hashes)}
    return {user_lookup: person.user_id}


def attempts_link(row: Any, text: str) -> SafeString:
    """A link to the refused attempts of the holder of a hold or order, for those who may see
    them."""
    person = Person.of_row(row)
    if person is None or not _may_read_audit(current_request.get(), row.organization_id):
        return SafeString("")
    return link(f"{reverse('find-attempts')}?{person.query}", text)


def session_attempts_link(session: Any, text: str) -> SafeString:
    """The same for everybody's attempts in a session."""
    if not _may_read_audit(current_request.get(), session.organization_id):
        return SafeString("")
    named = {"organization": session.organization_id, "session": session.id}
    return link(f"{reverse('find-attempts')}?{urlencode(named)}", text)


def _may_read_audit(request: HttpRequest | None, organization_id: UUID) -> bool:
    return request is None or may(request, Scope.AUDIT_READ, organization_id)


def _hashes(organization_id: UUID, holder: Holder) -> tuple[UUID, ...]:
    """The hash with each secret. The hash of an address without a key, which a list of addresses
    would reverse, is left out if there is any other."""
    own = OrganizationId(organization_id)
    hashes: HolderHashes = settings.HOLDFAST_ADDRESSES.hashes
    found = hashes.all_of(own, holder)
    if not found and holder.email is not None:
        found = hashes.address_keys(own, holder.email)
    return tuple(map(UUID, found))
