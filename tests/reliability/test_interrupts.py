"""Ctrl-C during a kernel raises KeyboardInterrupt, and everything works afterwards."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

SCRIPT = """
import signal
import sys
import qml
from circuits import Circuit, Z
from autodiff import Parameter

signal.signal(signal.SIGINT, signal.default_int_handler)
qml.set_num_threads({threads})
theta = Parameter(0.3)
circuit = Circuit({width})
for layer in range(3):
    for qubit in range({width}):
        circuit.ry(theta, qubit).cx(qubit, (qubit + 1) % {width})

def step():
    theta.zero_grad()
    value = circuit.expectation(Z(0))
    value.backward()
    return value.item(), theta.grad.item()

expected = step()
interrupted = 0
while interrupted < 3:
    try:
        print("ready", flush=True)
        while True:
            step()
    except KeyboardInterrupt:
        interrupted += 1
        assert step() == expected
optimizer = qml.SGD([theta], lr=0.1)
assert step() == expected
assert optimizer.step().updated == 1
assert step() != expected
print("usable", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("threads", "width"), [(1, 4), (1, 16), (2, 16)])
def test_interrupt_leaves_everything_usable(threads: int, width: int) -> None:
    script = SCRIPT.format(threads=threads, width=width)
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        for delay in (0.05, 0.11, 0.23):
            assert process.stdout.readline() == "ready\n"
            time.sleep(delay)
            process.send_signal(signal.SIGINT)
        last, errors = process.communicate(timeout=60)
    assert (last, errors, process.returncode) == ("usable\n", "", 0)
