"""A training that a test kills: it writes a line after every step, and its result at the end.

``python killable_training.py FOLDER`` continues from ``FOLDER/run.ket`` if that is there.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import qml

EPOCHS, STEPS = 40, 15  # steps an epoch


def main(folder: Path) -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(size=(60, 3))
    y = np.sin(x.sum(axis=1, keepdims=True))
    circuit = qml.angle_encoding(2)
    circuit.compose(qml.hardware_efficient(2, 1, initial=qml.uniform_angles(seed=generator)))
    model = qml.Sequential(
        qml.Linear(3, 2, seed=generator),
        qml.Dropout(0.2, seed=generator),
        qml.QuantumLayer(circuit, [qml.Z(0)], engine="reference"),
    )
    optimizer = qml.Adam(model.parameters(), lr=0.02)
    trainer = qml.Trainer(
        model,
        optimizer,
        qml.mse_loss,
        schedule=qml.CosineAnnealingLR(optimizer, T_max=EPOCHS),
        early_stopping=qml.EarlyStopping(EPOCHS, restore_best=True),
        on_step=[lambda record: print(record.step, flush=True)],
        checkpoint=folder / "run.ket",
        checkpoint_every=1,
        quiet=True,
    )
    data = qml.DataLoader(x, y, batch_size=4, shuffle=True, seed=generator)
    history = trainer.fit(data, EPOCHS, validation=[(x, y)], resume=True)
    result = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "losses": history.losses,
        "values": [dict(record.values) for record in history.epochs],
        "generator": generator.bit_generator.state,
    }
    qml.save(result, folder / "result.ket")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
