"""The notebooks of examples/notebooks run from top to bottom, and show what they say."""
# labels: once
import json
import os
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

ROOT = pathlib.Path(os.environ.get("TACIT_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
NOTEBOOKS = sorted((ROOT / "examples/notebooks").glob("*.ipynb"))


def cells(path):
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


def execute(path, place):
    """Runs one. A kernel's ports are chosen before they are taken, and others may take them: then again."""
    environment = {
        **os.environ,
        "TACIT": os.environ.get("TACIT", str(ROOT / "build/release/tacit")),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    }
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output-dir", place, path]
    command += ["--ExecutePreprocessor.startup_timeout=1800"]  # however slow the machine is
    for _ in range(5):
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if "Kernel died before replying" not in done.stderr:
            break
    return done


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """All of them, run side by side."""
    place = tmp_path_factory.mktemp("notebooks")
    with ThreadPoolExecutor(2) as pool:
        for done in pool.map(lambda path: execute(path, place), NOTEBOOKS):
            assert done.returncode == 0, done.stderr[-3000:]
    return place


def test_there_are_four():
    assert [path.stem for path in NOTEBOOKS] == ["agent", "cars", "epsilon", "paper"]
    assert len(cells(ROOT / "examples/notebooks/paper.ipynb")) == 5


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_runs_and_draws(executed, path):
    outputs = [one for cell in cells(executed / path.name) for one in cell["outputs"]]
    assert not [one for one in outputs if one["output_type"] == "error"]
    assert not [one["text"] for one in outputs if one.get("name") == "stderr"]
    assert path.stem == "agent" or any("image/png" in one.get("data", {}) for one in outputs)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_is_kept_with_its_outputs_and_without_paths_of_a_machine(path):
    kept = cells(path)
    assert any(cell["outputs"] for cell in kept)
    text = path.read_text()
    assert "/tmp/" not in text and "/home/" not in text and "/root" not in text and str(ROOT) not in text
    assert not [one for cell in kept for one in cell["outputs"] if one["output_type"] == "error"]


def test_the_private_agents_come_near_the_best_plan(executed):
    """Noise is fresh here. In 500 simulated runs no state was further than 0.064 from the best plan's: ten times that is
    beyond any chance (less than 1e-6 by Laplace's tails), and far below the distances between the agents' wishes."""
    shown = [one["data"]["text/plain"] for cell in cells(executed / "agent.ipynb") for one in cell["outputs"] if "data" in one]
    tables = [eval("".join(text).replace("array", ""), {}) for text in shown if "".join(text).startswith("array([[")]
    private, best = tables
    assert max(abs(a - b) for row, other in zip(private, best) for a, b in zip(row, other)) < 0.64
