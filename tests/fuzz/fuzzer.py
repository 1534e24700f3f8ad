"""Sends generated cases to a server and checks each response against the OpenAPI document."""

from collections.abc import Collection
from contextlib import suppress
from functools import cache
from random import Random
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from schemathesis import Case, GenerationMode, Response
from schemathesis.checks import CheckFunction, not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.core.result import Ok
from schemathesis.generation.stateful import APIStateMachine
from schemathesis.generation.stateful.state_machine import StepInput, StepOutput
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi import checks

from tests.fuzz.realism import Realism
from tests.fuzz.scene import Scene
from tests.fuzz.tally import Tally
from tests.support.platform import Json
from tests.support.servers import RunningServer

# The others would report what is meant to be: a released hold can still be read, and fields that
# are valid by themselves can contradict each other. Credentials have tests of their own.
CHECKS: list[CheckFunction] = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
]
CONFIG: Json = {"generation": {"with-security-parameters": False}}
MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
CASES_PER_ROUND = 250
SCENARIOS_PER_ROUND, STEPS_PER_SCENARIO = 20, 10
CASES_PER_SCENE = 200  # then much of its catalog is cancelled or sold out


class Fuzzer:
    def __init__(self, server: RunningServer, seed: int) -> None:
        self.tally = Tally()
        self.session = requests.Session()
        self._server = server
        self._random = Random(seed)
        document: Json = self.session.get(f"{server.base_url}/api/schema").json()
        self._realism = Realism(document, self._random)
        config = schemathesis.Config.from_dict(CONFIG)
        self.schema = schemathesis.openapi.from_dict(document, config=config)
        self.schema.config.update(base_url=server.base_url)
        self.operations = {
            found.ok().label: found.ok()
            for found in self.schema.get_all_operations()
            if isinstance(found, Ok)
        }
        self._scene = Scene(server, self._random)
        self._calls_left = CASES_PER_SCENE

    def run_operations(self, cases: int, only: Collection[str] = ()) -> None:
        """Send this many cases: any operation after any other."""
        labels = st.sampled_from(sorted(only or self.operations))
        self.tally.expect(cases)

        @_settings(min(cases, CASES_PER_ROUND))
        @given(case=labels.flatmap(lambda label: _case_of(self.operations[label])))
        def run(case: Case[Any]) -> None:
            if not self.tally.is_full:
                self.check(case, self.send(case))

        while not self.tally.is_full:
            run()

    def run_links(self, cases: int) -> None:
        """Send this many cases: from operation to operation along the links of the document, and
        along those that schemathesis infers from its schemas."""
        self.tally.expect(cases)
        machine = _machine(self)
        while not self.tally.is_full:
            # Hypothesis repeats the beginning of a scenario, and the same hold is not free twice.
            with suppress(Flaky):
                machine.run(settings=_settings(SCENARIOS_PER_ROUND))

    def send(self, case: Case[Any]) -> Response:
        if self._scene.is_spent or self._calls_left == 0:
            self._scene.close()
            self._scene, self._calls_left = Scene(self._server, self._random), CASES_PER_SCENE
        self._calls_left -= 1
        caller = self._realism.caller_of(self._scene, case)
        self._realism.apply(case, self._scene, caller)
        headers = {"Authorization": f"Bearer {self._scene.secret(caller)}"}
        response = case.call(session=self.session, headers=headers)
        self._look_at(caller, case, response)
        return response

    def _look_at(self, caller: str, case: Case[Any], response: Response) -> None:
        self.tally.count(case.operation.label, response.status_code)
        if response.status_code < 300:
            self._scene.learn(response.json())
        elif response.status_code == 401:
            self._scene.secrets.pop(caller, None)  # revoked, or signed out
            self._scene.is_spent |= caller == "key"
        elif response.status_code == 429:
            self._scene.is_spent |= response.json()["error"] == "rate_limit_exceeded"

    def check(self, case: Case[Any], response: Response) -> None:
        try:
            case.validate_response(response, checks=CHECKS)
        except FailureGroup as group:
            command = case.as_curl_command(headers=dict(response.request.headers))
            got = f"{command}\n{response.status_code} {response.text[:2000]}"
            for failure in group.exceptions:
                self.tally.breach(case.operation.label, failure.title, f"{failure.message}\n{got}")

    def close(self) -> None:
        self._scene.close()
        self.session.close()


def _machine(fuzzer: Fuzzer) -> type[APIStateMachine]:
    # An operation that needs an id which no other one creates would never come first, so neither
    # would a hold: it has the user's. Here `Realism` has every id.
    for node in fuzzer.schema.analysis.dependency_graph.operations.values():
        node.inputs.clear()

    class Links(fuzzer.schema.as_state_machine()):  # type: ignore[misc]
        def step(self, input: StepInput) -> StepOutput:  # noqa: A002
            fuzzer.tally.links += input.transition is not None
            output: StepOutput = super().step(input)
            return output

        def call(self, case: Case[Any], **_: Any) -> Response:
            return fuzzer.send(case)

        def validate_response(self, response: Response, case: Case[Any], **_: Any) -> None:
            fuzzer.check(case, response)

    return Links


@cache
def _case_of(operation: APIOperation[Any, Any, Any, Any]) -> st.SearchStrategy[Case[Any]]:
    """Three valid cases for an invalid one."""
    valid, invalid = (operation.as_strategy(generation_mode=mode) for mode in MODES)
    return st.sampled_from([valid, valid, valid, invalid]).flatmap(lambda chosen: chosen)


def _settings(examples: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=STEPS_PER_SCENARIO,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
