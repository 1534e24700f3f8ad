"""Services that die at a given step, as by kill -9."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace

from tests.crash.points import AFTER_COMMIT, BEFORE_COMMIT, DYING, await_death
from tests.remote.layout import TwoServices
from tests.support.servers import RunningServer, free_port

TOGETHER_MAX = 4


@dataclass(frozen=True)
class Step:
    """A command of the engine, or what else the service does, and the point at which it dies. Then
    its holds have these statuses."""

    command: str
    point: str
    here: Sequence[str]
    there: Sequence[str] = ()

    def __str__(self) -> str:
        return f"{self.command}, {self.point}"


def steps_of(
    command: str, before: Sequence[Sequence[str]], after: Sequence[Sequence[str]]
) -> list[Step]:
    """All points of a command. Nothing has happened at those before COMMIT."""
    return [
        *(Step(command, point, *before) for point in BEFORE_COMMIT),
        Step(command, AFTER_COMMIT, *after),
    ]


def quick(steps: Iterable[Step]) -> list[Step]:
    """Of the points before COMMIT, the last one alone."""
    return [step for step in steps if step.point not in BEFORE_COMMIT[:-1]]


def without_broker(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name != "AMQP_URL"}


@dataclass
class Killing:
    """The dying services of a test."""

    services: TwoServices
    _made: list[RunningServer] = field(default_factory=list)

    def beside(self, steps: Sequence[Step]) -> list[RunningServer]:
        """Hold Services beside the healthy one. They die when they are asked for that command."""
        made = [
            self._dying(self.services.holds, step, port=free_port(), HOLDFAST_DUTIES="none")
            for step in steps
        ]
        with ThreadPoolExecutor(TOGETHER_MAX) as threads:
            list(threads.map(RunningServer.start, made))
        return made

    def duty(self, step: Step, *, has_broker: bool = False) -> None:
        """A Hold Service, while no other runs, whose background duties die there at once."""
        dying = self._dying(self.services.holds, step, has_broker=has_broker)
        self._start(dying)
        await_death(dying)

    def inventory(self, step: Step, *, has_broker: bool = True) -> RunningServer:
        """An Inventory Service in the place of the healthy one. A message may kill it before it is
        ready."""
        self.services.inventory.stop()
        return self._start(self._dying(self.services.inventory, step, has_broker=has_broker))

    def end(self) -> None:
        for server in self._made:
            server.kill()

    def _start(self, dying: RunningServer) -> RunningServer:
        with suppress(AssertionError):
            dying.start()
        return dying

    def _dying(
        self,
        server: RunningServer,
        step: Step,
        *,
        port: int | None = None,
        has_broker: bool = True,
        **environment: str,
    ) -> RunningServer:
        dying = replace(
            server,
            port=port or server.port,
            log=server.log.with_name(f"dying-{len(self._made)}.log"),
            process=None,
            environment={
                **(server.environment if has_broker else without_broker(server.environment)),
                "PYTHONPATH": str(DYING),
                "DIE_WITH": step.command,
                "DIE": step.point,
                **environment,
            },
        )
        self._made.append(dying)
        return dying
