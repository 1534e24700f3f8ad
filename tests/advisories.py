"""Checks the locked packages for known vulnerabilities, with pip-audit. Fails if one has any.
Without access to the advisory database it only says so: the check must not stop work offline."""

import json
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).parents[1] / "requirements.lock"
SECONDS_MAX = 300


def main() -> int:
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(LOCK), "--disable-pip"]
    options = ["--require-hashes", "--format", "json", "--progress-spinner", "off"]
    try:
        done = subprocess.run(
            [*command, *options], capture_output=True, text=True, check=False, timeout=SECONDS_MAX
        )
        packages = json.loads(done.stdout)["dependencies"]
    except (subprocess.TimeoutExpired, ValueError):
        packages = []
    return judged(packages)


def judged(packages: list[dict[str, object]]) -> int:
    """`vulns` is missing where the database does not know the package."""
    checked = [each for each in packages if "vulns" in each]
    found = [each for each in checked if each["vulns"]]
    if not checked:
        return _say("Not checked for known vulnerabilities: no advisory database can be reached.")
    if found:
        for each in found:
            assert isinstance(each["vulns"], list)
            ids = ", ".join(vulnerability["id"] for vulnerability in each["vulns"])
            _say(f"{each['name']} {each['version']}: {ids}")
        return 1
    if len(checked) < len(packages):
        unknown = len(packages) - len(checked)
        return _say(f"{len(checked)} packages have no known vulnerability; {unknown} not checked.")
    return _say(f"None of the {len(checked)} locked packages has a known vulnerability.")


def _say(sentence: str) -> int:
    print(sentence)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
