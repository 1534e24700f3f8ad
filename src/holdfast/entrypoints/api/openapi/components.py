"""Parts of the document that several operations share."""

from typing import Any

Json = dict[str, Any]


def referenced(kind: str, name: str) -> Json:
    return {"$ref": f"#/components/{kind}/{name}"}


class Components:
    """Shared parts by kind and name. Different parts of one name get numbered names."""

    def __init__(self) -> None:
        self.shared: dict[str, dict[str, Json]] = {}

    def share(self, kind: str, name: str, part: Json) -> Json:
        known = self.shared.setdefault(kind, {})
        number, unique = 1, name
        while known.setdefault(unique, part) != part:
            number += 1
            unique = f"{name}{number}"
        return referenced(kind, unique)
