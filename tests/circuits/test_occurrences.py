from __future__ import annotations

from autodiff import Parameter
from circuits import Circuit, Input
from circuits.occurrences import symbolic_angles


def test_angles_are_counted_as_the_angle_table_does() -> None:
    a, b, x = Parameter(0.1), Parameter(0.2), Input("x", 2)
    circuit = Circuit(2).h(0).u(a, 0.5, b, 1).rx(0.3, 0).crz(x[1] * a, 0, 1).ry(b, 0)
    found = symbolic_angles(circuit.instructions)
    assert [(o.position, o.instruction.name, o.slot) for o in found] == [
        (1, "u", 0),
        (1, "u", 2),
        (3, "crz", 0),
        (4, "ry", 0),
    ]
    steps = [step for step in circuit.compiled().plan.steps if step.slots]
    columns = [(step.position, slot) for step in steps for slot in step.slots]
    assert columns == [(o.position, k) for k, o in enumerate(found)]
    assert found[0].angle is circuit.instructions[1].angles[0]


def test_numbers_have_no_place() -> None:
    assert symbolic_angles(Circuit(1).rx(0.3, 0).instructions) == []
