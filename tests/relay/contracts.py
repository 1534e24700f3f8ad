"""The contracts as files."""

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

CONTRACTS = Path(__file__).parents[2] / "contracts"
INBOUND = CONTRACTS / "inbound" / "order.confirmed.json"

Json = dict[str, Any]


def fact_files() -> list[Path]:
    return sorted((CONTRACTS / "facts").glob("*.json"))


def schema_in(path: Path) -> Json:
    return dict(json.loads(path.read_text()))


def schema_of(fact_type: str) -> Json:
    return schema_in(CONTRACTS / "facts" / f"{fact_type}.json")


def misfits(schema: Json, message: object) -> list[str]:
    validator = Draft202012Validator(schema, format_checker=FormatChecker())
    return [error.message for error in validator.iter_errors(message)]
