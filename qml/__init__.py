"""The face of ketgrad: layers, losses, optimizers, and the public names of the packages below.

``import qml`` is enough for a script: ``qml.Circuit``, ``qml.Parameter``, ``qml.Adam``.
"""

from typing import TYPE_CHECKING, Any

import autodiff
import circuits
from autodiff import *  # noqa: F403
from circuits import *  # noqa: F403
from qml.activations import ReLU, Sigmoid, Softmax, Softplus, Tanh
from qml.ansaetze.encodings import (
    amplitude_encoding,
    angle_encoding,
    basis_encoding,
    zz_feature_map,
)
from qml.ansaetze.hamiltonian import hamiltonian_variational, maxcut_hamiltonian, qaoa
from qml.ansaetze.initializers import identity_blocks, normal_angles, small_angles, uniform_angles
from qml.ansaetze.layered import (
    data_reuploading,
    hardware_efficient,
    strongly_entangling,
    two_local,
)
from qml.ansaetze.particles import (
    double_excitation,
    excitations,
    particle_conserving,
    single_excitation,
)
from qml.callbacks import EarlyStopping, EpochRecord, History, StepRecord
from qml.checkpoint import load, save
from qml.data_loader import DataLoader
from qml.datasets import CHEMICAL_ACCURACY, Molecule, load_h2
from qml.errors import CheckpointError, SettingError, StateDictError
from qml.layers import Dropout, Embedding, LayerNorm, Linear, QuantumLayer, Sequential
from qml.losses import (
    binary_cross_entropy_with_logits,
    cross_entropy,
    half_mse_loss,
    l1_loss,
    mse_loss,
    state_fidelity_loss,
    unitary_synthesis_loss,
)
from qml.metrics import accuracy
from qml.module import Module
from qml.optim.adagrad import Adagrad
from qml.optim.adam import Adam, AdamW
from qml.optim.base import Optimizer, StepCounts
from qml.optim.clipping import clip_grad_norm_, clip_grad_value_
from qml.optim.lbfgs import LBFGS
from qml.optim.metric import metric_tensor
from qml.optim.natural_gradient import QuantumNaturalGradient
from qml.optim.plateau import ReduceLROnPlateau
from qml.optim.rmsprop import RMSprop
from qml.optim.rotosolve import Rotosolve
from qml.optim.schedules import (
    CosineAnnealingLR,
    ExponentialLR,
    LinearLR,
    SequentialLR,
    StepLR,
)
from qml.optim.scipy_bridge import minimize
from qml.optim.sgd import SGD, Momentum, Nesterov
from qml.optim.spsa import SPSA
from qml.plots import energy_plot, learning_curves, save_energy_plot, save_learning_curves
from qml.resuming import load_training_state, training_state
from qml.trainer import Trainer
from qml.vectors import parameters_to_vector, vector_to_parameters

__all__ = [
    "CHEMICAL_ACCURACY",
    "LBFGS",
    "SGD",
    "SPSA",
    "Adagrad",
    "Adam",
    "AdamW",
    "CheckpointError",
    "CosineAnnealingLR",
    "DataLoader",
    "Dropout",
    "EarlyStopping",
    "Embedding",
    "EpochRecord",
    "ExponentialLR",
    "History",
    "LayerNorm",
    "Linear",
    "LinearLR",
    "Module",
    "Molecule",
    "Momentum",
    "Nesterov",
    "Optimizer",
    "QuantumLayer",
    "QuantumNaturalGradient",
    "RMSprop",
    "ReLU",
    "ReduceLROnPlateau",
    "Rotosolve",
    "Sequential",
    "SequentialLR",
    "SettingError",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "StateDictError",
    "StepCounts",
    "StepLR",
    "StepRecord",
    "Tanh",
    "Trainer",
    "accuracy",
    "amplitude_encoding",
    "angle_encoding",
    "basis_encoding",
    "binary_cross_entropy_with_logits",
    "clip_grad_norm_",
    "clip_grad_value_",
    "cross_entropy",
    "data_reuploading",
    "double_excitation",
    "energy_plot",
    "excitations",
    "half_mse_loss",
    "hamiltonian_variational",
    "hardware_efficient",
    "identity_blocks",
    "l1_loss",
    "learning_curves",
    "load",
    "load_h2",
    "load_training_state",
    "maxcut_hamiltonian",
    "metric_tensor",
    "minimize",
    "mse_loss",
    "normal_angles",
    "parameters_to_vector",
    "particle_conserving",
    "qaoa",
    "save",
    "save_energy_plot",
    "save_learning_curves",
    "single_excitation",
    "small_angles",
    "state_fidelity_loss",
    "strongly_entangling",
    "training_state",
    "two_local",
    "uniform_angles",
    "unitary_synthesis_loss",
    "vector_to_parameters",
    "zz_feature_map",
]
__all__ += autodiff.__all__
__all__ += circuits.__all__

if TYPE_CHECKING:
    # Any: functions of the op table, which ``autodiff`` makes when it is imported.
    def __getattr__(name: str) -> Any: ...
