from __future__ import annotations

import pytest

from qml.progress import progress_bar


def test_bar_is_shown_on_the_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar(3, done=1) as bar:
        bar.set_postfix_str("loss 0.5", refresh=False)
        bar.update()
        bar.update()
    out, err = capsys.readouterr()
    assert out == ""
    assert "Training: 100%" in err
    assert "3/3" in err
    assert "loss 0.5" in err


def test_quiet_bar_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar(2, quiet=True) as bar:
        bar.set_postfix_str("loss 0.5", refresh=False)
        bar.update()
    assert capsys.readouterr() == ("", "")
