"""Call sites: the user's line, not one of this package."""

from __future__ import annotations

import inspect
import re

import pytest

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
