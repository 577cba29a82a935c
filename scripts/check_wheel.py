"""Build the wheel, compare it with the source tree, and use it from an environment of its own."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("autodiff", "circuits", "qml")

USE = """
import math
import qml
theta = qml.Parameter(0.3, name="theta")
value = qml.Circuit(1).ry(theta, 0).expectation(qml.Z(0), engine="reference")
value.backward()
assert math.isclose(value.item(), math.cos(0.3)), value
assert math.isclose(theta.grad.item(), -math.sin(0.3)), theta.grad
print(qml.__file__)
"""


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """The output of a command; where it fails, its output and the end of this script."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def build_wheel(folder: Path) -> Path:
    """Build a source distribution, and the wheel from that: no old build folder gets in."""
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    [wheel] = folder.glob("*.whl")
    return wheel


def compare_with_tree(wheel: Path) -> None:
    """Every file of the packages is in the wheel, and nothing else is."""
    files = {path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file()}
    tree = {p.relative_to(ROOT).as_posix() for p in files if "__pycache__" not in p.parts}
    names = zipfile.ZipFile(wheel).namelist()
    packed = {name for name in names if ".dist-info/" not in name}
    if tree != packed:
        sys.exit(f"the wheel lacks {sorted(tree - packed)}, and adds {sorted(packed - tree)}")
    missing = [p for p in PACKAGES if f"{p}/py.typed" not in packed]
    if missing:
        sys.exit(f"no py.typed in {missing}")


def use(wheel: Path, folder: Path) -> None:
    """Install the wheel alone, borrow the dependencies, and train something from elsewhere."""
    venv.create(folder / "venv", symlinks=True)
    python = folder / "venv" / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", wheel)
    [site] = folder.glob("venv/lib/python*/site-packages")
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    used = run(python, "-c", USE, cwd=folder).strip()
    if not Path(used).is_relative_to(site):
        sys.exit(f"{used} was imported instead of the wheel in {site}")


def main() -> None:
    """Run the three steps in a folder that goes away again."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        wheel = build_wheel(folder)
        compare_with_tree(wheel)
        use(wheel, folder)
        print(f"{wheel.name}: complete, and works on its own")


if __name__ == "__main__":
    main()
