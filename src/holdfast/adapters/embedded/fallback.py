"""A directory that `nobody` can enter, for root when user namespaces are not allowed.

It is in a world-writable directory, so anyone may have created it before us. We use it only if it
is ours, and own everything in it except the one directory that the server writes to.
"""

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from holdfast.adapters.embedded.errors import EmbeddedServiceError
from holdfast.adapters.embedded.files import remove_tree
from holdfast.adapters.embedded.installation import PostgresInstallation, postgres_files

CLUSTER_NAME = "cluster"
_PROGRAMS_NAME = "programs-"


def fallback_directory(directory: Path) -> Path:
    """Derive the name from the original directory: every start finds the same one."""
    digest = hashlib.sha256(os.fsencode(directory.resolve())).hexdigest()
    return _shared_root() / f"holdfast-{digest[:32]}"


def _shared_root() -> Path:
    """Prefer the temporary directory that survives a reboot."""
    candidates = (Path("/var/tmp"), Path(tempfile.gettempdir()), Path("/tmp"))  # noqa: S108
    for candidate in candidates:
        if _is_safe_and_open(candidate):
            return candidate.resolve()
    raise EmbeddedServiceError(
        "PostgreSQL does not run as root, and no temporary directory is accessible to other users."
    )


def _is_safe_and_open(candidate: Path) -> bool:
    """Whether all users can pass through, and no other user can rename our files in it."""
    if not candidate.is_dir():
        return False
    path = candidate.resolve()
    found = path.stat()
    shared = bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
    safe = found.st_uid == 0 and (not shared or bool(found.st_mode & stat.S_ISVTX))
    return safe and all(step.stat().st_mode & stat.S_IXOTH for step in (path, *path.parents))


def prepare(directory: Path, owner: tuple[int, int]) -> Path:
    """Create the directory, or check that the existing one is ours."""
    root = fallback_directory(directory)
    _make_or_check(root, owner=(0, 0), mode=0o755)
    _make_or_check(root / CLUSTER_NAME, owner=owner, mode=0o700)
    return root


def _make_or_check(path: Path, *, owner: tuple[int, int], mode: int) -> None:
    """Create without rights for others, then check the result without following links.

    The mode of our own directory is corrected; one that others could write to is refused, because
    it may already contain their files.
    """
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise EmbeddedServiceError(f"{path} is not a directory; remove it to continue.")
    if found.st_uid not in {0, owner[0]} or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise EmbeddedServiceError(
            f"{path} belongs to or is writable by another user; remove it to continue."
        )
    os.chown(path, *owner, follow_symlinks=False)
    path.chmod(mode)


def copy_installation(source: Path, root: Path) -> Path:
    """Copy the programs to where `nobody` can reach them, once per version."""
    files = list(postgres_files(source))
    target = root / f"{_PROGRAMS_NAME}{_fingerprint(source)}"
    if _is_whole(source, target, files):
        return target
    for outdated in root.glob(f"{_PROGRAMS_NAME}*"):
        remove_tree(outdated)
    draft = Path(tempfile.mkdtemp(prefix=_PROGRAMS_NAME, dir=root))
    for file in files:
        (draft / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / file, draft / file)
    # Regardless of our umask, and of the one the wheel was unpacked with.
    for path in (draft, *draft.rglob("*")):
        path.chmod(0o755)
    draft.rename(target)
    return target


def _fingerprint(source: Path) -> str:
    """Identify a version of the programs without reading them."""
    found = PostgresInstallation(source).server.stat()
    text = f"{source}:{found.st_size}:{found.st_mtime_ns}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _is_whole(source: Path, target: Path, files: Iterable[Path]) -> bool:
    """Compare sizes: a power failure soon after the copy leaves empty or missing files."""
    try:
        return all((source / f).stat().st_size == (target / f).stat().st_size for f in files)
    except FileNotFoundError:
        return False
