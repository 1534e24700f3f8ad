"""The private PostgreSQL starts, stops, crashes and comes back with its data."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from holdfast.adapters.embedded import EmbeddedPostgres, EmbeddedServiceError, launch, tcp_ports
from holdfast.adapters.embedded.files import marker_for
from holdfast.adapters.embedded.processes import find_marked, wait_until_gone

if TYPE_CHECKING:
    from tests.embedded.conftest import OwnerFactory

GONE_WITHIN_SECONDS = 5.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    # A long path on purpose: a socket in it would exceed the kernel's 107 bytes.
    long = tmp_path_factory.mktemp("x" * 110)
    with EmbeddedPostgres(long / "with a space") as running:
        yield running
    shutil.rmtree(long, ignore_errors=True)


def write_row(url: str, text: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (note text)")
        connection.execute("INSERT INTO kept VALUES (%s)", [text])


def read_rows(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        return [row[0] for row in connection.execute("SELECT note FROM kept ORDER BY note")]


def marked(directory: Path) -> list[int]:
    return find_marked(marker_for("postgres", directory))


def test_the_role_owns_its_database_and_has_no_other_privileges(server: EmbeddedPostgres) -> None:
    with psycopg.connect(server.url) as connection:
        role = connection.execute(
            "SELECT rolcanlogin, rolcreaterole, rolsuper, rolbypassrls, rolcreatedb, rolreplication"
            " FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
        owner = connection.execute(
            "SELECT pg_get_userbyid(datdba), pg_encoding_to_char(encoding), datlocprovider,"
            " datlocale FROM pg_database WHERE datname = current_database()"
        ).fetchone()
        fsync = connection.execute("SHOW fsync").fetchone()
    assert role == (True, True, False, False, False, False)
    assert owner == ("holdfast", "UTF8", "b", "C.UTF-8")
    assert fsync == ("on",)


def test_the_superuser_url_connects_as_superuser(server: EmbeddedPostgres) -> None:
    with psycopg.connect(server.superuser_url) as connection:
        assert connection.execute("SHOW is_superuser").fetchone() == ("on",)


@pytest.mark.parametrize("userinfo", ["postgres", "postgres:wrong", "holdfast", "holdfast:wrong"])
def test_a_password_is_required(server: EmbeddedPostgres, userinfo: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(f"postgresql://{userinfo}@127.0.0.1:{server.port}/postgres")


def test_it_listens_only_on_loopback_and_without_a_socket_file(server: EmbeddedPostgres) -> None:
    with psycopg.connect(server.superuser_url) as connection:
        addresses = connection.execute("SHOW listen_addresses").fetchone()
        sockets = connection.execute("SHOW unix_socket_directories").fetchone()
    assert addresses == ("127.0.0.1",)
    assert sockets == ("",)
    assert f".s.PGSQL.{server.port}" not in Path("/proc/net/unix").read_text()
    assert not [path for path in server.directory.rglob("*") if path.is_socket()]


def test_files_with_passwords_are_private(server: EmbeddedPostgres) -> None:
    files = list(server.directory.glob("*.password"))
    assert len(files) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    log = server.log.read_text()
    assert not [path for path in files if path.read_text() in log]


def test_ctrl_c_in_the_terminal_does_not_reach_the_server(server: EmbeddedPostgres) -> None:
    assert os.getsid(server.pid) == server.pid != os.getsid(0)


def test_a_fork_of_the_owner_cannot_stop_the_server(server: EmbeddedPostgres) -> None:
    child = os.fork()
    if child == 0:
        server.stop()
        os._exit(0)
    os.waitpid(child, 0)
    assert server.is_running
    assert server.pid in marked(server.directory)


def test_start_is_refused_outside_the_main_thread(tmp_path: Path) -> None:
    errors: list[str] = []

    def start() -> None:
        try:
            EmbeddedPostgres(tmp_path).start()
        except EmbeddedServiceError as error:
            errors.append(str(error))

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert "main thread" in errors[0]


def test_the_launcher_exits_if_its_parent_is_already_gone() -> None:
    interpreter = [sys.executable, "-I", "-S", launch.__file__]
    binding = ["--parent", "999999999", "--death-signal", str(int(signal.SIGKILL))]
    result = subprocess.run([*interpreter, *binding, "--", "/bin/true"], check=False)
    assert result.returncode == launch.ORPHANED_EXIT_CODE


def test_data_and_port_survive_a_restart_and_a_crash(tmp_path: Path) -> None:
    service = EmbeddedPostgres(tmp_path / "new" / "home")
    with service:
        write_row(service.url, "before the stop")
        url, port = service.url, service.port
    assert marked(service.directory) == []
    with service:
        assert (service.url, service.port) == (url, port)
        write_row(service.url, "before the crash")
        service.kill()
        assert marked(service.directory) == []
        # As after a reboot: the dead server's process id belongs to another process.
        lock_file = service.data_directory / "postmaster.pid"
        lines = lock_file.read_text().splitlines()
        lock_file.write_text("\n".join([str(os.getppid()), *lines[1:]]) + "\n")
    with EmbeddedPostgres(service.directory) as next_service:
        assert read_rows(next_service.url) == ["before the crash", "before the stop"]
        assert next_service.port == port


def test_another_port_is_used_if_the_remembered_one_is_taken(home: Path) -> None:
    (home / "postgres.port").write_text(f"{(blocker := listening()).getsockname()[1]}\n")
    with blocker, EmbeddedPostgres(home) as service:
        assert service.port != blocker.getsockname()[1]
        assert (home / "postgres.port").read_text() == f"{service.port}\n"


def test_another_port_is_used_if_it_is_taken_at_the_last_moment(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "postgres.port").unlink()
    blocker = listening()
    taken: int = blocker.getsockname()[1]
    answers = iter([taken])
    genuine: Callable[[str], int] = tcp_ports.lasting_port
    monkeypatch.setattr(tcp_ports, "lasting_port", lambda host: next(answers, 0) or genuine(host))
    with blocker, EmbeddedPostgres(home) as service:
        assert service.port != taken
        assert "Address already in use" in service.log.read_text()


def test_a_requested_port_that_is_taken_is_an_error(tmp_path: Path) -> None:
    with listening() as blocker:
        port = blocker.getsockname()[1]
        with pytest.raises(EmbeddedServiceError, match=f"port {port} is already in use"):
            EmbeddedPostgres(tmp_path, port=port).start()


def listening() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


def test_a_bad_setting_is_reported_with_the_log(home: Path) -> None:
    with pytest.raises(EmbeddedServiceError) as caught:
        EmbeddedPostgres(home, settings={"no_such_setting": "1"}).start()
    first, *rest = str(caught.value).splitlines()
    assert first == "PostgreSQL did not start: it ended with status 1."
    assert 'unrecognized configuration parameter "no_such_setting"' in "\n".join(rest)
    with (
        EmbeddedPostgres(home, settings={"work_mem": "5MB"}) as service,
        psycopg.connect(service.url) as connection,
    ):
        assert connection.execute("SHOW work_mem").fetchone() == ("5MB",)


def test_a_killed_owner_leaves_no_process_and_loses_no_data(
    home: Path, start_owner: OwnerFactory
) -> None:
    owner = start_owner("EmbeddedPostgres", home)
    write_row(owner.url, "committed")
    with closing(psycopg.connect(owner.url)) as busy:
        busy.execute("INSERT INTO kept VALUES ('never committed')")
        owner.kill()
        assert wait_until_gone(owner.marker, GONE_WITHIN_SECONDS) == []
    with EmbeddedPostgres(home) as service:
        rows = read_rows(service.url)
        assert "committed" in rows
        assert "never committed" not in rows
        assert service.url == owner.url


def test_an_owner_killed_during_initdb_can_be_restarted(
    tmp_path: Path, start_owner: OwnerFactory
) -> None:
    owner = start_owner("EmbeddedPostgres", tmp_path, wait=False)
    deadline = time.monotonic() + 20
    while not list(tmp_path.glob("postgres-data.new-*/global")):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    owner.kill()
    assert list(tmp_path.glob("postgres-data.new-*")), "initdb had already finished"
    with EmbeddedPostgres(tmp_path) as service:
        write_row(service.url, "whole")
        assert read_rows(service.url) == ["whole"]
        assert not list(tmp_path.glob("postgres-data.new-*"))
        assert not list(tmp_path.glob("initdb-*"))


def test_a_directory_in_use_is_refused(home: Path) -> None:
    with EmbeddedPostgres(home) as service:
        with pytest.raises(EmbeddedServiceError, match=f"already in use by process {os.getpid()}"):
            EmbeddedPostgres(home, takeover_timeout_seconds=0.2).start()
        with pytest.raises(EmbeddedServiceError, match="is already started"):
            service.start()
        assert service.is_running
        write_row(service.url, "unharmed")


def test_start_waits_for_a_predecessor_that_outlives_its_owner(
    home: Path, start_owner: OwnerFactory
) -> None:
    owner = start_owner("EmbeddedPostgres", home)
    write_row(owner.url, "of the predecessor")
    os.kill(owner.pid, signal.SIGSTOP)
    owner.kill()
    with pytest.raises(EmbeddedServiceError, match=rf"still runs in .*{owner.pid}"):
        EmbeddedPostgres(home, takeover_timeout_seconds=0.3).start()
    threading.Timer(0.5, os.kill, [owner.pid, signal.SIGCONT]).start()
    with EmbeddedPostgres(home) as service:
        assert "of the predecessor" in read_rows(service.url)


def test_stop_takes_bounded_time_if_the_server_ignores_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = ((signal.SIGINT, 0.2), (signal.SIGQUIT, 0.2))
    monkeypatch.setattr(EmbeddedPostgres, "stop_steps", steps)
    service = EmbeddedPostgres(home)
    service.start()
    os.kill(service.pid, signal.SIGSTOP)
    service.stop()  # otherwise the test would never end: nothing wakes the server
    assert not service.is_running
    assert marked(home) == []


def test_a_directory_with_other_files_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "postgres-data").mkdir()
    (tmp_path / "postgres-data" / "diary.txt").write_text("dear diary")
    with pytest.raises(EmbeddedServiceError, match="not a PostgreSQL data directory"):
        EmbeddedPostgres(tmp_path).start()
    assert (tmp_path / "postgres-data" / "diary.txt").read_text() == "dear diary"


def test_a_server_that_never_started_has_no_url(tmp_path: Path) -> None:
    service = EmbeddedPostgres(tmp_path)
    for name in ("pid", "port", "url", "superuser_url"):
        with pytest.raises(EmbeddedServiceError):
            getattr(service, name)
    service.stop()
    assert list(tmp_path.iterdir()) == []
