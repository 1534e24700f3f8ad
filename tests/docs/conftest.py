"""One demo for all pages: each uses its own sale, or one with plenty of tickets."""

import signal
from collections.abc import Iterator

import pytest

from tests.support.demo import Demo
from tests.support.servers import free_port


@pytest.fixture(scope="package")
def running_demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    demo = Demo(tmp_path_factory.mktemp("demo") / "home", free_port()).start()
    try:
        yield demo.until_ready()
    finally:
        demo.end(signal.SIGINT)
