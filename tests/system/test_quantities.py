"""Quantities in words, however large."""

from __future__ import annotations

import pytest

from primad.system.quantities import count, quantity, seconds, size


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0, "0"), (999, "999"), (1000, "1 k"), (123456, "123 k"), (9.995e5, "1 M"), (1e18, "1 E"), (999e18, "999 E"),
        (9.996e20, "1.0·10²¹"), (1.5e21, "1.5·10²¹"), (2.3e22, "2.3·10²²"), (9.99e29, "1.0·10³⁰"), (10**21, "1.0·10²¹"),
        (3 * 10**400, "3.0·10⁴⁰⁰"),         (99 * 10**9999, "9.9·10¹⁰⁰⁰⁰"),
    ],
    ids=lambda value: "" if isinstance(value, str) else f"{len(hex(int(value)))}",
)  # fmt: skip
def test_counts(value: float, said: str) -> None:
    """Also integers that no float holds, as the length of a formula that is written out."""
    assert count(value) == said


def test_units() -> None:
    assert (quantity(1234, "flop"), size(12), size(1_200_000), seconds(0.0123), seconds(2e-10)) == (
        "1.23 kflop", "12 bytes", "1.2 MB", "12.3 ms", "0.2 ns",
    )  # fmt: skip
