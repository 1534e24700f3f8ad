"""Where the tests' databases and brokers keep their files."""

import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
# Three workers together write about 3 GB in a whole run.
BYTES_NEEDED = 8 * 1024**3


def use_memory() -> None:
    """Keep temporary files in memory where there is room.

    A slow disk can hold up every write for half a minute, and no test is about the disk.
    """
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK | os.X_OK):
        return
    if shutil.disk_usage(MEMORY).free >= BYTES_NEEDED:
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None
