"""Write ``docs/optimizers.md`` from the docstrings of optimizers and schedules.

Run it after a change there: ``python scripts/write_optimizers_page.py``. A test compares. With
``--measure`` it runs the race of the tutorial anew, and keeps its figures in
``docs/optimizer_race.json``, from which the page's table is made.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any

import qml

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "optimizers.md"
RACE = ROOT / "docs" / "optimizer_race.json"
RUNS = 24
"""How often the race is run; the fastest run counts."""

FAMILIES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "A formula for each element",
        "They need gradients only: call `backward()`, then `step()`.",
        ("SGD", "Momentum", "Nesterov", "Adam", "AdamW", "RMSprop", "Adagrad"),
    ),
    (
        "All elements at once",
        "They evaluate the loss themselves, several times a step: `step(closure)`.",
        ("LBFGS", "SPSA", "minimize"),
    ),
    (
        "For circuits",
        "They look inside the circuit, which they are given beside its Parameters.",
        ("QuantumNaturalGradient", "metric_tensor", "Rotosolve"),
    ),
    (
        "Schedules",
        "They set the optimizer's `lr`, at once and by `step()` after each of its steps. Their "
        "`state_dict` holds where they are; it does not matter whether theirs or the optimizer's "
        "is loaded first.",
        (
            "StepLR",
            "ExponentialLR",
            "CosineAnnealingLR",
            "LinearLR",
            "SequentialLR",
            "ReduceLROnPlateau",
        ),
    ),
    (
        "Clipping",
        "Between `backward()` and `step()`.",
        ("clip_grad_norm_", "clip_grad_value_"),
    ),
)

HEAD = """\
# Optimizers

<!-- Written by scripts/write_optimizers_page.py from the docstrings in qml/optim: edit there. -->

Names, defaults and formulas are PyTorch's where PyTorch has them; every section says what differs.
`p` is a Parameter's element and `g` its derivative, dL/dRe + i dL/dIm for a complex one. `Momentum`
and `Nesterov` are `SGD` with settings; in PyTorch they have no names of their own.

What holds for all of them:

- `step()` returns the counts `updated`, `skipped_frozen` and `skipped_no_grad`, and the loss before
  the step where it computed one.
- A frozen Parameter (`p.freeze()`) is not updated and not decayed, and forgets its momentum. When
  it is unfrozen, it starts like a new one.
- Parameters keep their dtype. Those of several dtypes train together.
- State lives where the Parameters do. After `module.to(device)` the next `step()` brings it there,
  so it does not matter whether the optimizer is made before or after the move.
- `state_dict()` gives plain values and arrays; `load_state_dict()` continues bit for bit, and
  refuses what another optimizer saved.
- Settings out of range are refused when the optimizer is made. `lr` can be set at any time.

| `python tutorials/03_optimizers.py` | steps | gradients | milliseconds |
|---|---|---|---|
{race}

This is what four of them need to bring molecular hydrogen, a circuit of 48 angles, to chemical
accuracy. A natural gradient's step takes 48 evolutions beside the gradient, a sweep of Rotosolve
two energies an angle, of which only the gates after it are new. Times are those of the fastest of
{runs} runs, of the steps alone, written by `python scripts/write_optimizers_page.py --measure` on
{date}, on {machine}.

The code on this page runs as it stands, after

```python
{imports}
```
"""


def measure() -> None:
    """Run the tutorial's race several times, and keep each optimizer's fastest run."""
    os.environ["MPLBACKEND"] = "Agg"
    races = [
        runpy.run_path(str(ROOT / "tutorials" / "03_optimizers.py"))["races"] for _ in range(RUNS)
    ]
    machine = runpy.run_path(str(ROOT / "benchmarks" / "timing.py"))["machine"]()
    fastest = {name: min([r[name] for r in races], key=lambda r: r.seconds) for name in races[0]}
    measured = {
        "runs": RUNS,
        "machine": machine,
        "optimizers": {
            name: {"steps": r.steps, "gradients": r.gradients, "seconds": round(r.seconds, 5)}
            for name, r in fastest.items()
        },
    }
    RACE.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")


def _race() -> dict[str, Any]:  # Any: numbers and text, for the page's head
    """Return the table of the race, and how it was measured."""
    kept = json.loads(RACE.read_text(encoding="utf-8"))
    rows = [
        f"| {name} | {x['steps']} | {x['gradients']} | {1000 * x['seconds']:.3g} |"
        for name, x in kept["optimizers"].items()
    ]
    machine = kept["machine"]
    about = f"{machine['cores']} cores ({machine['processor']}, load {machine['load']:.1f})"
    day = machine["date"][:10]
    return {"race": "\n".join(rows), "runs": kept["runs"], "date": day, "machine": about}


def page() -> str:
    """The whole page."""
    # The layout of a section is that of the ansaetze's page.
    section = runpy.run_path(str(Path(__file__).with_name("write_ansaetze_page.py")))["_section"]
    names = sorted({"Circuit", "Parameter", "Tensor", *(n for _, _, ns in FAMILIES for n in ns)})
    imports = "from qml import (\n" + "".join(f"    {name},\n" for name in names) + ")"
    parts = [HEAD.format(imports=imports, **_race()).rstrip()]
    for title, about, members in FAMILIES:
        parts += [f"## {title}", about, *[section(getattr(qml, name), 3) for name in members]]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    if "--measure" in sys.argv[1:]:
        measure()
    PAGE.write_text(page(), encoding="utf-8")
