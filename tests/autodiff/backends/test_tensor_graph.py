"""A captured plan: one upload and one graph a run, current leaves, results that stay."""

from __future__ import annotations

import fake_cupy
import numpy as np
import pytest

from autodiff.backends.cupy_backend import CupyBackend
from autodiff.backends.emulated_backend import EmulatedBackend
from autodiff.backends.interface import Backend
from autodiff.backends.tensor_graph import TensorGraph
from autodiff.backends.tensor_launches import make_plan
from autodiff.backends.tensor_plan import Step

FLOAT = np.dtype(float)
STEPS = [
    Step("multiply", {}, (0, 1), 2),
    Step("exp", {}, (2,), 3),
    Step("sum", {"axis": (0,), "keepdims": False}, (3,), 4),
]
METAS = {0: ((3,), FLOAT), 1: ((), FLOAT), 2: ((3,), FLOAT), 3: ((3,), FLOAT), 4: ((), FLOAT)}


@pytest.fixture(params=["emulated", "cuda"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Backend:
    if request.param == "emulated":
        return EmulatedBackend()
    fake_cupy.install(monkeypatch)
    return CupyBackend()


def graph_on(backend: Backend) -> TensorGraph:
    plan = make_plan(STEPS, METAS, [0, 1], [3, 4])
    assert plan is not None
    return TensorGraph(backend, plan)


def run(backend: Backend, graph: TensorGraph, x: np.ndarray, factor: float) -> list[np.ndarray]:
    leaves = [backend.send(x), backend.send(np.float64(factor))]
    return [backend.receive(made) for made in graph(backend.xp, *leaves)]


def test_every_run_reads_the_leaves_that_it_is_given(backend: Backend) -> None:
    graph = graph_on(backend)
    x = np.array([0.1, -0.2, 0.3])
    for factor in (1.0, 2.0, -0.5):
        exp, total = run(backend, graph, factor * x, factor)
        np.testing.assert_allclose(exp, np.exp(factor**2 * x), rtol=1e-14)
        np.testing.assert_allclose(total, exp.sum(), rtol=1e-14)


def test_results_are_nobody_elses(backend: Backend) -> None:
    graph = graph_on(backend)
    leaves = [backend.send(np.zeros(3)), backend.send(np.float64(1))]
    first = graph(backend.xp, *leaves)
    graph(backend.xp, backend.send(np.ones(3)), leaves[1])
    assert [backend.receive(made).tolist() for made in first] == [[1.0] * 3, 3.0]


def test_run_is_one_upload_and_one_graph(backend: Backend) -> None:
    graph = graph_on(backend)
    leaves = [backend.send(np.zeros(3)), backend.send(np.float64(1))]
    graph(backend.xp, *leaves)
    backend.stats.reset()
    graph(backend.xp, *leaves)
    stats = backend.stats
    assert (stats.uploads, stats.upload_bytes, stats.downloads) == (1, 64, 0)
    assert (stats.graphs, stats.kernels) == (1, 3)  # the leaves, one program, one reduction


def test_numbers_of_the_host_go_along_in_the_table(backend: Backend) -> None:
    graph = graph_on(backend)
    x = np.array([0.1, -0.2, 0.3])
    for factor in (2.0, -0.5):
        made = graph(backend.xp, backend.send(x), numbers={1: np.array(factor)})
        np.testing.assert_allclose(backend.receive(made[0]), np.exp(factor * x), rtol=1e-14)


def test_strided_leaves_are_put_in_order(backend: Backend) -> None:
    leaf = backend.send(np.arange(6.0))[::-2]
    made = graph_on(backend)(backend.xp, leaf, backend.send(np.float64(0.1)))
    expected = np.exp(0.1 * np.array([5.0, 3.0, 1.0]))
    np.testing.assert_allclose(backend.receive(made[0]), expected)


def test_plan_without_leaves_uploads_nothing(backend: Backend) -> None:
    plan = make_plan([], {0: ((2,), FLOAT)}, [0], [0])
    assert plan is not None
    made = TensorGraph(backend, plan)(backend.xp, backend.send(np.ones(2)))
    assert backend.receive(made[0]).tolist() == [1.0, 1.0]
    nothing = make_plan([], {}, [], [])
    assert nothing is not None
    before = backend.stats.uploads
    assert TensorGraph(backend, nothing)(backend.xp) == ()
    assert backend.stats.uploads == before
