"""Demos for these tests."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.demo import Demo
from tests.support.servers import free_port


@pytest.fixture
def demo_at(tmp_path: Path) -> Iterator[Callable[[str, int], Demo]]:
    made: list[Demo] = []

    def make(name: str, port: int) -> Demo:
        made.append(Demo(tmp_path / name, port))
        return made[-1]

    yield make
    for demo in made:
        if demo.process is not None and demo.process.poll() is None:
            demo.end(signal.SIGKILL)


@pytest.fixture(scope="package")
def running_demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    demo = Demo(tmp_path_factory.mktemp("demo") / "home", free_port()).start()
    try:
        yield demo.until_ready()
    finally:
        demo.end(signal.SIGINT)
