"""Qiskit circuits and operators in and out. Importing this package imports Qiskit."""

from circuits.interop.qiskit.hardware import Estimate, HardwareRunner
from circuits.interop.qiskit.observables import apply_layout, observable_from_qiskit
from circuits.interop.qiskit.primitives import KetgradEstimator, KetgradSampler
from circuits.interop.qiskit.report import ImportReport
from circuits.interop.qiskit.values import write_back
from circuits.interop.qiskit.verifying import Verification, verify_import

__all__ = [
    "Estimate",
    "HardwareRunner",
    "ImportReport",
    "KetgradEstimator",
    "KetgradSampler",
    "Verification",
    "apply_layout",
    "observable_from_qiskit",
    "verify_import",
    "write_back",
]
