"""What the machine is, asked once: its vectors, caches, processors, memory, and what its BLAS library makes of them.

What is common to machines stands here too: what a core does in its cycles, and what calls, loops and threads cost, in
elements and ops. All that primad's choices depend on beside the program is here, and nothing here is measured: a
program has the same plan, and its results the same bits, each time it runs on a machine. (The speeds that
`primad.explain` predicts with are measured, when they are wanted; nothing that runs a program reads them.)

Linux tells the sizes of caches in `/sys`, and through `sysconf` where `/sys` is hidden. Where the system tells nothing
(macOS, Windows), they are taken to be those of the machine on which the constants that are shares of a cache were
tuned: 32 kB of first-level and 1 MB of second-level cache for a core. The environment variable `PRIMAD_CACHE_BYTES`
sets the second-level cache, so that machines make the same choices.
"""

from __future__ import annotations

import os
import platform
import sys
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from primad.system.environment import LEAST_CACHE_BYTES, is_off, whole_number
from primad.system.process import made_once

# -- vectors -----------------------------------------------------------------------------------------------------------


def _vector_bytes() -> int:
    if platform.machine().lower() in ("aarch64", "arm64"):
        return 16
    features = getattr(np._core._multiarray_umath, "__cpu_features__", {})  # type: ignore[attr-defined]
    return LONGEST_VECTOR_BYTES if all(features.get(f"AVX512{part}") for part in ("F", "DQ", "BW", "VL")) else 32


LONGEST_VECTOR_BYTES = 64
"""Bytes of the longest vectors that a processor may have. Given by AVX-512."""
VECTOR_BYTES = _vector_bytes()
"""How long vectors are: 64 bytes on a processor with AVX-512, 16 on ARM, 32 on others. Twice as long is about twice as
fast where the processor has them; sums, and functions of the C library, then end in other bits than on processors
without."""


def vector_registers(width: int) -> int:
    """Return how many registers a core has for vectors of so many bytes: 16 with AVX2, 32 with AVX-512 and on ARM."""
    return 16 if width == 32 else 32


FEWEST_REGISTERS = vector_registers(32)
"""The vectors that every processor has registers for."""


class Core(Struct, frozen=True):
    """What a core does in its cycles, as far as the order of loops is chosen by it.

    Attributes:
        starts: products, or loads, that start in a cycle.
        latency: cycles until the next sum, or comparison, can use the result of one.
        chains: sums of products that keep the core busy when they take turns.
        line: cycles to fetch a line of memory from the second-level cache.
        far_line: cycles to fetch one from farther away.
        block: cycles for the beginning and end of a block of a product.
        run: cycles to go from one place in memory to another.
        across: cycles to add the lanes of a vector of partial sums.
        copy: cycles to copy an element to another place.
        flops_of_byte: flops that it does while it reads a byte of memory.
        function: ops of arithmetic on vectors that take as long as one function of the C library.
        picked_lanes: lanes of a vector, from which elements a few apart are picked out of whole vectors: 16 numbers two
            to four apart take half the time of loads of each, 8 of them 0.7 to 0.9; of fewer there is little to save.
        picked_apart: places between elements that are picked so, at most: farther ones take as long as loads of each.
        pieces: parts in which a row of at most half a vector is moved without a mask: one takes two thirds of the time
            of a mask, two as long or, where many arrays lie in a second cache, three quarters; three take longer.
        near: times a second cache, up to which memory beside inputs and outputs is near: of grids of 256² numbers loops
            over whole arrays take 0.9 of the time of panels where 2.6 MB lie in memory, and 1.2 to 1.4 times as long
            at 3.1 MB.
        far: times a second cache, up to which a panel of rows may take memory: heat in three dimensions on 96³ numbers
            takes a third of the time of whole arrays with panels of 8, and half with 11.
        saved: the share of the memory of whole arrays that panels of rows may take: three steps of a method of Runge
            and Kutta of fourth order, whose stages hand on 118 MB of 210 for 512² numbers and 586 of 839 for 1024²,
            take 0.4 of the time of tiles, which hold 243 of the first.
        again: times the work of a program that may be done so that values stay in a cache.
    """

    starts: int
    latency: int
    chains: int
    line: int
    far_line: int
    block: int
    run: int
    across: int
    copy: int
    flops_of_byte: int
    function: int
    picked_lanes: int
    picked_apart: int
    pieces: int
    near: float
    far: int
    saved: float
    again: float

    @property
    def in_flight(self) -> int:
        """How many ops start until the first has its result; so many that wait for no other keep a core busy."""
        return self.starts * self.latency


CORE = Core(
    starts=2, latency=4, chains=10, line=2, far_line=3, block=6, run=2, across=2, copy=1, flops_of_byte=4, function=8,
    picked_lanes=8, picked_apart=4, pieces=2, near=2.75, far=10, saved=0.75, again=1.5,
)  # fmt: skip
"""What is common to processors with vectors of 256 and of 512 bits. The system does not tell it: the first two are
what their makers say of sums of products, those of picked elements and pieces and what is near are measured, the others
are estimates. Blocks of products,
and what runs natively, are chosen by it, so that the bits of sums depend on it."""


# -- caches ------------------------------------------------------------------------------------------------------------


class DataCache(Struct, frozen=True):
    """A data cache, as one core sees it.

    Attributes:
        size: bytes for one core.
        ways: how many lines may share a place.
        line: bytes of a line.
        period: the distance of lines that share a place, in bytes.
    """

    size: int
    ways: int
    line: int
    period: int

    def share(self, numerator: int, denominator: int = 1) -> int:
        """Return a share of its size, in bytes."""
        return max(1, self.size * numerator // denominator)


ASSUMED = {1: DataCache(32 * 1024, 8, 64, 4 * 1024), 2: DataCache(1024 * 1024, 16, 64, 64 * 1024)}
"""The caches by level where the system does not tell."""
_SYSTEM = Path("/sys/devices/system/cpu/cpu0")


def cache(level: int, system: Path = _SYSTEM) -> DataCache:
    """Return the data cache of a level, 1 or 2, of the first processor."""
    wanted = whole_number("PRIMAD_CACHE_BYTES", LEAST_CACHE_BYTES) if level == 2 else None
    if wanted is not None:
        assumed = ASSUMED[2]
        return DataCache(wanted, assumed.ways, assumed.line, wanted // assumed.ways)
    return _told_by_files(level, system) or _told_by_sysconf(level) or ASSUMED[level]


def _told_by_files(level: int, system: Path) -> DataCache | None:
    """Read what Linux says in `/sys`; of a cache that several cores share, each has its part."""
    try:
        for place in sorted(system.glob("cache/index*")):
            if _text(place / "level") != str(level) or _text(place / "type") == "Instruction":
                continue
            size, scale = _text(place / "size"), {"K": 1024, "M": 1024 * 1024}
            whole = int(size.rstrip("KM")) * scale.get(size[-1], 1)
            ways, line, sets = (int(_text(place / name)) for name in _SHAPE)
            cores = _count(_text(place / "shared_cpu_list"))
            threads = _count(_text(system / "topology" / "thread_siblings_list"))
            return _checked(whole * min(threads, cores) // cores, ways, line, sets * line)
    except (OSError, ValueError, IndexError):
        pass
    return None


_SHAPE = ("ways_of_associativity", "coherency_line_size", "number_of_sets")


def _told_by_sysconf(level: int) -> DataCache | None:
    """Ask the C library."""
    name = "SC_LEVEL1_DCACHE" if level == 1 else "SC_LEVEL2_CACHE"
    try:
        size, ways, line = (os.sysconf(f"{name}_{part}") for part in ("SIZE", "ASSOC", "LINESIZE"))
    except (AttributeError, ValueError, OSError):
        return None
    return _checked(size, ways, line, size // ways) if ways > 0 else None


def _checked(size: int, ways: int, line: int, period: int) -> DataCache | None:
    return DataCache(size, ways, line, period) if min(size, ways, line, period) > 0 else None


def _text(path: Path) -> str:
    return path.read_text(encoding="ascii").strip()


def _count(processors: str) -> int:
    """Return how many numbers are in a list as `0-3,8-11`."""
    ends = [part.split("-") for part in processors.split(",")]
    return sum(int(part[-1]) - int(part[0]) + 1 for part in ends)


FIRST_CACHE, SECOND_CACHE = cache(1), cache(2)
"""The first-level data cache, and the second-level cache, of a core."""
WORTHWHILE_BYTES = 4 * ASSUMED[2].size
"""Bytes of a program's values together, below which it stays whole, and from which tiles keep more of them in a cache.
Estimated, as a few second-level caches of any machine. The last bits of results depend on it."""


# -- calls -------------------------------------------------------------------------------------------------------------

CALL_ELEMENTS = 4096
"""Elements in a cache, an op on which takes as long as a call of a NumPy function: about a microsecond. Estimated. What
runs natively depends on it, and so the last bits of results."""
LOOP_ELEMENTS = 1024
"""Elements from which it does not matter what NumPy takes to make an array or to begin a loop, or native code to begin
one: as long as some tens of them. Estimated. The last bits of sums depend on it."""
STREAMED_BYTES = 8 * 1024 * 1024
"""Bytes of arrays that are read from memory at a time: fewer come while threads wake. Estimated. The last bits of sums
depend on it."""
THREAD_WORK = 1 << 20
"""Ops on elements for which it is worth to ask a thread, about a third of a millisecond: handing work to one, or
leaving Python's lock, takes some ten microseconds. Estimated. The last bits of sums of products depend on it."""
ALONE_WORK = 4 * THREAD_WORK
"""Ops on elements, or flops of products, below which work is not shared, but done with what stands beside it: about a
millisecond. Chosen: in larger programs the interpreter's price does not show, while threads and a tuned BLAS library
do. The last bits of results depend on it."""


# -- processors and memory ---------------------------------------------------------------------------------------------


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


SPARE_BYTES = 200_000_000
"""Bytes that can be spared on any machine: a cache holds no more, nor does what keeps values to save time, where no
limit is given. Chosen: small beside the memory of a machine."""
SPARE_DOUBLES = SPARE_BYTES // 8
"""Numbers in double precision that take so many."""
CONTAINER_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where Linux tells a container how much memory it may take; above it processes are killed, not refused."""


@lru_cache(maxsize=1)
def physical_memory() -> int | None:
    """Return the bytes of memory that the machine, or the container, has; None where it does not tell."""
    try:
        known = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (AttributeError, ValueError, OSError):
        known = []
    return min([*known, *filter(None, map(_limit_in, CONTAINER_LIMITS))], default=None)


def _limit_in(path: str) -> int | None:
    """Return the number of bytes in a file; None where there is no such file, or no limit in it."""
    try:
        return int(Path(path).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


# -- BLAS --------------------------------------------------------------------------------------------------------------


BLAS_THREADS_FLOPS = 2e4
"""Flops of a product of matrices, from about which on it is shared among threads and cut along its sum: results would
depend on the number of threads. Given by OpenBLAS."""
SHARED_FLOPS = 2e8
"""Flops of a product of matrices, or of a factorization, from which threads save more than it takes to share it.
Estimated. The last bits of results depend on it."""
BLAS_UNPACKED = 10**6
"""Products of a product of matrices, up to which it is made without packing, where a processor has AVX-512: it has one
running sum for each element then. Given by OpenBLAS. The last bits of results depend on it."""

LAPACK_BLOCK = 32
"""Columns that blocked methods of LAPACK take together, for which its memory is taken. Given by `ilaenv` of the
reference LAPACK, which says 32 for most of them."""


def blas() -> Any:
    """Return the control of the loaded BLAS libraries."""
    return _blas("scipy.linalg" in sys.modules)  # which loads one of its own


@made_once()
def _blas(with_scipys: bool) -> Any:
    from threadpoolctl import ThreadpoolController  # examines the loaded libraries: only when first needed

    return ThreadpoolController().select(user_api="blas")


@lru_cache(maxsize=1)
def blas_has_long_vectors() -> bool:
    """Say whether BLAS uses the 512-bit vectors of a processor that has them.

    OpenBLAS may not know the processor, and take its code for an older one.
    """
    found = [library.get("architecture", "") for library in blas().info() if library["internal_api"] == "openblas"]
    return not found or any(name in LONG_VECTORS for name in found)


LONG_VECTORS = ("SkylakeX", "Cooperlake", "SapphireRapids")
"""The names that OpenBLAS gives to its code for such processors."""


# -- all of it ---------------------------------------------------------------------------------------------------------


def facts_for_bits() -> dict[str, Any]:
    """Return what of the machine, and of what is installed, the last bits of results depend on."""
    libraries = sorted({str(library.get("architecture")) for library in blas().info()})
    return {
        "vectors": VECTOR_BYTES,
        "caches": (FIRST_CACHE, SECOND_CACHE),
        "BLAS": libraries,
        "NumPy": np.__version__,
        "native code": not is_off("PRIMAD_NATIVE") and find_spec("llvmlite") is not None,
    }
