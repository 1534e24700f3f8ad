"""The page about e-mails lists every kind and every placeholder."""

import re

from holdfast.domain.mails.kinds import MAILS, MailKind
from tests.docs.pages import ROOT

TEXT = (ROOT / "docs" / "mails.md").read_text()


def test_every_kind_is_listed() -> None:
    for kind, design in MAILS.items():
        assert f"| `{kind.value}`: {design.label} |" in TEXT


def test_every_placeholder_is_listed_with_its_mails() -> None:
    rows = re.findall(r"^\| `\{\{ (\w+) \}\}` \| .* \| (.*) \|$", TEXT, re.MULTILINE)
    listed = {
        (kind, name)
        for name, mails in rows
        for kind in MailKind
        if mails == "all" or f"`{kind.value}`" in mails
    }
    assert listed == {
        (kind, name) for kind, design in MAILS.items() for name in design.placeholders
    }
    for name, mails in rows:
        is_kept_out = any(
            name in design.placeholders and name not in design.names_in_subject
            for design in MAILS.values()
        )
        assert ("not in the subject" in mails) is is_kept_out, name
