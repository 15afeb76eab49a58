"""The exponents of known powers come out, and every curve has its row."""

import pytest

from benchmarks.growth import curves, exponent, rows


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0, 3.0])
def test_the_exponent_of_a_power(power: float) -> None:
    assert exponent({size: 0.003 * size**power for size in (16, 64, 256, 1024)}) == pytest.approx(power)


def test_a_fixed_cost_makes_the_exponent_smaller() -> None:
    assert 1 < exponent({size: 1e4 + size**2 for size in (64, 128, 256)}) < 2


def test_every_curve_has_a_row_with_the_theory() -> None:
    found = {row.what: row for row in rows(quick=True)}
    assert set(found) == {f"growth exponent: {curve.what}" for curve in curves(quick=False)}
    for curve in curves(quick=False):
        row = found[f"growth exponent: {curve.what}"]
        assert row.method.startswith(f"in theory {curve.theory};")
        assert row.goal is None
        assert row.beside.count(": ") >= 3
