"""The keyed hashes by which the audit names people."""

from uuid import uuid4

from holdfast.domain.holder_hash import NO_HASHES, HolderHashes
from holdfast.domain.ids import OrganizationId
from holdfast.domain.values import EmailAddress, Holder

SECRET = "a secret of the installation, 32"
ANN = Holder(EmailAddress("Ann@example.com"), "ann")
OURS, THEIRS = (OrganizationId(uuid4()) for _ in range(2))


def test_organizations_cannot_find_out_which_customers_they_share() -> None:
    hashes = HolderHashes(SECRET)
    own, others = hashes.of(OURS, ANN), hashes.of(THEIRS, ANN)
    assert own == hashes.of(OURS, ANN)
    assert len({*own, *others}) == 4


def test_an_address_has_one_hash_in_upper_and_lower_case() -> None:
    hashes = HolderHashes(SECRET)
    small = Holder(EmailAddress("ann@example.com"))
    assert hashes.of(OURS, small)[0] == hashes.of(OURS, ANN)[1]


def test_every_secret_finds_what_was_recorded_with_it() -> None:
    older = HolderHashes(SECRET).of(OURS, ANN)[0]
    rotated = HolderHashes("the next secret of the installation", SECRET)
    assert rotated.of(OURS, ANN)[0] != older
    assert rotated.all_of(OURS, ANN) == [rotated.of(OURS, ANN)[0], older]
    assert NO_HASHES.all_of(OURS, ANN) == []
