"""Files of arrays from elsewhere, damaged ones, and the modes of files."""

from __future__ import annotations

import json
import os
import random
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primad
from primad import nn


def file_of(tensors: dict[str, tuple[str, list[int], bytes]], metadata: Any = None) -> bytes:
    """Write the format by hand: the header's length, the header, the data."""
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    data = b""
    for name, (kind, shape, content) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


@pytest.mark.parametrize("dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"])
def test_each_kind_of_element(dtype: str, tmp_path: Path) -> None:
    kind = {"?": "BOOL", "i": "I", "u": "U", "f": "F"}[dtype[0]] + (str(8 * int(dtype[1])) if dtype[1:] else "")
    array = np.arange(6).reshape(2, 3).astype(dtype)
    path = tmp_path / "t"
    path.write_bytes(file_of({"a": (kind, [2, 3], array.tobytes()), "none": (kind, [0, 4], b"")}, {"format": "pt"}))
    found = nn.load(path)
    np.testing.assert_array_equal(found["a"], array)
    assert found["a"].dtype == array.dtype and found["none"].shape == (0, 4)


def test_bfloat16_becomes_float32(tmp_path: Path) -> None:
    values = np.array([1.0, -2.5, 0.0, np.inf, 3.140625, -0.0], np.float32)
    path = tmp_path / "t"
    path.write_bytes(file_of({"w": ("BF16", [2, 3], (values.view(np.uint32) >> 16).astype("<u2").tobytes())}))
    found = nn.load(path, {"w": np.zeros((2, 3), np.float32)})["w"]
    assert found.dtype == np.float32 and found.tobytes() == values.tobytes()


@pytest.mark.parametrize("kind", ["F8_E4M3", "F8_E5M2"])
def test_elements_that_numpy_lacks(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(file_of({"w": (kind, [2], b"\0\0")}))
    with pytest.raises(primad.ShapeError, match=f"w in .* has elements of type {kind}(?s:.*)convert it"):
        nn.load(path)


def test_damaged_files(tmp_path: Path) -> None:
    """Cut anywhere, or with some bytes changed: an error of primad's, or arrays."""
    good = file_of({"a": ("F64", [2], np.ones(2).tobytes()), "b": ("BF16", [1], b"\x80\x3f")})
    rng = random.Random(0)
    damaged = [good[:stop] for stop in range(len(good))]
    damaged += [bytes(good[:8]).replace(good[:1], b"\xff") + good[8:], b"\xff" * 8 + good[8:], b""]
    for _ in range(500):
        changed = bytearray(good)
        for _ in range(rng.randint(1, 3)):
            changed[rng.randrange(len(good))] = rng.randrange(256)
        damaged.append(bytes(changed))
    path, refused = tmp_path / "t", 0
    for content in damaged:
        path.write_bytes(content)
        try:
            nn.told(path)
            nn.load(path)
        except primad.ShapeError:
            refused += 1
    assert refused > len(good)


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_modes(tmp_path: Path) -> None:
    path = tmp_path / "t"
    for mask in (0o022, 0o077, 0o002):
        before = os.umask(mask)
        try:
            nn.save(path, {"a": 1.0})
        finally:
            os.umask(before)
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
        path.unlink()
    for mode in (0o640, 0o444):
        nn.save(path, {"a": 1.0})
        path.chmod(mode)
        nn.save(path, {"a": 2.0})
        assert stat.S_IMODE(path.stat().st_mode) == mode and nn.load(path)["a"] == 2.0
    assert list(tmp_path.iterdir()) == [path]
