"""What Python and ``tensor.cu`` have to agree about."""

from __future__ import annotations

import re

import pytest

from autodiff.backends import tensor_kernels as kernels
from autodiff.backends.host_modules import HostLibrary

LIBRARY = HostLibrary(kernels.KERNELS.source, kernels.KERNELS.instances)
STRUCTURES = {"elementwise": "PROGRAM", "reduce": "REDUCTION", "matmul": "PRODUCT"}


@pytest.mark.parametrize("kernel", STRUCTURES)
def test_structure_has_the_size_that_the_kernel_takes(kernel: str) -> None:
    structure = getattr(kernels, STRUCTURES[kernel])
    instances = [name for name in kernels.KERNELS.instances if name.startswith(kernel)]
    assert len(instances) == 2
    for name in instances:
        assert LIBRARY._entries[name][1][0] == f"V{structure.itemsize}"


def test_table_of_leaves_has_the_kernels_rows() -> None:
    assert LIBRARY._entries["take_leaves"][1][0] == f"read V{kernels.LEAF.itemsize}"


@pytest.mark.parametrize(
    ("structure", "name"),
    [
        (kernels.OPERAND, "Operand"),
        (kernels.INSTRUCTION, "Instruction"),
        (kernels.PROGRAM, "Program"),
        (kernels.REDUCTION, "Reduction"),
        (kernels.PRODUCT, "Product"),
        (kernels.LEAF, "Leaf"),
    ],
)
def test_fields_have_the_sources_order(structure: object, name: str) -> None:
    found = re.search(rf"struct {name} {{(.*?)\n}};", kernels.KERNELS.source.text(), re.DOTALL)
    assert found is not None
    text = re.sub(r"//.*", "", found[1])
    declared = re.findall(r"(\w+)(?:\[\w+\])?[,;]", text)
    assert declared == list(structure.names)  # type: ignore[attr-defined]


def test_constants_are_the_sources() -> None:
    text = kernels.KERNELS.source.text()
    names = ("AXES", "OPERANDS", "LENGTH", "THREADS")
    for name in names:
        found = re.search(rf"\b{name} = (\d+)", text)
        assert found is not None
        assert int(found[1]) == getattr(kernels, name)


def test_enumeration_counts_from_zero() -> None:
    assert kernels.enumeration("Smooth") == {"softmax": 0, "log_softmax": 1, "logsumexp": 2}
    assert kernels.enumeration("Code")["copy"] == 0
