"""The hold policy in requests and answers, with the fields of the domain's policy."""

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct

from holdfast.domain.policy import POLICY_FIELDS, PolicyOverride
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.fields import ruled
from holdfast.entrypoints.api.http.shapes import AnswerShape, RequestShape


def policy_type(name: str) -> Any:
    """The type of a policy field, with its rule."""
    field = POLICY_FIELDS[name]
    if field.bounds is None:
        return Annotated[bool, Meta(description=field.meaning)]
    meta = Meta(
        ge=field.bounds.least,
        le=field.bounds.most,
        description=field.meaning,
        examples=[field.bounds.example],
        extra=ruled(ProblemCode.INVALID_POLICY, field.rule(name)),
    )
    return Annotated[int, meta]


def _policy_struct(name: str, doc: str, base: type[Struct], absent: Any, default: Any) -> Any:
    """`absent` is the type of a field without a value."""
    return defstruct(
        name,
        [(field, policy_type(field) | absent, default) for field in POLICY_FIELDS],
        bases=(base,),
        namespace={"__doc__": doc},
        module=__name__,
        frozen=True,
    )


if TYPE_CHECKING:  # nothing reads the fields one by one

    class PolicyRequest(RequestShape, frozen=True): ...

    class PolicyChangeRequest(RequestShape, frozen=True): ...

    class PolicyAnswer(AnswerShape, frozen=True): ...
else:
    PolicyRequest = _policy_struct(
        "PolicyRequest",
        "Omitted fields are inherited from the level above: event, then organization.",
        RequestShape,
        None,
        None,
    )
    PolicyChangeRequest = _policy_struct(
        "PolicyChangeRequest",
        "Omitted fields stay unchanged; null inherits the field from the level above again.",
        RequestShape,
        UnsetType | None,
        UNSET,
    )
    PolicyAnswer = _policy_struct(
        "PolicyAnswer",
        "The fields set at this level; the others are inherited.",
        AnswerShape,
        UnsetType,
        UNSET,
    )


def policy_answer(policy: PolicyOverride) -> PolicyAnswer:
    set_here = policy.by_name().items()
    return PolicyAnswer(**{name: value for name, value in set_here if value is not None})
