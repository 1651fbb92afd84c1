"""What is kept between processes: machine code and derived programs, in a folder of the user's own.

Machine code that another could change is another's program. So the folder is used only where it is this user's, nobody
else may enter it and no link leads to it; that is asked of the opened folder, and files are opened in it by its
descriptor. A file is written whole under another name first, has a sum of its key and contents in front, and is written
again where that is wrong. Nothing here is necessary: what cannot be read or written is made anew.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from primad.system.process import made_once

LARGEST = 256 * 1024 * 1024
"""Bytes of all files together, at most. Chosen: some ten thousand functions, and little of a disk."""
SHRUNK = 0.75
"""Share of that which stays when it is reached: what was used last. Chosen, so that this is seldom."""
BEGINNING = b"primad 2\n"
_OWN = stat.S_IRWXU
_SUM = 32
_NO_FOLDER = ("0", "off", "no", "none", "false")
_FLAGS = os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)


def folder() -> Path | None:
    """Return where the cache is; None if the variable PRIMAD_CACHE turns it off (0, off, no, none, false).

    It is the folder that PRIMAD_CACHE names, otherwise `primad` in the user's folder for caches. A home of a user that
    there is not stays as it is written (`~name/folder`), and is refused.
    """
    named = os.environ.get("PRIMAD_CACHE", "")
    if named.lower() in _NO_FOLDER:
        return None
    if named:
        path = Path(os.path.expanduser(named))
        return path if str(path).startswith("~") else path.absolute()
    common = os.environ.get("XDG_CACHE_HOME", "")
    try:
        return (Path(common) if os.path.isabs(common) else Path.home() / ".cache") / "primad"
    except RuntimeError:  # a user without a home
        return None


class DiskCache:
    """Bytes by their keys, in a folder.

    Attributes:
        path: the folder.
        refused: why it is not used, empty if it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.refused = ""
        self._descriptor = -1
        self._size: int | None = None
        if not path.is_absolute():
            self.refused = f"there is no home {path.parts[0]}: the variable PRIMAD_CACHE names it"
            return
        try:
            path.mkdir(mode=_OWN, parents=True, exist_ok=True)
            self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _FLAGS)
            self.refused = _refusal(os.fstat(self._descriptor))
        except OSError as error:
            self.refused = f"it cannot be opened: {error.strerror}"

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def get(self, key: Sequence[str]) -> bytes | None:
        """Return what was put there under a key; None where there is nothing, or not all of it."""
        if self.refused:
            return None
        try:
            with open(self._open(_name(key), os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
                about = os.fstat(file.fileno())
                found = b"" if not stat.S_ISREG(about.st_mode) or _refusal(about) else file.read()
                with suppress(OSError):  # a disk that is only read
                    os.utime(file.fileno())
        except OSError:
            return None
        begun, body = found[: len(BEGINNING) + _SUM], found[len(BEGINNING) + _SUM :]
        return body if begun == _beginning(_name(key), body) else None

    def put(self, key: Sequence[str], body: bytes) -> None:
        """Keep bytes under a key, if there is room on the disk."""
        if self.refused:
            return
        name = _name(key)
        draft = f"{name}.{os.getpid()}.{threading.get_ident()}.draft"
        with suppress(OSError):
            opened = self._open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            try:
                with open(opened, "wb") as file:
                    file.write(_beginning(name, body) + body)
                os.replace(draft, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
            except BaseException:
                self._remove(draft)
                raise
            self._size = len(body) + (self.size if self._size is None else self._size)
            if self._size > LARGEST:
                self._shrink()

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(about.st_size for _, about in self._files())

    @property
    def count(self) -> int:
        """Number of files."""
        return sum(1 for _ in self._files())

    def clear(self) -> None:
        """Remove all files."""
        for name, _ in list(self._files()):
            self._remove(name)
        self._size = None

    def _open(self, name: str, flags: int) -> int:
        return os.open(name, flags | _FLAGS, 0o600, dir_fd=self._descriptor)

    def _files(self) -> Iterator[tuple[str, os.stat_result]]:
        for name in [] if self.refused else os.listdir(self._descriptor):
            with suppress(OSError):
                yield name, os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)

    def _shrink(self) -> None:
        """Remove the files that were not used for longest."""
        found = sorted(self._files(), key=lambda entry: entry[1].st_mtime_ns)
        self._size = sum(about.st_size for _, about in found)
        for name, about in found:
            if self._size <= SHRUNK * LARGEST:
                return
            self._remove(name)
            self._size -= about.st_size

    def _remove(self, name: str) -> None:
        with suppress(OSError):
            os.unlink(name, dir_fd=self._descriptor)


def _refusal(about: os.stat_result) -> str:
    """Say why a file or a folder is not to be trusted; empty if it is."""
    if about.st_uid != os.geteuid():
        return "it belongs to another user"
    if stat.S_IMODE(about.st_mode) & ~_OWN:
        return f"others may use it: its mode is {stat.S_IMODE(about.st_mode):o}, not 700"
    if stat.S_ISREG(about.st_mode) and about.st_nlink > 1:  # 0 where another process has just put its own there
        return "it has other names"
    return ""


def _beginning(name: str, body: bytes) -> bytes:
    """Return what a file of a name begins with: a sum, so that it is no other file's contents, and whole."""
    return BEGINNING + hashlib.sha256(name.encode() + body).digest()


def _name(key: Sequence[str]) -> str:
    """Return the name of a key's file: a sum of its texts and of their lengths."""
    found = hashlib.sha256()
    for text in key:
        encoded = text.encode()
        found.update(len(encoded).to_bytes(8, "little"))
        found.update(encoded)
    return found.hexdigest()


@lru_cache(maxsize=1)
def sources() -> str:
    """Return a sum of what the files of this package are, by their sizes and times: a version that editing changes.

    Where installed files have no times of their own, the place and the version tell them apart.
    """
    start = Path(__file__).parents[1]
    found = hashlib.sha256(f"{start}\n{(start / '__init__.py').read_text()}".encode())
    for path, size, time in sorted(_sources_in(str(start))):
        found.update(f"{path} {size} {time}\n".encode())
    return found.hexdigest()


def _sources_in(folder: str) -> Iterator[tuple[str, int, int]]:
    """Yield path, size and time of the Python files in a folder and those below: pathlib takes four times as long."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _sources_in(entry.path)
            elif entry.name.endswith(".py"):
                about = entry.stat()
                yield entry.path, about.st_size, about.st_mtime_ns


@made_once(most=4)
def _of(path: Path) -> DiskCache:
    return DiskCache(path)


def disk_cache() -> DiskCache | None:
    """Return the cache; None where there is none: PRIMAD_CACHE is 0, or the system has no such folders."""
    path = folder() if hasattr(os, "O_DIRECTORY") and hasattr(os, "geteuid") else None
    return None if path is None else _of(path)
