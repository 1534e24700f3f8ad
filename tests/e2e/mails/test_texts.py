"""The texts of e-mails over the API."""

from typing import Any

import pytest

from holdfast.domain.mails.kinds import MAILS, MailKind
from tests.e2e.answers import problem_of
from tests.e2e.owner import Owner
from tests.support.platform import Json, Platform

PATH = "/api/organization/mails"
LINES = ["Hi,", "", "At {{ venue }}."]
OWN = {"mail": "warning", "subject": "Hurry: {{ event }}", "body_lines": LINES}


def put(platform: Platform, **body: Any) -> Json:
    answer = platform.client.put(PATH, json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def texts(platform: Platform) -> dict[str, Json]:
    return {text["mail"]: text for text in platform.client.get(PATH).json()["data"]}


def test_every_mail_has_a_built_in_text(platform: Platform) -> None:
    found = texts(platform)
    assert set(found) == set(MailKind)
    for kind, design in MAILS.items():
        assert found[kind.value] == {
            "mail": kind.value,
            "subject": design.built_in.subject,
            "body_lines": design.built_in.body.split("\n"),
            "is_built_in": True,
            "placeholders": list(design.placeholders),
        }


def test_a_text_is_replaced_and_restored(platform: Platform, owner: Owner) -> None:
    before = texts(platform)
    changed = put(platform, **OWN | {"body_lines": [*LINES, " ", ""]})
    assert changed.pop("updated_at")
    assert changed == before["warning"] | OWN | {"is_built_in": False}
    assert texts(platform)["warning"]["subject"] == "Hurry: {{ event }}"
    assert put(platform, mail="warning") == before["warning"]
    assert texts(platform) == before
    query = (
        "SELECT action, new ->> 'mail' FROM audit WHERE organization_id = %s"
        " AND action LIKE 'mail_template.%%' ORDER BY seq"
    )
    assert owner.rows(query, platform.organization_id) == [
        ("mail_template.changed", "warning"),
        ("mail_template.reset", "warning"),
    ]


def test_the_same_text_again_changes_nothing(platform: Platform, owner: Owner) -> None:
    assert put(platform, **OWN) == put(platform, **OWN)
    query = "SELECT FROM audit WHERE organization_id = %s AND action = 'mail_template.changed'"
    assert len(owner.rows(query, platform.organization_id)) == 1


def test_a_repeated_request_gets_its_first_answer(platform: Platform) -> None:
    key = {"Idempotency-Key": "mail-1"}
    first = platform.client.put(PATH, json=OWN, headers=key)
    put(platform, mail="warning")
    again = platform.client.put(PATH, json=OWN, headers=key)
    assert again.json() == first.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    assert texts(platform)["warning"]["is_built_in"]


@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        ({"mail": "nonsense"}, "mail", ""),
        ({"subject": None}, "subject", ""),
        ({"body_lines": []}, "body_lines", ""),
        ({"body_lines": [" "]}, "body_lines", "not blank"),
        ({"body_lines": ["{{ secret }}"]}, "body_lines", "{{ secret }} is not a placeholder here"),
        ({"subject": "{{ seats }}"}, "subject", "{{ seats }} is not a placeholder here"),
        ({"body_lines": ["x" * 5_001]}, "body_lines[0]", ""),
        ({"body_lines": ["x" * 2_500] * 2}, "body_lines", "Must be 1 to 5000 characters"),
        ({"mail": "confirmation"}, "body_lines", "{{ venue }} is not a placeholder here"),
    ],
)
def test_wrong_text_is_refused_by_field(
    platform: Platform, body: Json, field: str, words: str
) -> None:
    before = texts(platform)
    problem = problem_of(platform.client.put(PATH, json=OWN | body), 400, "validation_error")
    assert field in {error["field"] for error in problem["errors"]}
    assert words in str(problem["errors"])
    assert texts(platform) == before


def test_subject_and_body_come_together(platform: Platform) -> None:
    answer = platform.client.put(PATH, json={"mail": "warning", "subject": "Only this"})
    problem = problem_of(answer, 400, "validation_error")
    assert [error["field"] for error in problem["errors"]] == ["body_lines"]


def test_a_neighbour_has_their_own_texts(platform: Platform, neighbour: Platform) -> None:
    put(platform, **OWN)
    assert texts(neighbour)["warning"]["is_built_in"]
