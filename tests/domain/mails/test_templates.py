"""Templates of mails: plain text with a fixed list of placeholders."""

import pytest

from holdfast.domain.mails.kinds import MAILS, MailKind
from holdfast.domain.mails.templates import (
    BODY_LENGTH_MAX,
    RENDERED_SUBJECT_LENGTH_MAX,
    SUBJECT_LENGTH_MAX,
    MailTemplate,
    normalized,
    rendered,
)

WARNING = MAILS[MailKind.WARNING]


def body_of(text: str, values: dict[str, str]) -> str:
    return rendered(MailTemplate("s", text), values).body


@pytest.mark.parametrize("kind", MailKind)
def test_the_built_in_text_is_valid_and_normal(kind: MailKind) -> None:
    design = MAILS[kind]
    assert design.errors(design.built_in) == {}
    assert normalized(design.built_in.subject, design.built_in.body) == design.built_in
    preview = rendered(design.built_in, design.samples())
    assert "{{" not in preview.subject + preview.body
    assert design.label
    assert design.occasion.endswith(".")


def test_placeholders_are_replaced_with_or_without_spaces() -> None:
    assert body_of("{{event}}, {{  venue }}.", {"event": "A", "venue": "B"}) == "A, B.\n"


def test_values_are_never_read_as_placeholders() -> None:
    values = {"event": "{{ total }}", "total": "0.00 EUR"}
    mail = rendered(MailTemplate("{{ event }}", "{{ event }}"), values)
    assert (mail.subject, mail.body) == ("{{ total }}", "{{ total }}\n")


def test_a_line_whose_placeholders_are_all_empty_is_left_out() -> None:
    values = {"venue": "", "event": "Gala"}
    assert body_of("a\n\nAt {{ venue }}\n\nb", values) == "a\n\nb\n"
    assert body_of("{{ event }} {{ venue }}", values) == "Gala\n"


def test_a_value_adds_no_line_to_a_subject() -> None:
    mail = rendered(MailTemplate("{{ event }}!", "b"), {"event": "a\r\nBcc: all@example.com"})
    assert mail.subject == "a Bcc: all@example.com!"


def test_a_subject_stays_short() -> None:
    mail = rendered(MailTemplate("{{ event }}", "b"), {"event": "x" * 1_000})
    assert len(mail.subject) == RENDERED_SUBJECT_LENGTH_MAX
    exact = "x" * RENDERED_SUBJECT_LENGTH_MAX
    assert rendered(MailTemplate("{{ event }}", "b"), {"event": exact}).subject == exact


def test_an_unknown_placeholder_is_named_with_the_allowed_ones() -> None:
    errors = WARNING.errors(MailTemplate("Hi {{ ticket_list }}", "{{ secret_key }} {{ event }}"))
    assert errors["body"][0].startswith("{{ secret_key }} is not a placeholder here. Use one of: ")
    assert "{{ pay_by }}" in errors["body"][0]
    assert "{{ ticket_list }} is not a placeholder here." in errors["subject"][0]


def test_text_of_several_lines_is_not_for_the_subject() -> None:
    (error,) = WARNING.errors(MailTemplate("{{ seats }}", "b"))["subject"]
    assert "{{ seats }} is not a placeholder here" in error
    assert "{{ seats }}," not in error


@pytest.mark.parametrize(
    "text",
    [
        "{{ settings.SECRET_KEY }}",
        "{{ event.__class__ }}",
        "{{ event|upper }}",
        "{{ 7*7 }}",
        "{{ }}",
        "{{ event",
        "event }}",
        "{{ {{ event }} }}",
        "{{ Event }}",
    ],
)
def test_there_are_no_expressions(text: str) -> None:
    (error,) = WARNING.errors(MailTemplate("s", text))["body"]
    assert error.startswith("Double braces must enclose the name of a placeholder. Use one of: ")


@pytest.mark.parametrize("text", ["{% debug %}", "${event}", "%(event)s", "{event}", "<b>x</b>"])
def test_other_languages_are_plain_text(text: str) -> None:
    assert WARNING.errors(MailTemplate(text, text)) == {}
    assert body_of(text, WARNING.samples()) == f"{text}\n"


@pytest.mark.parametrize(
    ("subject", "body", "field"),
    [
        ("", "b", "subject"),
        (" ", "b", "subject"),
        ("x" * (SUBJECT_LENGTH_MAX + 1), "b", "subject"),
        ("a\nb", "b", "subject"),
        ("a\x00", "b", "subject"),
        ("s", "", "body"),
        ("s", "\n\n", "body"),
        ("s", "x" * (BODY_LENGTH_MAX + 1), "body"),
        ("s", "a\x1b[31m", "body"),
    ],
)
def test_wrong_text_is_refused_by_field(subject: str, body: str, field: str) -> None:
    assert list(WARNING.errors(MailTemplate(subject, body))) == [field]


def test_text_of_the_greatest_length_is_accepted() -> None:
    longest = MailTemplate("x" * SUBJECT_LENGTH_MAX, "x\n\t" + "x" * (BODY_LENGTH_MAX - 3))
    assert WARNING.errors(longest) == {}


def test_a_confirmation_must_have_the_ticket_codes() -> None:
    errors = MAILS[MailKind.CONFIRMATION].errors(MailTemplate("s", "Thank you"))
    assert errors == {
        "body": [
            "The body must contain {{ ticket_list }}: the tickets with their codes, by session"
        ]
    }


def test_text_from_a_browser_is_normalized() -> None:
    assert normalized(" s ", "\r\na  \r\n\r\nb\r\n") == MailTemplate("s", "a\n\nb")
