"""Addresses as they are stored: sealed, and found by a keyed hash."""

from uuid import uuid4

import pytest

from holdfast.domain.holder_hash import HolderHashes
from holdfast.domain.ids import OrganizationId
from holdfast.domain.orders.order import Attendee
from holdfast.domain.values import EmailAddress, Holder
from holdfast.ports.privacy.addresses import Addresses, SecretMissing
from holdfast.services.access.address_seal import address_seal

OLD, NEW = "the old secret of the installation", "the new secret of the installation"
OWN, OTHER = OrganizationId(uuid4()), OrganizationId(uuid4())
ADA = EmailAddress("Ada@example.com")


def addresses(*secrets: str) -> Addresses:
    return Addresses(address_seal(secrets), HolderHashes(*secrets))


@pytest.mark.parametrize("secrets", [(), (OLD,), (NEW, OLD)])
def test_an_address_is_read_as_it_was_stored(secrets: tuple[str, ...]) -> None:
    sealed, key = addresses(*secrets).stored(OWN, ADA)
    assert sealed is not None
    assert addresses(*secrets).opened(OWN, sealed) == ADA
    assert (b"example" in sealed) == (not secrets)
    assert key in addresses(*secrets).hashes.address_keys(OWN, EmailAddress("aDA@Example.com"))
    assert key not in addresses(*secrets).hashes.address_keys(OTHER, ADA)


def test_no_address_is_nothing() -> None:
    assert addresses(OLD).stored(OWN, None) == (None, None)
    assert addresses(OLD).opened(OWN, None) is None


def test_on_the_way_to_the_first_secret_nothing_is_sealed_but_all_is_read_and_found() -> None:
    coming = Addresses(address_seal((), (NEW,)), HolderHashes(older=(NEW,)))
    clear, sealed = addresses().stored(OWN, ADA), addresses(NEW).stored(OWN, ADA)
    assert coming.stored(OWN, ADA) == clear
    for stored, key in (clear, sealed):
        assert coming.opened(OWN, stored) == ADA
        assert key in coming.hashes.address_keys(OWN, ADA)
    assert coming.hashes.of(OWN, Holder(ADA)) == (None, None)
    assert coming.hashes.all_of(OWN, Holder(ADA)) == [sealed[1]]


@pytest.mark.parametrize("before", [(), (OLD,)], ids=["without a secret", "with an old one"])
def test_a_new_secret_reads_and_finds_what_was_stored_before(before: tuple[str, ...]) -> None:
    sealed, key = addresses(*before).stored(OWN, ADA)
    now = addresses(NEW, *before)
    assert now.opened(OWN, sealed) == ADA
    newest, *older = now.hashes.address_keys(OWN, ADA)
    assert key in older
    assert now.stored(OWN, ADA)[1] == newest


def test_a_missing_secret_and_another_organization_cannot_read_it() -> None:
    sealed, _ = addresses(OLD).stored(OWN, ADA)
    for stranger, organization in (
        (addresses(NEW), OWN),
        (addresses(), OWN),
        (addresses(OLD), OTHER),
    ):
        unreadable = stranger.opened(organization, sealed)
        assert_unreadable(unreadable)
        assert unreadable == stranger.opened(organization, sealed) != ADA


def assert_unreadable(email: EmailAddress | None) -> None:
    """It still has a holder, who is nobody else, and shows nothing."""
    assert email is not None
    assert not email.is_readable
    for needs_the_text in (
        lambda: email.value,
        lambda: email.normalized,
        lambda: addresses(OLD).stored(OWN, email),
        lambda: Holder(email).is_person(Holder(ADA)),
        lambda: Holder(ADA).is_same_as(Holder(email)),
    ):
        with pytest.raises(SecretMissing, match="HOLDFAST_SECRET_KEY"):
            needs_the_text()
    assert Holder(email).key not in {Holder(ADA).key, Holder(user_id="ada").key}
    assert str(email) == "***"
    assert HolderHashes(NEW).of(OWN, Holder(email)) == (None, None)


def test_with_a_user_id_an_unreadable_address_is_in_nobodys_way() -> None:
    sealed, _ = addresses(OLD).stored(OWN, ADA)
    holder = Holder(addresses(NEW).opened(OWN, sealed), "ada")
    assert holder.key == Holder(user_id="ada").key
    assert holder.is_person(Holder(ADA, "ada"))
    assert not holder.is_person(Holder(ADA))
    assert holder.with_email_of(Holder(ADA, "ada")) == Holder(ADA, "ada")


def test_two_sealings_differ_and_a_changed_byte_is_noticed() -> None:
    sealed, _ = addresses(OLD).stored(OWN, ADA)
    again, _ = addresses(OLD).stored(OWN, ADA)
    assert sealed is not None
    assert sealed != again
    assert_unreadable(addresses(OLD).opened(OWN, sealed[:-1] + bytes([sealed[-1] ^ 1])))


@pytest.mark.parametrize("stored", [b"\x00", b"\x00ada", b"\x00\xff", b""])
def test_a_damaged_text_without_a_secret_is_unreadable_too(stored: bytes) -> None:
    box = addresses()
    assert_unreadable(box.opened(OWN, stored))
    assert box.readable_attendee(OWN, stored) is None


@pytest.mark.parametrize("length", [1, 5, 9, 17, 20])
def test_an_address_that_was_cut_off_is_unreadable(length: int) -> None:
    sealed, _ = addresses(OLD).stored(OWN, ADA)
    assert sealed is not None
    assert_unreadable(addresses(OLD).opened(OWN, sealed[:length]))


@pytest.mark.parametrize(
    "attendee", [Attendee("Ada"), Attendee(None, ADA), Attendee('A "\u00e4" \\', ADA)]
)
def test_an_attendee_is_sealed_whole(attendee: Attendee) -> None:
    box = addresses(NEW)
    sealed, key = box.stored_attendee(OWN, attendee)
    assert box.opened_attendee(OWN, sealed) == attendee
    assert key == (None if attendee.email is None else box.stored(OWN, ADA)[1])


def test_the_audit_has_the_same_hash_and_none_without_a_secret() -> None:
    hashes = HolderHashes(NEW, OLD)
    assert hashes.of(OWN, Holder(ADA)) == (hashes.address_keys(OWN, ADA)[0], None)
    assert len(hashes.all_of(OWN, Holder(ADA))) == 2
    assert HolderHashes().of(OWN, Holder(ADA)) == (None, None)
    assert HolderHashes().all_of(OWN, Holder(ADA)) == []
