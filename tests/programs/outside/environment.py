"""A virtual environment of its own for other people's packages, and the source archives of some of them."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

from .table import CONSTRAINTS

ROOT = Path(__file__).parents[3]


class InstallError(Exception):
    """A package cannot be installed or found."""


class Environment:
    """Packages installed in a folder, beside primad and autograd.

    Args:
        folder: where; an environment that is there is used again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.python = self.folder / "env" / "bin" / "python"
        self._constraints = self.folder / "constraints.txt"
        self._constraints.write_text("\n".join(CONSTRAINTS) + "\n")

    def install(self, packages: Sequence[str]) -> None:
        """Install packages that are not there yet.

        Raises:
            InstallError: with the last line of what pip says.
        """
        if not self.python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(self.folder / "env")], check=True)
        for package in ("-e", str(ROOT)), ("autograd",), ("pytest",), *[(package,) for package in packages]:
            done = self.folder / "installed" / "_".join(package).replace("/", "_")
            if not done.exists():
                self._pip("install", "-c", str(self._constraints), *package)
                done.parent.mkdir(exist_ok=True)
                done.touch()

    def source(self, package: str) -> Path:
        """Return the folder of a package's source archive, unpacked.

        Raises:
            InstallError: if there is none.
        """
        archives = self.folder / "sources"
        stem = package.replace("==", "-")
        if not (archives / stem).exists():
            self._pip("download", "--no-deps", "--no-binary", ":all:", "-d", str(archives), package)
            with tarfile.open(archives / f"{stem}.tar.gz") as archive:
                archive.extractall(archives, filter="data")
        return archives / stem

    def _pip(self, *arguments: str) -> None:
        command = [str(self.python), "-m", "pip", *arguments, "--quiet", "--disable-pip-version-check"]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        if found.returncode:
            raise InstallError((found.stderr.strip().splitlines() or ["no message"])[-1])

    def run(self, arguments: Sequence[str], cwd: Path, within: int) -> subprocess.CompletedProcess[str]:
        """Run Python with arguments, with this checkout's primad.

        Raises:
            subprocess.TimeoutExpired: after `within` seconds.
        """
        surroundings = {**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"}
        command = [str(self.python), *arguments]
        return subprocess.run(
            command, cwd=cwd, env=surroundings, capture_output=True, text=True, check=False, timeout=within
        )
