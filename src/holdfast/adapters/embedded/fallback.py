"""A directory that `nobody` can enter, for root where user namespaces are refused.

It lies in a directory that everybody can write in, so anyone may have made it before us. We use it
only if it is ours, and keep everything in it ours except the one directory the server writes in.
"""

from __future__ import annotations

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
    """Name the directory after the one it stands in for, so that every start finds the same."""
    digest = hashlib.sha256(os.fsencode(directory.resolve())).hexdigest()
    return _shared_root() / f"holdfast-{digest[:32]}"


def _shared_root() -> Path:
    """Prefer the temporary directory that keeps its files over a restart of the machine."""
    candidates = (Path("/var/tmp"), Path(tempfile.gettempdir()), Path("/tmp"))  # noqa: S108
    for candidate in candidates:
        if _is_safe_and_open(candidate):
            return candidate.resolve()
    raise EmbeddedServiceError(
        "PostgreSQL does not run as root, and no temporary directory is open to another user."
    )


def _is_safe_and_open(candidate: Path) -> bool:
    """Everybody may pass through, and nobody else may rename what we make there."""
    if not candidate.is_dir():
        return False
    path = candidate.resolve()
    found = path.stat()
    shared = bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
    safe = found.st_uid == 0 and (not shared or bool(found.st_mode & stat.S_ISVTX))
    return safe and all(step.stat().st_mode & stat.S_IXOTH for step in (path, *path.parents))


def prepare(directory: Path, owner: tuple[int, int]) -> Path:
    """Make the directory, or make sure that the one found is ours."""
    root = fallback_directory(directory)
    _make_or_check(root, owner=(0, 0), mode=0o755)
    _make_or_check(root / CLUSTER_NAME, owner=owner, mode=0o700)
    return root


def _make_or_check(path: Path, *, owner: tuple[int, int], mode: int) -> None:
    """Create with no rights for others first; then look at what is there without following links.

    The mode of a directory that is ours is put right, but one that others could write in may
    already hold something of theirs, and is refused.
    """
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise EmbeddedServiceError(f"{path} is not a directory; remove it to go on.")
    if found.st_uid not in {0, owner[0]} or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise EmbeddedServiceError(
            f"{path} was made by someone else or can be written by others; remove it to go on."
        )
    os.chown(path, *owner, follow_symlinks=False)
    path.chmod(mode)


def copy_installation(source: Path, root: Path) -> Path:
    """Copy the programs to where `nobody` can reach them, once per version of them."""
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
    # Whatever the mask the wheel was unpacked with, and ours.
    for path in (draft, *draft.rglob("*")):
        path.chmod(0o755)
    draft.rename(target)
    return target


def _fingerprint(source: Path) -> str:
    """Tell one version of the programs from another without reading them."""
    found = PostgresInstallation(source).server.stat()
    text = f"{source}:{found.st_size}:{found.st_mtime_ns}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _is_whole(source: Path, target: Path, files: Iterable[Path]) -> bool:
    """Compare sizes: a power cut soon after the copy leaves files that are empty or missing."""
    try:
        return all((source / f).stat().st_size == (target / f).stat().st_size for f in files)
    except FileNotFoundError:
        return False
