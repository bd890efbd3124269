"""The package as a whole: types, examples in docstrings and docs, installation."""
# labels: once
import doctest
import importlib
import os
import pathlib
import pkgutil
import re
import subprocess
import sys
import typing
import zipfile

import pytest

import tacit

ROOT = pathlib.Path(os.environ.get("TACIT_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
MODULES = sorted(one.name for one in pkgutil.walk_packages(tacit.__path__, "tacit.") if not one.name.endswith("_binding"))
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)  # examples in docstrings name examples/paper.tacit


def test_type_hints_are_right(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", tmp_path], cwd=ROOT / "python", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_a_user_sees_the_types(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import tacit\n"
        "run = tacit.Problem('a').run(seed=1, seeds=2, epsilon=1.0)\n"
        "reveal_type(run.mu)\n"
        "reveal_type(tacit.Problem('a').plan().private)\n"
        "tacit.Problem('a').plan(epsilon='much')\n"
        "tacit.Problem('a').solve().obiective\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--enable-incomplete-feature=Unpack", "--cache-dir", tmp_path / "c"]
    done = subprocess.run([*command, program], capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(ROOT / "python")})
    assert 'Revealed type is "tacit.results.ByConstraint"' in done.stdout
    assert 'Revealed type is "builtins.bool"' in done.stdout
    assert re.search(r"program.py:5: error: .*epsilon", done.stdout), done.stdout
    assert 'program.py:6: error: "Solution" has no attribute "obiective"' in done.stdout


def test_type_hints_can_be_read_when_it_runs():
    """As tools do that make forms and commands from functions."""
    m = tacit.Model()
    public = [getattr(tacit, name) for name in dir(tacit) if not name.startswith("_")]
    public += [type(one) for one in (m.agent("a"), m.family("b", count=2), m.family("c", count=2)[0])]
    public += [getattr(tacit.language.functions, name) for name in tacit.language.functions.__all__]
    looked_at = set()
    for thing in public:
        of_class = (value for kind in thing.__mro__ for value in vars(kind).values()) if isinstance(thing, type) else ()
        for value in (thing, *of_class):
            value = getattr(value, "fget", getattr(value, "func", value))  # of a property; of a cached one
            if str(getattr(value, "__module__", "")).startswith("tacit") and hasattr(value, "__annotations__"):
                typing.get_type_hints(value)
                looked_at.add(value)
    assert len(looked_at) > 250


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, optionflags=OPTIONS)
    assert failed == 0


def test_the_example_of_the_package_runs():
    failed, tried = doctest.testmod(tacit, optionflags=OPTIONS)
    assert failed == 0 and tried >= 3


def test_programs_of_the_guide_run(tmp_path):
    """All blocks of README.md and docs/python.md, one after another."""
    guide = (ROOT / "README.md").read_text() + (ROOT / "docs/python.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", guide, re.M | re.S)
    assert len(blocks) >= 7
    done = subprocess.run(
        [sys.executable, "-W", "error::tacit.TacitWarning", "-"],
        input="import tacit\n" + "\n".join(blocks),
        capture_output=True,
        text=True,
        env={**os.environ, "MPLBACKEND": "Agg"},
    )
    assert done.returncode == 0, done.stderr
    assert "problem:2:18: error: there is no 'sped' here" in done.stdout


def test_everything_public_has_a_docstring():
    for name in tacit.__all__:
        thing = getattr(tacit, name)
        assert thing.__doc__, name
        for attribute, value in vars(thing).items() if isinstance(thing, type) else ():
            if not attribute.startswith("_") and (callable(value) or isinstance(value, property)):
                assert value.__doc__, f"{name}.{attribute}"


def test_every_function_of_the_headers_is_used():
    """What the C library has, Python has: but for what Python does by other means."""
    headers = "".join((ROOT / "include/tacit" / name).read_text() for name in ("status.h", "tacit.h", "agent.h"))
    functions = set(re.findall(r"\b(tacit_\w+)\(", re.sub(r"/\*.*?\*/", "", headers, flags=re.S)))
    sources = "".join(path.read_text() for path in (ROOT / "python").glob("**/*.[cp]*") if "build" not in path.parts)
    sources += (ROOT / "python/shim.c").read_text()
    shim = set(re.findall(r"CALL\((\w+)", sources))
    unused = {one for one in functions if one not in sources and one.removeprefix("tacit_") not in shim}
    assert unused <= {
        "tacit_problem_load",  # tacit_problem_make does both
        "tacit_agent_condition_text",  # AgentCondition has names
        "tacit_agent_count",  # as many as were given
        "tacit_agent_rounds",  # a result is of a run that is over
        "tacit_agent_x",  # moved= gets every state
    }, unused


def without_the_build(environment):
    """An environment in which only what is installed can be imported."""
    return {name: value for name, value in environment.items() if name not in ("PYTHONPATH", "TACIT_BUILD")}


def test_pip_installs_it_and_a_wheel_needs_nothing_of_the_build(tmp_path):
    """As docs/python.md says: pip from the folder; then a wheel by build. Both into environments of their own."""
    environment = without_the_build(os.environ)
    source = tmp_path / "project" / "python"
    source.parent.mkdir()
    subprocess.run(["cp", "-r", ROOT / "python", source], check=True)
    for left in [*source.glob("tacit/_binding*.so"), *source.glob("build")]:
        subprocess.run(["rm", "-r", left], check=True)
    binary = pathlib.Path(os.environ.get("TACIT_BINARY_DIR", ROOT / "build/release"))
    (source.parent / "build").mkdir()
    (source.parent / "build/release").symlink_to(binary)

    def venv(name):
        subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", tmp_path / name], check=True)
        return tmp_path / name / "bin/python"

    def runs(python):
        text = "import tacit; print(tacit.__file__, tacit.Problem('examples/paper.tacit').run(rounds=300, seed=1).outcome)"
        done = subprocess.run([python, "-W", "ignore", "-c", text], capture_output=True, text=True, env=environment, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        return done.stdout

    python = venv("by_pip")
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-build-isolation", source], check=True, env=environment)
    assert str(tmp_path / "by_pip") in runs(python) and "done" in runs(python)

    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "-o", tmp_path / "dist", source],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    packed = zipfile.ZipFile(wheel).namelist()
    assert "tacit/py.typed" in packed and "tacit/_binding.pyi" in packed
    assert sum(name.endswith(".so") for name in packed) == 1
    subprocess.run(["rm", "-r", source.parent], check=True)
    python = venv("by_wheel")
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", wheel], check=True, env=environment)
    assert str(tmp_path / "by_wheel") in runs(python)


def test_without_the_library_the_build_says_what_to_do(tmp_path):
    source = tmp_path / "python"
    subprocess.run(["cp", "-r", ROOT / "python", source], check=True)
    environment = {**without_the_build(os.environ), "PKG_CONFIG_PATH": "", "PKG_CONFIG_LIBDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "setup.py", "build"], cwd=source, capture_output=True, text=True, env=environment)
    assert done.returncode == 1 and "I find no libtacit. Build it first (script/build release" in done.stderr


def test_pkg_config_leads_to_an_installed_library(tmp_path):
    binary = os.environ.get("TACIT_BINARY_DIR", str(ROOT / "build/release"))
    place = tmp_path / "place"
    subprocess.run(["cmake", "--install", binary, "--prefix", place], check=True, stdout=subprocess.DEVNULL)
    (folder,) = place.rglob("tacit.pc")
    source = tmp_path / "python"
    subprocess.run(["cp", "-r", ROOT / "python", source], check=True)
    subprocess.run(["rm", "-rf", *source.glob("tacit/_binding*.so"), source / "build"], check=True)
    environment = {**without_the_build(os.environ), "PKG_CONFIG_PATH": str(folder.parent)}
    for static in True, False:
        if not static:
            next(place.rglob("libtacit.a")).unlink()
        built = tmp_path / f"built_{static}"
        command = [sys.executable, "-W", "ignore", "setup.py", "-q", "build", "--build-lib", built, "--build-temp", tmp_path / f"t{static}"]
        subprocess.run(command, cwd=source, check=True, env=environment, capture_output=True)
        done = subprocess.run(
            [sys.executable, "-c", "import tacit; print(tacit.__version__)"],
            env={**environment, "PYTHONPATH": str(built)},
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )
        assert done.stdout.strip() == tacit.__version__, done.stderr
