from __future__ import annotations

import pytest

from circuits.audit_report import AuditReport, AuditRow, Fault


def row(**found: float) -> AuditRow:
    return AuditRow(3, "rx", (1, 0), 0, "2*t", found, 1e-3)


def test_methods_that_differ_are_off_and_nan_is_off() -> None:
    found = row(differences=0.5, tape=0.5009, numba=0.502, reference=float("nan"))
    assert found.off == ("numba", "reference")


def test_report_without_faults_is_ok() -> None:
    good = AuditReport((row(differences=0.5, tape=0.5),), {"differences": 1.0}, ())
    assert good.ok
    assert repr(good).splitlines() == [
        "gradient audit: all methods agree",
        "gate       qubits  angle  differences  tape",
        "value                     1.00000000",
        "3      rx  1, 0    2*t    0.50000000   0.50000000",
    ]


def test_faults_are_counted_and_listed() -> None:
    faults = (Fault("numba", "wrong", 3, "rx", (1, 0), ("2*t",)), Fault("tape", "missing"))
    bad = AuditReport((row(differences=0.5, numba=0.7),), {"differences": 1.0}, faults)
    assert not bad.ok
    lines = repr(bad).splitlines()
    assert lines[0] == "gradient audit: 2 faults (* differs)"
    assert lines[3].endswith("0.70000000*")
    assert lines[-2:] == ["numba: wrong at gate 3, rx on (1, 0), angle 2*t", "tape: missing"]


@pytest.mark.parametrize("count", [40, 41])
def test_rows_that_agree_are_left_out_of_a_long_table(count: int) -> None:
    rows = (row(differences=0.5, tape=0.5),) * (count - 1) + (row(differences=0.5, tape=0.6),)
    lines = repr(AuditReport(rows, {"differences": 1.0}, (Fault("tape", "x"),))).splitlines()
    shown = [line for line in lines if line.startswith("3")]
    assert len(shown) == (40 if count == 40 else 1)
    assert ("and 40 more that agree" in lines) is (count == 41)


def test_zero_has_no_sign() -> None:
    text = repr(AuditReport((row(differences=-1e-17),), {"differences": -0.0}, ()))
    assert "-0.0" not in text
