"""Files that appear at once and complete."""

from __future__ import annotations

import os


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file as a whole: a draft beside it takes its place. It keeps its mode; a new one has the usual mode.

    Raises:
        OSError: if it cannot be written: of the usual class, with a message about the file that was asked for.
    """
    path = os.fspath(path)
    draft = f"{path}.{os.getpid()}.{os.urandom(4).hex()}.draft"
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        try:
            with os.fdopen(handle, "wb") as file:
                if os.path.exists(path):
                    os.chmod(draft, os.stat(path).st_mode & 0o7777)
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        except BaseException:
            os.unlink(draft)
            raise
    except OSError as error:
        folder = os.path.dirname(path)
        lacks = f"there is no folder {folder}; make it first: pathlib.Path({folder!r}).mkdir(parents=True)"
        why = lacks if folder and not os.path.isdir(folder) else error.strerror or str(error)
        raise type(error)(error.errno, why, path) from None
