"""Kernels that are known: found while LLVM compiles others, and while others look for them."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

import primad
from primad.native.llvm import compiler as native
from primad.native.loops.step_driver import driver_text

pytestmark = pytest.mark.skipif(native.compiler() is None, reason="llvmlite is not installed")
PATIENCE = 60.0


def test_what_is_known_does_not_wait_for_what_is_compiled() -> None:
    host, found = native.compiler(), []
    assert host is not None
    (known,) = host.kernels([driver_text()])
    with native._COMPILING:  # as LLVM has it
        thread = threading.Thread(target=lambda: found.extend(host.kernels([driver_text()])), daemon=True)
        thread.start()
        thread.join(PATIENCE)
        assert found == [known]


def test_what_was_asked_for_last_stays_longest() -> None:
    host = native.compiler()
    assert host is not None
    host.kernels([driver_text()])
    primad.jit(lambda x: np.sum(np.sin(x) ** 2.5))(np.ones(50))
    assert list(host._cache)[-1] != driver_text()
    host.kernels([driver_text()])
    assert list(host._cache)[-1] == driver_text()


def test_texts_of_kernels_are_found_while_others_look_for_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    host = native.compiler()
    assert host is not None
    (kernel,) = host.kernels([driver_text()])
    others = {f"text {i}": kernel for i in range(300)}
    cache = type(host._cache)([*host._cache.items(), *others.items()])
    monkeypatch.setattr(host, "_cache", cache)
    wrong, ended = [], threading.Event()

    def look() -> None:
        while not ended.is_set():
            host.kernels(["text 0"])
            host.kernels(["text 1"])

    thread = threading.Thread(target=look, daemon=True)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        thread.start()
        for _ in range(1500):
            host.texts_of([kernel])
    except RuntimeError as error:
        wrong.append(error)
    finally:
        ended.set()
        sys.setswitchinterval(interval)
    thread.join(PATIENCE)
    assert not wrong
