"""Fixtures that several files use."""

import pytest

from primad.native import vectors


@pytest.fixture(params=sorted({32, vectors.WIDTH_BYTES}), ids="{} bytes".format)
def width(request, monkeypatch):
    """Every width of vectors that the host allows."""
    monkeypatch.setattr(vectors, "WIDTH_BYTES", request.param)
