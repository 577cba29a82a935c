"""``import qml`` gives all public names of the three packages."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys

import pytest
from sources import ROOT

import autodiff
import circuits
import qml

OPTIONAL = {"cupy", "matplotlib", "numba", "qiskit", "scipy", "sklearn", "tqdm"}


@pytest.mark.parametrize("package", [autodiff, circuits])
def test_names_of_the_packages_below_mean_the_same(package: object) -> None:
    assert set(package.__all__) <= set(qml.__all__)
    for name in package.__all__:
        assert getattr(qml, name) is getattr(package, name)


def test_every_name_is_there() -> None:
    for name in qml.__all__:
        assert hasattr(qml, name)


def test_own_names_hide_none_from_below() -> None:
    own = set(qml.__all__) - set(autodiff.__all__) - set(circuits.__all__)
    assert len(own) + len({*autodiff.__all__, *circuits.__all__}) == len(set(qml.__all__))
    assert all(
        getattr(qml, name).__module__.startswith("qml.") for name in own - {"CHEMICAL_ACCURACY"}
    )


def test_no_name_is_that_of_a_module_beside_it() -> None:
    assert {module.name for module in pkgutil.iter_modules(qml.__path__)} & set(
        qml.__all__
    ) == set()


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'qml' has no attribute 'Adan'"):
        _ = qml.Adan


def test_import_loads_nothing_that_a_script_may_not_need() -> None:
    code = "import json, sys, qml; print(json.dumps([m.split('.')[0] for m in sys.modules]))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)) & OPTIONAL == set()
