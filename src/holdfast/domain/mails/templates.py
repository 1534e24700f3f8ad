"""Templates of e-mails: plain text with placeholders such as {{ booking_reference }}.

A placeholder stands for one of the values of its kind of mail, and nothing else: there are no
expressions, filters or attributes. Values are inserted once and never read as placeholders.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field

from holdfast.domain.immutable import immutable

SUBJECT_LENGTH_MAX = 200
BODY_LENGTH_MAX = 5_000
# Names of events are long, and an order may have several.
RENDERED_SUBJECT_LENGTH_MAX = 250

_PLACEHOLDER = re.compile(r"\{\{[ \t]*([a-z_]{1,40})[ \t]*\}\}", re.ASCII)
_BRACES = re.compile(r"\{\{|\}\}")
_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


@immutable
class Placeholder:
    """`sample` is shown in previews. Text of several lines does not fit into a subject. A required
    placeholder must be in the body."""

    meaning: str
    sample: str
    has_lines: bool = False
    is_required: bool = False


Placeholders = Mapping[str, Placeholder]


@immutable
class MailTemplate:
    subject: str
    body: str


@immutable
class Mail:
    """The finished text of an e-mail."""

    subject: str
    body: str


@immutable
class MailDesign:
    """One kind of e-mail: its name, when it is sent, and its built-in text."""

    label: str
    occasion: str
    placeholders: Placeholders
    built_in: MailTemplate
    names_in_subject: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        fit = tuple(name for name, each in self.placeholders.items() if not each.has_lines)
        object.__setattr__(self, "names_in_subject", fit)

    def samples(self) -> dict[str, str]:
        return {name: each.sample for name, each in self.placeholders.items()}

    def errors(self, template: MailTemplate) -> dict[str, list[str]]:
        """What is wrong with each field."""
        body = _text_errors(template.body, BODY_LENGTH_MAX, self.placeholders, lines=True)
        used = set(_PLACEHOLDER.findall(template.body))
        body += (
            f"The body must contain {written(name)}: {each.meaning}"
            for name, each in self.placeholders.items()
            if each.is_required and name not in used
        )
        subject = _text_errors(
            template.subject, SUBJECT_LENGTH_MAX, self.names_in_subject, lines=False
        )
        found = {"subject": subject, "body": body}
        return {name: errors for name, errors in found.items() if errors}


def written(name: str) -> str:
    """The placeholder as people type it."""
    return f"{{{{ {name} }}}}"


def normalized(subject: str, body: str) -> MailTemplate:
    """As stored: browsers send CR LF, and spaces at the ends mean nothing."""
    lines = [line.rstrip() for line in body.replace("\r\n", "\n").split("\n")]
    return MailTemplate(subject.strip(), "\n".join(lines).strip("\n"))


def rendered(template: MailTemplate, values: Mapping[str, str]) -> Mail:
    """The mail with these values. Lines whose placeholders all lack a value are left out, and so
    are blank lines at the ends and after another one."""
    subject = " ".join(_filled(template.subject, values).split())
    if len(subject) > RENDERED_SUBJECT_LENGTH_MAX:
        subject = subject[: RENDERED_SUBJECT_LENGTH_MAX - 1].rstrip() + _ELLIPSIS
    lines: list[str] = []
    for line in template.body.split("\n"):
        names = _PLACEHOLDER.findall(line)
        if names and not any(values.get(name) for name in names):
            continue
        text = _filled(line, values).rstrip()
        if text or (lines and lines[-1]):
            lines.append(text)
    return Mail(subject, "\n".join(lines).rstrip("\n") + "\n")


def _filled(text: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], ""), text)


def _text_errors(text: str, length_max: int, names: Iterable[str], *, lines: bool) -> list[str]:
    errors = []
    if not text.strip() or len(text) > length_max:
        errors.append(f"Must be 1 to {length_max} characters and not blank")
    printable = text.replace("\n", "").replace("\t", "") if lines else text
    if not printable.isprintable():
        errors.append("Must not contain control characters" + ("" if lines else " or line breaks"))
    allowed = list(names)
    unknown = dict.fromkeys(name for name in _PLACEHOLDER.findall(text) if name not in allowed)
    choice = f"Use one of: {', '.join(map(written, allowed))}"
    errors += (f"{written(name)} is not a placeholder here. {choice}" for name in unknown)
    if _BRACES.search(_PLACEHOLDER.sub("", text)):
        errors.append(f"Double braces must enclose the name of a placeholder. {choice}")
    return errors
