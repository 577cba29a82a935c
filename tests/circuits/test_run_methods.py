"""What a circuit computes: conventions, precision, options, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from qiskit.quantum_info import SparsePauliOp

from autodiff import DeviceUnavailable, GradientError, Parameter, Tensor
from circuits import (
    BindingError,
    CapacityError,
    Circuit,
    EngineError,
    Hermitian,
    Input,
    MeasurementError,
    ObservableError,
    PauliSum,
    Projector,
    QubitError,
    StateError,
    X,
    Y,
    Z,
)
from circuits.compiled_observables import observable_list
from circuits.engines.registry import get_engine
from circuits.run_methods import checked_dtype

every_engine = pytest.mark.parametrize("engine", ["reference", "numba"])


# -- conventions -----------------------------------------------------------------------------------


@every_engine
def test_qubit_zero_is_the_lowest_bit_and_the_rightmost_letter(engine: str) -> None:
    circuit = Circuit(3).x(0)
    assert circuit.statevector(engine=engine).numpy().argmax() == 1
    assert circuit.counts(1, seed=0, engine=engine) == {"001": 1}
    labels = [PauliSum({label: 1.0}) for label in ("IIZ", "IZI", "ZII")]
    assert circuit.expectation(labels, engine=engine).tolist() == [-1, 1, 1]
    assert circuit.expectation([Z(0), Z(1), Z(2)], engine=engine).tolist() == [-1, 1, 1]
    assert circuit.expectation(Projector("001"), engine=engine).item() == 1
    assert circuit.probabilities([0, 2], engine=engine).tolist() == [0, 1, 0, 0]


@every_engine
def test_first_listed_qubit_is_least_significant(engine: str) -> None:
    matrix = np.zeros((4, 4))
    matrix[[1, 2, 0, 3], range(4)] = 1  # 0 -> 1: the first qubit is set
    state = Circuit(3).unitary(matrix, [2, 0]).statevector(engine=engine)
    assert state.numpy().argmax() == 0b100
    observable = Hermitian(np.diag([1.0, 2.0, 3.0, 4.0]), [2, 0])
    values = [Circuit(3).x(q).expectation(observable, engine=engine).item() for q in (2, 0, 1)]
    assert values == [2, 3, 1]


@every_engine
def test_rotations_turn_by_minus_half_the_angle(engine: str) -> None:
    state = Circuit(1).rx(np.pi / 2, 0).statevector(engine=engine).numpy()
    np.testing.assert_allclose(state, np.array([1, -1j]) / np.sqrt(2), atol=1e-15)


def test_unitary_has_the_columns_of_basis_states() -> None:
    circuit = Circuit(2).h(0).crx(0.3, 1, 0).global_phase(0.5)
    matrix = circuit.unitary(engine="reference").numpy()
    for k, start in enumerate(np.eye(4)):
        column = circuit.statevector(initial_state=start, engine="reference").numpy()
        np.testing.assert_allclose(matrix[:, k], column, atol=1e-15)


@every_engine
def test_unitary_is_differentiable(engine: str) -> None:
    p = Parameter(0.3)
    Circuit(1).rx(p, 0).unitary(engine=engine).real.sum().backward()
    assert p.grad is not None
    assert p.grad.item() == pytest.approx(-np.sin(0.15))


# -- variance --------------------------------------------------------------------------------------


@every_engine
@pytest.mark.parametrize(
    "observable",
    [X(0), PauliSum({"XZ": 0.5, "YI": 1.0}), Projector("01"), Hermitian([[1, 1j], [-1j, 3]], 1)],
)
def test_variance_is_that_of_the_matrix(observable: Any, engine: str) -> None:
    p = Parameter(0.3)
    circuit = Circuit(2).ry(p, 0).cx(0, 1).rz(2 * p, 1).h(0)
    found = circuit.variance(observable, engine=engine)
    psi, matrix = circuit.statevector(engine=engine).numpy(), observable.matrix(2)
    mean = np.vdot(psi, matrix @ psi).real
    assert found.item() == pytest.approx(np.vdot(psi, matrix @ matrix @ psi).real - mean**2)
    found.backward()
    shifted = [
        circuit.variance(observable, values=[0.3 + h], engine=engine).item()
        for h in (-2e-3, -1e-3, 1e-3, 2e-3)
    ]
    slope = (shifted[0] - 8 * shifted[1] + 8 * shifted[2] - shifted[3]) / 12e-3
    assert p.grad is not None
    assert p.grad.item() == pytest.approx(slope, abs=1e-9)


def test_variance_of_a_batch() -> None:
    circuit = Circuit(1).rx(Input("x", 1)[0], 0)
    data = np.array([[0.0], [0.4]])
    found = circuit.variance(Z(0), inputs={"x": data}, engine="reference").numpy()
    np.testing.assert_allclose(found, np.sin(data[:, 0]) ** 2, atol=1e-15)


def test_variance_needs_fixed_coefficients() -> None:
    with pytest.raises(GradientError, match="variance needs fixed coefficients"):
        Circuit(1).variance(Parameter(0.5) * Z(0))


# -- precision and devices -------------------------------------------------------------------------

F32, F64 = np.float32, np.float64


@pytest.mark.parametrize(
    ("parameter", "feature", "dtype"),
    [
        (F32, F32, np.complex64),
        (F32, F64, np.complex128),
        (F64, F32, np.complex128),
        (F64, F64, np.complex128),
    ],
)
@every_engine
def test_precision_is_single_if_all_leaves_are(
    parameter: Any, feature: Any, dtype: Any, engine: str
) -> None:
    p, x = Parameter(parameter(0.3)), Input("x", 1, dtype=feature)
    circuit = Circuit(1).rx(p, 0).ry(x[0], 0)
    options: dict[str, Any] = {"inputs": {"x": [0.2]}, "engine": engine}
    assert circuit.statevector(**options).dtype == dtype
    e = circuit.expectation(Z(0), **options)
    assert e.dtype == np.finfo(dtype).dtype
    e.backward()
    assert p.grad is not None
    assert p.grad.dtype == parameter
    for wanted in ("complex64", np.complex128, "c16"):
        assert circuit.statevector(dtype=wanted, **options).dtype == np.dtype(wanted)


def test_circuits_without_leaves_run_in_double_precision() -> None:
    assert Circuit(1).h(0).statevector(engine="reference").dtype == np.complex128


@pytest.mark.parametrize("dtype", [float, "float32", int, "no dtype", object])
def test_other_dtypes_are_refused(dtype: Any) -> None:
    with pytest.raises(EngineError, match="complex64 or complex128, got"):
        Circuit(1).statevector(dtype=dtype)
    with pytest.raises(EngineError, match="complex64 or complex128, got"):
        checked_dtype(dtype)


def test_device_may_be_named() -> None:
    assert Circuit(1).statevector(device="cpu", engine="reference").device == "cpu"
    with pytest.raises((DeviceUnavailable, ValueError), match="cuda:7"):
        Circuit(1).statevector(device="cuda:7", engine="reference")


# -- refusals --------------------------------------------------------------------------------------

BAD: list[tuple[Callable[[Circuit], Any], type[Exception], str]] = [
    (
        lambda c: c.expectation(None),
        ObservableError,
        "an observable or a sequence of them, got None",
    ),
    (
        lambda c: c.expectation("ZZ"),
        ObservableError,
        "an observable or a sequence of them, got 'ZZ'",
    ),
    (lambda c: c.expectation(5), ObservableError, "an observable or a sequence of them, got 5"),
    (lambda c: c.expectation([]), ObservableError, "one or more observables, got none"),
    (lambda c: c.expectation([Z(0), 1.0]), ObservableError, "got float 1.0 at position 1"),
    (lambda c: c.expectation(Z(2)), QubitError, "needs qubits below 2"),
    (lambda c: c.expectation(PauliSum({"ZZZ": 1.0})), ObservableError, "needs width 2"),
    (lambda c: c.expectation(PauliSum({"ZZ": np.nan})), ObservableError, "a finite number"),
    (lambda c: c.expectation({"ZZ": 1.0}), ObservableError, r"Wrap it: PauliSum\("),
    (lambda c: c.expectation(SparsePauliOp("ZZ")), ObservableError, r"PauliSum\.from_qiskit\("),
    (lambda c: c.expectation(Z(0), seed=0), MeasurementError, "needs shots for a seed"),
    (lambda c: c.expectation(Parameter(np.nan) * Z(0)), ObservableError, "finite coefficients"),
    (lambda c: c.variance(Tensor(np.inf) * Z(0)), ObservableError, "got inf for term 0"),
    (lambda c: c.statevector(initial_state=[np.nan, 0, 0, 1]), StateError, "NaN or infinity"),
    (lambda c: c.statevector(initial_state=[0, 0, 0, 0]), StateError, "a row of zeros"),
    (lambda c: c.sample(2, initial_state=[2, 0, 0, 0]), StateError, "off by 1"),
    (lambda c: c.counts(2, initial_state=[2, 0, 0, 0]), StateError, "a normalised initial state"),
    (lambda c: c.probabilities(initial_state=[2, 0, 0, 0]), StateError, "Divide it by its norm"),
    (lambda c: c.marginal(0, initial_state=[2, 0, 0, 0]), StateError, "a normalised initial"),
    (lambda c: c.variance(Z(0), initial_state=[2, 0, 0, 0]), StateError, "a normalised initial"),
    (lambda c: c.expectation(1j * Z(0)), ObservableError, "real coefficients"),
    (lambda c: c.expectation(X(0) @ Y(0)), ObservableError, "real coefficients"),
    (lambda c: c.variance([Z(0)]), ObservableError, "got list"),
    (lambda c: c.statevector(engine="fast"), EngineError, "engine needs one of"),
    (lambda c: c.statevector(engine=3), EngineError, "engine needs one of"),
    (lambda c: c.statevector(input={}), TypeError, "unexpected keyword argument 'input'"),
    (lambda c: c.statevector(initial_state=[1, 0]), StateError, r"needs shape \(4,\)"),
    (lambda c: c.unitary(initial_state=[1, 0, 0, 0]), BindingError, "needs no initial_state"),
    (lambda c: c.probabilities([2]), QubitError, "below 2"),
    (lambda c: c.probabilities([0, 0]), QubitError, "distinct"),
    (lambda c: c.bloch_vector([0, 1]), QubitError, "needs"),
    (lambda c: c.expectation(Z(0), initial_state=np.eye(4)[:0]), StateError, "needs shape"),
]


@every_engine
@pytest.mark.parametrize(("call", "error", "match"), BAD)
def test_bad_calls_are_refused(
    call: Callable[[Circuit], Any], error: type[Exception], match: str, engine: str
) -> None:
    circuit = Circuit(2).rx(Parameter(0.1), 0)
    before = circuit.copy()
    with pytest.raises(error, match=match):
        call(circuit)
    assert circuit == before


def test_batches_have_no_single_matrix() -> None:
    circuit = Circuit(1).rx(Input("x", 1)[0], 0)
    with pytest.raises(BindingError, match="a single sample, got a batch of 3"):
        circuit.unitary(inputs={"x": np.zeros((3, 1))}, engine="reference")


@pytest.mark.parametrize(("num_qubits", "dtype", "size"), [(20, None, 32), (21, "complex64", 64)])
def test_matrices_that_no_machine_holds_are_refused(
    num_qubits: int, dtype: str | None, size: int
) -> None:
    with pytest.raises(CapacityError, match=rf"a unitary of {num_qubits} qubits needs {size} TiB"):
        Circuit(num_qubits).h(0).unitary(dtype=dtype)


def test_batches_of_states_and_inputs_must_agree() -> None:
    circuit = Circuit(1).rx(Input("x", 1)[0], 0)
    with pytest.raises(BindingError, match=r"one batch size, got \[2, 3\]"):
        circuit.statevector(
            inputs={"x": np.zeros((3, 1))}, initial_state=np.eye(2), engine="reference"
        )


def test_engine_objects_are_taken_as_they_are() -> None:
    engine = get_engine("reference")
    assert Circuit(1).x(0).expectation(Z(0), engine=engine).item() == -1


def test_values_and_states_take_any_norm() -> None:
    start = [2.0, 0.0]
    assert Circuit(1).expectation(Z(0), initial_state=start, engine="reference").item() == 4
    assert Circuit(1).statevector(initial_state=start, engine="reference").real.tolist() == start


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_rounding_of_a_norm_is_no_fault(dtype: str) -> None:
    start = np.array([0.6, 0.8j]) * (1 + (5e-4 if dtype == "complex64" else 5e-7))
    drawn = Circuit(1).probabilities(initial_state=start, dtype=dtype, engine="reference")
    np.testing.assert_allclose(drawn.numpy(), [0.36, 0.64], atol=2e-3)


@every_engine
def test_infinite_values_give_nan(engine: str) -> None:
    circuit = Circuit(2).rx(Parameter(0.0), 0).cry(Input("x", 1)[0] + 1.0, 1, 0)
    for values, x in ([np.inf], [0.0]), ([0.0], [np.inf]), ([0.0], [np.nan]):
        seen = Y(0) @ X(1)  # gates that an observable does not see are left out
        found = circuit.expectation(seen, values=values, inputs={"x": x}, engine=engine)
        assert np.isnan(found.item())


def test_observables_may_come_from_any_iterable() -> None:
    assert observable_list(Z(0)) == [Z(0)]
    assert observable_list(Z(k) for k in range(2)) == [Z(0), Z(1)]
    assert Circuit(2).expectation((Z(k) for k in range(2)), engine="reference").tolist() == [1, 1]


def test_statevector_of_a_big_sum_of_batches_is_one_tensor() -> None:
    circuit = Circuit(2).rx(Parameter(0.1), 0)
    e = circuit.expectation(Z(0), values=np.zeros((1000, 1)))
    assert e.shape == (1000,)
