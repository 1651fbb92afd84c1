"""Fixtures that several files use."""

import contextlib
import gc
import importlib
import os
import signal
from importlib.metadata import version

import pytest
from _pytest.runner import runtestprotocol
from msgspec.structs import force_setattr

# The workers of a run share the processors. With threads of its own in each, BLAS waits for them in loops that take
# five times as long as the products. What depends on those threads sets the number itself.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Two of primad's own, also on machines with more: what a run holds in memory grows with them.
os.environ.setdefault("PRIMAD_NUM_THREADS", str(min(2, os.cpu_count() or 1)))
# XLA takes most of the time of the tests of JAX to make code fast that runs once: by optimisation, and, where its
# version knows other ways (it ends the process at a flag that it does not know), by lowering each fusion through MLIR,
# three times as slow as LLVM, and in as many modules as there may be processors.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    + " --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
    * version("jaxlib").startswith("0.10."),
)

from primad.explanation import explained, machine_speeds
from primad.native.llvm import vectors
from primad.native.llvm.compile_limits import BUDGET
from primad.runtime.executors.dispatch import NATIVE
from tests.draws import draw_anew, remember
from tests.sweeps import ANY_WIDTHS, WIDTHS, generate, is_swept, leave_to_the_sweep

# A shell starts what runs in its background with interrupts ignored; the tests of interrupts send them.
signal.signal(signal.SIGINT, signal.default_int_handler)


# Ten thousand tests leave a large heap of what lives on, which the default of 700 new objects walks through again and
# again: a twelfth of all their time.
gc.set_threshold(20_000, 20, 50)


def pytest_configure(config):
    """Have LLVM select instructions for one block after the other, and do no more: half of the time to compile.

    Texts say nothing of memory or of numbers that only optimisation goes by (tests/native/llvm/test_builder.py), so
    that nothing said wrongly is missed. What selects still faster knows no masked vectors.
    """
    if not is_swept(config):
        force_setattr(BUDGET, "level", 0)
        with contextlib.suppress(ImportError):
            importlib.import_module("llvmlite.binding").set_option("primad", "-fast-isel=0")


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc):
    generate(metafunc)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    leave_to_the_sweep(items)


def pytest_collection_finish(session):
    """Leave out what was collected and imported, a million objects, wherever the collector walks through all."""
    remember(session.config)
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def _leave_out_earlier_files():
    """Leave out what earlier files of tests have left in caches, so that collections take as long in any file."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    draw_anew(item, made=False)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    draw_anew(item, made=True)


MENTIONED_SECONDS = 0.005
"""How long, in seconds, what `--durations` lists takes at least: pytest's own `--durations-min`."""

# Tests ask `explain` for what it says, not for how sure it is of a time. Every process measures the machine, for each
# dtype, by products that take two seconds in code that LLVM made in haste.
explained.MEASURED_SECONDS = 0.01
machine_speeds._least = lambda call, runs, least=machine_speeds._least: least(call, runs // 5 or 1)


def pytest_runtest_protocol(item, nextitem):
    """Report a test once to another process where nothing is to be said of making and clearing up what it needs.

    Each report, and each word that a test begins or ends, takes both processes a tenth of a millisecond.
    """
    if not hasattr(item.config, "workerinput") or item.config.option.verbose > 0:
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if (
            report.when == "call"
            or report.outcome != "passed"
            or report.sections
            or report.duration > MENTIONED_SECONDS
        ):
            item.ihook.pytest_runtest_logreport(report=report)
    return True


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from tests.scheduling import ByFile

    return ByFile(config, log) if config.getoption("dist") == "load" else None


# No test depends on what earlier runs left.
os.environ["PRIMAD_CACHE"] = "0"


@pytest.fixture(params=WIDTHS, ids="{} bytes".format)
def width(request, monkeypatch):
    """Every width of vectors that the host allows."""
    monkeypatch.setattr(vectors, "WIDTH_BYTES", request.param)


@pytest.fixture(params=ANY_WIDTHS, ids="{} bytes".format)
def any_width(request, monkeypatch):
    """Every width of vectors for which there is code; short ones run on every host."""
    monkeypatch.setattr(vectors, "WIDTH_BYTES", request.param)


@pytest.fixture
def planned(monkeypatch):
    """The programs that were planned: what is found in a cache is none of them."""
    made = []
    prepare = NATIVE.prepare
    monkeypatch.setattr(NATIVE, "prepare", lambda program, options: made.append(program) or prepare(program, options))
    return made
