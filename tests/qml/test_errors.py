import pytest

import qml
from autodiff import AutodiffError


@pytest.mark.parametrize("kind", [qml.SettingError, qml.StateDictError])
def test_errors_are_the_projects_and_value_errors(kind: type[Exception]) -> None:
    assert issubclass(kind, AutodiffError)
    assert issubclass(kind, ValueError)
