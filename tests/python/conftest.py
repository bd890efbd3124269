"""What the tests share: where the project is, a small problem, and the command to compare with."""

import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(os.environ.get("TACIT_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
COMMAND = os.environ.get("TACIT", str(ROOT / "build/release/tacit"))

HOMES = """
data homes = given
agents home over homes {
  state p[2] in [0, 5]
  private minimize sumsq(p - wish)
  private set sum(p) >= need
  gap 100
  slater p = 1
}
constraint line[t in 1..2]: sum(home: p[t]) <= 6
privacy { mechanism laplace; epsilon 1; adjacency one 0.5 }
schedule { rounds 500 }
"""


@pytest.fixture
def homes_text():
    return HOMES


@pytest.fixture
def homes_data():
    return {"homes": {"wish": [[3.0, 1.0], [2.0, 4.0], [1.0, 3.0]], "need": [2.0, 1.0, 0.5]}}


@pytest.fixture
def examples():
    return ROOT / "examples"


@pytest.fixture
def command():
    """Runs the tacit command with --json, and gives what it printed."""

    def run(*arguments):
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        done = subprocess.run([COMMAND, *map(str, arguments), "--json"], capture_output=True, text=True, env=environment)
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)

    return run
