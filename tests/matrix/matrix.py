"""Makes the attempts and judges the answers."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any, NamedTuple

from holdfast.entrypoints.api.fairness.turns import WAITING_MAX
from holdfast.entrypoints.api.http.route import Route
from tests.matrix.attempts import (
    IDEMPOTENCY,
    Aliases,
    Attempt,
    Ids,
    Nobody,
    aimed_attempts,
    is_uuid,
    other_verbs,
)
from tests.matrix.callers import Caller
from tests.matrix.evidence import leaked, shape, texts_pattern
from tests.matrix.installation import Answer, Installation, Request

UNAUTHORIZED, METHOD_NOT_ALLOWED, SERVER_ERROR = 401, 405, 500
# All at once: strangers wait for their answers, up to ten seconds.
STRANGERS = 16_000


@dataclass
class Report:
    attempts: int = 0
    compared: int = 0  # requests with ids that nothing has
    leaks: list[str] = field(default_factory=list)
    dimensions: Counter[str] = field(default_factory=Counter)
    routes: set[str] = field(default_factory=set)
    fields: set[str] = field(default_factory=set)
    statuses: Counter[int] = field(default_factory=Counter)

    def count(self, caller: Caller, attempt: Attempt, answer: Answer) -> None:
        self.attempts += 1
        self.dimensions[caller.dimension] += 1
        self.routes.add(f"{attempt.verb} {attempt.route.path}")
        self.fields.add(f"{attempt.route.method} {attempt.route.path} {attempt.field}")
        self.statuses[answer.status] += 1

    def add(self, other: "Report") -> None:
        self.attempts += other.attempts
        self.compared += other.compared
        self.leaks += other.leaks
        self.dimensions += other.dimensions
        self.routes |= other.routes
        self.fields |= other.fields
        self.statuses += other.statuses

    def __str__(self) -> str:
        def listed(counter: Counter[Any]) -> str:
            return ", ".join(f"{name} {count:,}" for name, count in sorted(counter.items()))

        return (
            f"{self.attempts:,} attempts, {len(self.leaks)} leaks"
            f" (beside {self.compared:,} requests with unknown ids, to compare)\n"
            f"  {len(self.routes)} pairs of verb and path, {len(self.fields)} fields with an id\n"
            f"  by caller: {listed(self.dimensions)}\n  by status: {listed(self.statuses)}"
        )


class _Try(NamedTuple):
    caller: Caller
    attempt: Attempt


@dataclass
class Matrix:
    """`canaries` must not be in any answer. `retries` are idempotency keys of the victim.
    `exceptions` are the fields of a route that tell by design whether a value is taken."""

    installation: Installation
    routes: Sequence[Route[Any]]
    theirs: Ids
    canaries: set[str]
    retries: Sequence[str]
    exceptions: Mapping[str, Collection[str]] = field(default_factory=dict)
    has_errors: bool = False  # a server error is expected

    def __post_init__(self) -> None:
        self._retries = cycle(self.retries)
        self._texts = {text for texts in self.theirs.values() for text in texts}
        # A caller who has used one of these texts knows it, and may be shown it again.
        self._names = {text for text in self._texts if not is_uuid(text)}
        self._aliases = Aliases(), Aliases()

    def run(self, callers: Iterable[Caller]) -> Report:
        """Reads first: what a caller tried to change is in the caller's own audit log."""
        report, tries = Report(), list(self._tries(callers))
        refused = [each for each in tries if self._expected(*each)]
        answered = [each for each in tries if not self._expected(*each)]
        self._expect_nothing_known([each for each in answered if each.attempt.is_read], report)
        self._expect_nothing_known([each for each in answered if not each.attempt.is_read], report)
        unknown = [each for each in refused if self._expected(*each) == {UNAUTHORIZED}]
        known = [each for each in refused if self._expected(*each) != {UNAUTHORIZED}]
        self._expect_refusals(unknown, report, at_once=STRANGERS)
        self._expect_refusals(known, report, at_once=WAITING_MAX // 4)
        return report

    def _tries(self, callers: Iterable[Caller]) -> Iterator[_Try]:
        for caller in callers:
            routes = [route for route in self.routes if caller.tries(route)]
            aimed = [None] if caller.own is None else [None, caller.own]
            for own in aimed:
                for attempt in aimed_attempts(
                    routes, self.theirs, own, is_browser=caller.is_browser
                ):
                    yield _Try(caller, attempt)
            if caller.own is not None:
                for attempt in other_verbs(routes, self.theirs):
                    yield _Try(caller, attempt)

    def _expected(self, caller: Caller, attempt: Attempt) -> set[int]:
        """The statuses of a refusal. Empty if the caller may call the route."""
        refusal = caller.refusal(attempt.route)
        if attempt.is_served:
            return {refusal} if refusal else set()
        return {METHOD_NOT_ALLOWED}

    def _expect_refusals(self, tries: Sequence[_Try], report: Report, at_once: int) -> None:
        requests = [attempt.request(caller.secret) for caller, attempt in tries]
        answers = self.installation.send(requests, at_once=at_once)
        for each, request, answer in zip(tries, requests, answers, strict=True):
            report.count(*each, answer)
            self._look_for_canaries(each, request, answer, report)
            if answer.status not in self._expected(*each):
                report.leaks.append(_described(each, f"{answer.status} {answer.text[:300]}"))

    def _expect_nothing_known(self, tries: Sequence[_Try], report: Report) -> None:
        """The victim's id is answered like one that nothing has. A change by the caller may alter
        the answer to the next request, so a write has to match one before or after it."""
        groups = [self._group(each) for each in tries]
        sent = [attempt.request(each.caller.secret) for each, group in groups for attempt in group]
        named = self._sent()
        exchanged = iter(zip(sent, self.installation.send(sent, at_once=1), strict=True))
        for each, group in groups:
            others = [next(exchanged) for _ in group]
            request, answer = others.pop(len(group) // 2)
            report.count(*each, answer)
            report.compared += len(others)
            self._look_for_canaries(each, request, answer, report)
            if others and shape(answer, named) not in [shape(one, named) for _, one in others]:
                told = " / ".join(f"{one.status} {one.text[:300]}" for _, one in others)
                seen = f"{answer.status} {answer.text[:300]}"
                report.leaks.append(_described(each, f"{seen}, but an unknown id: {told}"))

    def _group(self, each: _Try) -> tuple[_Try, list[Attempt]]:
        """The attempt after the same with unknown ids; a write also before it."""
        attempt = each.attempt
        if attempt.field is not None and attempt.field.kind == IDEMPOTENCY:
            attempt = attempt.with_values(attempt.values, next(self._retries))
        hidden = self._hidden(*each)
        if attempt.field is None or attempt.field.kind not in hidden:
            return each, [attempt]
        before, after = (self._unknown(attempt, hidden, aliases) for aliases in self._aliases)
        return each, [before, attempt] if attempt.is_read else [before, attempt, after]

    def _unknown(self, attempt: Attempt, hidden: Collection[str], aliases: Aliases) -> Attempt:
        is_theirs = attempt.values is self.theirs
        values = Nobody(self.theirs, hidden, aliases) if is_theirs else attempt.values
        return attempt.with_values(values, attempt.value and aliases.of(attempt.value))

    def _hidden(self, caller: Caller, attempt: Attempt) -> Collection[str]:
        """The kinds of ids that must look unknown."""
        hidden = self.theirs.keys() if caller.hidden is None else caller.hidden
        return hidden - set(self.exceptions.get(f"{attempt.verb} {attempt.route.path}", ()))

    def _sent(self) -> re.Pattern[str]:
        """Texts that an answer may repeat."""
        made = (alias for aliases in self._aliases for alias in aliases.made)
        return texts_pattern({*self._names, *(each for each in made if not is_uuid(each))})

    def _look_for_canaries(
        self, each: _Try, request: Request, answer: Answer, report: Report
    ) -> None:
        found = leaked(answer, request, self.canaries)
        found -= set() if each.attempt.is_read else self._names
        if found:
            report.leaks.append(_described(each, f"{answer.status} shows {sorted(found)[:5]}"))
        if answer.status >= SERVER_ERROR and not self.has_errors:
            report.leaks.append(_described(each, f"{answer.status} {answer.text[:200]}"))


def _described(each: _Try, what: str) -> str:
    return f"{each.caller}, {each.attempt}: {what}"
