"""Readers for API answers."""

from datetime import datetime

import httpx

from tests.support.platform import Json


def problem_of(answer: httpx.Response, status: int, error: str) -> Json:
    """The problem, after checking the fields that every problem has."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem: Json = answer.json()
    assert problem["error"] == error, problem
    assert problem["status"] == status
    assert problem["type"] == f"urn:holdfast:problem:{error}"
    assert problem["message"] == problem["detail"]
    assert problem["request_id"] == answer.headers["x-request-id"]
    assert problem["title"]
    assert problem["message"]
    return problem


def moment(text: object) -> datetime:
    """Parse a time as the API writes it: ISO 8601, in UTC, with a Z."""
    assert isinstance(text, str)
    assert text.endswith("Z")
    return datetime.fromisoformat(text)


def seconds_between(earlier: object, later: object) -> float:
    return (moment(later) - moment(earlier)).total_seconds()


def without(answer: httpx.Response, *names: str) -> Json:
    """The fields of an answer, minus those that differ every time."""
    return {name: value for name, value in answer.json().items() if name not in names}


def placed(answer: httpx.Response) -> Json:
    """The hold that this answer created."""
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def first_error(answer: httpx.Response) -> tuple[str, str]:
    """Field and code of the first validation error."""
    assert answer.status_code == 400, answer.text
    error = answer.json()["errors"][0]
    return error["field"], error["code"]
