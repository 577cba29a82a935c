"""Call sites: the user's line, not one of this package."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest
from ipykernel.compiler import get_file_name

from autodiff import Parameter, Tensor, VersionError, no_grad
from autodiff.sites import Site, call_site, function_of, line_of
from circuits import Circuit, Z


def here() -> Site:
    return call_site(1)


def test_site_is_the_line_and_the_function() -> None:
    site = here()
    line = inspect.getsourcelines(here)[1] + 1
    assert line_of(site) == f"{__file__}:{line}"
    assert function_of(site) == "test_sites.py:here"


def test_comprehension_belongs_to_its_function() -> None:
    (site,) = [call_site(1) for _ in range(1)]
    assert function_of(site) == "test_sites.py:test_comprehension_belongs_to_its_function"


@pytest.mark.parametrize(
    ("file", "wanted"),
    [
        (get_file_name("x"), "cell:step"),  # as a notebook's kernel names it
        ("<ipython-input-3-1a2b>", "cell:step"),
        ("/home/ada/998707439.py", "998707439.py:step"),
        ("ipykernel_1/launcher.py", "launcher.py:step"),
    ],
    ids=["kernel", "terminal", "file_of_digits", "module"],  # a process's number is in the first
)
def test_code_of_a_notebook_is_named_cell(file: str, wanted: str) -> None:
    names: dict[str, Any] = {"call_site": call_site}
    exec(compile("def step():\n    return call_site(1)", file, "exec"), names)
    assert function_of(names["step"]()) == wanted


def test_frames_of_the_package_are_passed_over() -> None:
    x = Tensor([1.0], device="emulated")
    y, line = x.mean(), inspect.currentframe().f_lineno
    assert line_of(y._cell.storage.origin.site) == f"{__file__}:{line}"


def test_context_managers_of_the_package_are_passed_over() -> None:
    x = Tensor([1.0], requires_grad=True)
    with x.storage_mut():
        site = call_site(1)
    assert function_of(site).endswith("test_context_managers_of_the_package_are_passed_over")


def test_frames_of_registered_libraries_are_passed_over() -> None:
    p = Parameter(0.3)
    loss, line = Circuit(1).rx(p, 0).expectation(Z(0)), inspect.currentframe().f_lineno
    with no_grad():
        p.set_(0.5)
    with pytest.raises(VersionError, match=f"{re.escape(__file__)}:{line}"):
        loss.backward()
