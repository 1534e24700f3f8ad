"""What `make check` says of the locked packages."""

import pytest

from tests.advisories import judged

SOUND: dict[str, object] = {"name": "msgspec", "version": "1.0", "vulns": []}
UNKNOWN: dict[str, object] = {"name": "ours", "skip_reason": "not found"}
VULNERABLE: dict[str, object] = {
    "name": "old",
    "version": "0.1",
    "vulns": [{"id": "PYSEC-1"}, {"id": "PYSEC-2"}],
}


def test_a_vulnerable_package_fails_the_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert judged([SOUND, VULNERABLE, UNKNOWN]) == 1
    assert capsys.readouterr().out == "old 0.1: PYSEC-1, PYSEC-2\n"


@pytest.mark.parametrize(
    ("packages", "said"),
    [
        (
            [UNKNOWN],
            "Not checked for known vulnerabilities: no advisory database can be reached.\n",
        ),
        ([SOUND], "None of the 1 locked packages has a known vulnerability.\n"),
        ([SOUND, UNKNOWN], "1 packages have no known vulnerability; 1 not checked.\n"),
    ],
)
def test_otherwise_it_says_how_much_was_checked(
    capsys: pytest.CaptureFixture[str], packages: list[dict[str, object]], said: str
) -> None:
    assert judged(packages) == 0
    assert capsys.readouterr().out == said
