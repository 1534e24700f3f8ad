"""Every command is in the registry and complete."""

from dataclasses import dataclass

import pytest

from holdfast.domain.group.command import Command
from holdfast.domain.group.footprint import Footprint, Needs
from holdfast.domain.group.outcomes import NeedsMore
from holdfast.domain.group.plan import GroupPlan
from holdfast.domain.group.registry import COMMANDS, incomplete


def test_the_registry_is_complete() -> None:
    assert incomplete() == []
    assert len({each.__name__ for each in COMMANDS}) == len(COMMANDS) == 21


@pytest.mark.parametrize("forgotten", COMMANDS, ids=lambda each: each.__name__)
def test_an_unregistered_command_is_reported(forgotten: type[Command]) -> None:
    others = tuple(each for each in COMMANDS if each is not forgotten)
    assert incomplete(others) == [
        f"{forgotten.__name__} of {forgotten.__module__} is not registered"
    ]


def test_a_command_without_a_decision_is_reported() -> None:
    @dataclass(frozen=True, slots=True)
    class Half(Command):
        def needs(self, learnt: NeedsMore) -> Needs:
            return Needs()

        def footprint(self, plan: GroupPlan, learnt: NeedsMore) -> Footprint:
            return Footprint(frozenset())

    problems = incomplete((*COMMANDS, Half))  # type: ignore[type-abstract]
    assert problems == ["Half does not define decide"]
    with pytest.raises(TypeError, match="decide"):
        Half()  # type: ignore[abstract]


def test_background_commands_are_those_of_the_duties_and_of_pages_that_can_wait() -> None:
    background = {each.__name__ for each in COMMANDS if each.is_background}
    assert background == {"ExpireHolds", "WarnHolds", "PromoteWaiting", "ExplainWaiting"}
