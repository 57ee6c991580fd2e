"""Files that are whole or not there: written beside their place, then renamed."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from harness.model.errors import EnvironmentMissing


def write_whole(path: Path, content: bytes | str) -> None:
    """Replace `path` atomically. Raises EnvironmentMissing naming the place when it cannot be written."""
    data = content.encode() if isinstance(content, str) else content
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(beside, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException as error:
        with contextlib.suppress(OSError):  # the place may not even exist; what matters is the first error
            beside.unlink()
        if isinstance(error, OSError):
            raise unwritable(path, error) from error
        raise


def unwritable(path: Path, error: OSError) -> EnvironmentMissing:
    """The message for a place that cannot be written."""
    is_file = isinstance(error, (FileExistsError, NotADirectoryError))
    why = "there is a file where a folder should be" if is_file else error.strerror or str(error)
    return EnvironmentMissing(
        f"Cannot write {path}: {why}.",
        where=str(path.absolute()),
        next_step="Name another folder with --out DIR, or make this one writable and give it room.",
    )
