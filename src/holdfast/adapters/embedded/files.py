"""The files beside a service's data: passwords, lock and log."""

import fcntl
import hashlib
import os
import secrets
import shutil
import time
from pathlib import Path

from holdfast.adapters.embedded.errors import EmbeddedServiceError

LOG_LIMIT_BYTES = 8 * 1024 * 1024
LOG_TAIL_LINES = 20
LOG_TAIL_BYTES = 64 * 1024
_LOCK_POLL_SECONDS = 0.05


def marker_for(service: str, directory: Path) -> str:
    """A name that identifies the processes of the service in this directory."""
    digest = hashlib.sha256(os.fsencode(directory.resolve())).hexdigest()
    return f"holdfast-{service}-{digest[:16]}"


def write_private(path: Path, text: str) -> None:
    """Replace a file atomically, readable by its owner only."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make renames in a directory survive a power failure."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def kept_password(path: Path) -> str:
    """Read the password in this file, or generate one that needs no quoting in a URL."""
    if not path.exists():
        write_private(path, secrets.token_urlsafe(24))
    return path.read_text(encoding="utf-8").strip()


def take_lock(path: Path, *, title: str, timeout_seconds: float) -> int:
    """Lock the directory for this process; the kernel releases the lock when the process dies."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    deadline = time.monotonic() + timeout_seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() < deadline:
                time.sleep(_LOCK_POLL_SECONDS)
                continue
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
            os.close(descriptor)
            raise EmbeddedServiceError(
                f"{title} in {path.parent} is already in use by process {holder or 'unknown'}."
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode("ascii"), 0)
        return descriptor


def prepare_log(path: Path) -> int:
    """Rotate a large log, and return the offset where the next start's lines begin."""
    if path.exists() and path.stat().st_size > LOG_LIMIT_BYTES:
        path.replace(path.with_name(f"{path.name}.1"))
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    return path.stat().st_size


def log_tail(path: Path, offset: int) -> tuple[str, ...]:
    """The last lines written after the offset."""
    if not path.exists():
        return ()
    with path.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(offset, size - LOG_TAIL_BYTES))
        text = stream.read().decode("utf-8", "replace")
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return tuple(lines[-LOG_TAIL_LINES:])


def remove_tree(path: Path) -> None:
    """Remove a directory as far as possible; the next start tries the rest again."""
    shutil.rmtree(path, ignore_errors=True)
