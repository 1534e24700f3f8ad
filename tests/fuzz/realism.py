"""Makes generated cases go deep: with ids that exist, the examples of the document as a base, and a
caller with the rights. Values that were generated to be invalid are kept."""

from collections.abc import Mapping
from copy import deepcopy
from random import Random
from typing import Any

from schemathesis import Case
from schemathesis.core.parameters import ParameterLocation

from tests.fuzz.scene import Scene
from tests.support.platform import EMAIL_HEADER, Json

HOLDER_FIELDS = ("user_id", "customer_email")


class Realism:
    def __init__(self, document: Json, random: Random) -> None:
        self._random = random
        operations = {
            (path, method.upper()): operation
            for path, item in document["paths"].items()
            for method, operation in item.items()
        }
        self._contents: dict[tuple[str, str], Json] = {
            key: operation.get("requestBody", {}).get("content", {})
            for key, operation in operations.items()
        }
        self._for_holders = {
            key
            for key, operation in operations.items()
            if {"holderToken": []} in operation["security"]
        }

    def caller_of(self, scene: Scene, case: Case[Any]) -> str:
        return scene.caller_of((case.path, case.method) in self._for_holders)

    def apply(self, case: Case[Any], scene: Scene, caller: str) -> None:
        """Replace most of what is valid by something that exists."""
        like: Mapping[str, str] = {}
        if self._is_valid(case, ParameterLocation.PATH):
            like = scene.known(case.path_parameters, {})
            case.path_parameters = self._existing(case.path_parameters, scene, like)
        if self._is_valid(case, ParameterLocation.QUERY):
            fewer = {name: each for name, each in case.query.items() if self._chance(0.6)}
            case.query = self._as_asked_by(caller, self._existing(fewer, scene, like))
        if self._is_valid(case, ParameterLocation.HEADER) and self._chance(0.8):
            for name in ("Idempotency-Key", "X-Acting-User", EMAIL_HEADER):
                case.headers.pop(name, None)
        if self._is_valid(case, ParameterLocation.BODY):
            self._apply_to_body(case, scene, caller, like)

    def _apply_to_body(
        self, case: Case[Any], scene: Scene, caller: str, like: Mapping[str, str]
    ) -> None:
        content = self._contents[case.path, case.method].get(case.media_type or "", {})
        if "example" in content and self._chance(0.8):
            case.body = content["example"]
        if isinstance(case.body, dict):
            body = dict(case.body)
            if self._chance(0.8):
                body = self._like_an_example(content, body)
            case.body = self._as_asked_by(caller, self._existing(body, scene, like))

    def _like_an_example(self, content: Json, generated: Json) -> Json:
        """An example of the document, often with a field more, less or different."""
        (*examples,) = content["examples"].values()
        body = dict(deepcopy(self._random.choice(examples)["value"]))
        change = self._random.random()
        if change < 0.2 and generated:
            name = self._random.choice(sorted(generated))
            body[name] = generated[name]
        elif change < 0.4 and body:
            del body[self._random.choice(sorted(body))]
        return body

    def _existing(self, given: Any, scene: Scene, like: Mapping[str, str], name: str = "") -> Any:
        """The same with its ids, at any depth, replaced by some that exist and belong together."""
        if isinstance(given, dict):
            names = {key.removesuffix("s") for key in given}
            like = {**like, **scene.known(names, like)} if self._chance(0.95) else like
            return {key: self._existing(value, scene, like, key) for key, value in given.items()}
        if isinstance(given, list):
            each_name = name.removesuffix("s")
            return [
                self._existing(each, scene, scene.known([each_name], like) or like, each_name)
                for each in given[: None if self._chance(0.5) else 1]
            ]
        return like.get(name, given) if isinstance(given, str) else given

    def _as_asked_by(self, caller: str, fields: Json) -> Json:
        """A holder token already says who asks."""
        if caller == "holder" and self._chance(0.9):
            return {name: value for name, value in fields.items() if name not in HOLDER_FIELDS}
        return fields

    def _is_valid(self, case: Case[Any], location: ParameterLocation) -> bool:
        return case.meta is None or not case.meta.is_negative_at(location)

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability
