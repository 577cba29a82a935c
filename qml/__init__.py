"""The face of ketgrad: layers, losses, optimizers, and the public names of the packages below.

``import qml`` is enough for a script: ``qml.Circuit``, ``qml.Parameter``, ``qml.Adam``.
"""

from typing import TYPE_CHECKING, Any

import autodiff
import circuits
from autodiff import *  # noqa: F403
from circuits import *  # noqa: F403
from qml.data_loader import DataLoader
from qml.datasets import CHEMICAL_ACCURACY, Molecule, load_h2
from qml.errors import SettingError, StateDictError
from qml.layers import Linear, QuantumLayer, ReLU, Sequential, Sigmoid, Softmax, Softplus, Tanh
from qml.losses import (
    binary_cross_entropy_with_logits,
    cross_entropy,
    half_mse_loss,
    l1_loss,
    mse_loss,
)
from qml.metrics import accuracy
from qml.module import Module
from qml.optim.adam import Adam, AdamW
from qml.optim.base import Optimizer, StepCounts
from qml.optim.sgd import SGD
from qml.vectors import parameters_to_vector, vector_to_parameters

__all__ = [
    "CHEMICAL_ACCURACY",
    "SGD",
    "Adam",
    "AdamW",
    "DataLoader",
    "Linear",
    "Module",
    "Molecule",
    "Optimizer",
    "QuantumLayer",
    "ReLU",
    "Sequential",
    "SettingError",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "StateDictError",
    "StepCounts",
    "Tanh",
    "accuracy",
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "half_mse_loss",
    "l1_loss",
    "load_h2",
    "mse_loss",
    "parameters_to_vector",
    "vector_to_parameters",
]
__all__ += autodiff.__all__
__all__ += circuits.__all__

if TYPE_CHECKING:
    # Any: functions of the op table, which ``autodiff`` makes when it is imported.
    def __getattr__(name: str) -> Any: ...
