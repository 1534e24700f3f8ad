"""Names the subjects of rate limits without personal data, so that neither Valkey nor its logs
contain buyers or their addresses."""

from hashlib import blake2b

from holdfast.domain.access.rates import Rate
from holdfast.domain.ids import OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.ports.rates import Want
from holdfast.services.access.rates.book import RateBook
from holdfast.services.access.rates.limiter import RateLimiter

_DIGEST_BYTES = 16


class Subjects:
    """All processes that share a secret use the same names. Nobody else can tell from a name whom
    it stands for."""

    def __init__(self, secret: str) -> None:
        self._secret = blake2b(secret.encode(), person=b"holdfast rates").digest()

    def want(
        self,
        organization_id: OrganizationId,
        name: str,
        rate: Rate,
        subject: bytes,
        units: int = 1,
    ) -> Want:
        """A new period starts a new count. The braces keep the counts of an organization on one
        node of a cluster: a request takes from several at once."""
        digest = blake2b(subject, key=self._secret, digest_size=_DIGEST_BYTES).hexdigest()
        key = f"holdfast:{{org:{organization_id}}}:rate:{name}:{rate.seconds}:{digest}"
        return Want(name, key, rate, units)


@immutable
class Rates:
    """Everything about rate limits that a server process needs."""

    book: RateBook
    limiter: RateLimiter
    subjects: Subjects
