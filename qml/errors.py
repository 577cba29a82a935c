"""What training refuses, one class per kind."""

from __future__ import annotations

from autodiff import AutodiffError


class SettingError(AutodiffError, ValueError):
    """A setting of an optimizer, layer, loss or loader outside its range."""


class StateDictError(AutodiffError, ValueError):
    """A state that was saved from something else than what it is loaded into."""


class CheckpointError(AutodiffError, ValueError):
    """A file that is no usable checkpoint, or a checkpoint that could not be written."""
