"""Every example of docs/language.md, made of objects: it means the same, or is refused with the same words.

A block of the page without a version in page.py or here fails the test, and so does a version whose block changed its
meaning.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from page import FILES, GOOD, MODELS, WRONG, Key, Maker

import tacit
from tacit.call import in_python

REFUSED: dict[Key, Maker] = {}
IMPOSSIBLE = {
    ("Text", 1): "a name is a variable of Python, which says itself that there is none",
    ("Text", 2): "objects make no mistakes of grammar",
    ("Text", 3): "an infinite number is refused at its line, with the words for arrays",
    ("Parameters", 1): "an expression is made before the parameter that it defines, so there is no circle",
    ("Constraints", 1): "tacit.between has one way to point",
    ("Data", 3): "a model gives every table that its text asks for",
}


def refused(section: str, number: int) -> Callable[[Maker], Maker]:
    """Refused; the line that is to blame ends with `# here`."""

    def enter(maker: Maker) -> Maker:
        REFUSED[section, number] = maker
        return maker

    return enter


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# ---- what the page refuses ----


@refused("Data", 1)
def a_ragged_file() -> tacit.Model:
    m = tacit.Model()
    home = m.family("home", m.data("homes", csv="ragged.csv"))
    home.minimize(home.state("p", lower=0, upper=1) * home.need)
    return m


@refused("Data", 2)
def a_column_of_words() -> tacit.Model:
    m = tacit.Model()
    home = m.family("home", m.data("homes", csv="towns.csv"))
    home.minimize(home.state("p", lower=0, upper=1) * home.need + home.town)
    return m


@refused("States", 1)
def a_bound_of_the_wrong_length() -> tacit.Model:
    m = tacit.Model()
    robot = m.agent("robot")
    robot.state("position", 2, lower=0, upper=[1, 2, 3])  # here
    return m


@refused("Objectives", 1)
def a_state_of_another_agent() -> tacit.Model:
    m = tacit.Model()
    a, b = m.agent("a"), m.agent("b")
    x, y = a.state("x", lower=0, upper=1), b.state("y", lower=0, upper=1)
    a.minimize(x)
    b.minimize((y - x) ** 2)  # here
    return m


@refused("Sets", 1)
def a_set_that_is_not_affine() -> tacit.Model:
    m = tacit.Model()
    a = m.agent("a")
    x = a.state("x", 2, lower=0, upper=1)
    a.minimize(tacit.sum(x))
    a.require(x[0] * x[1] <= 1)  # here
    return m


@refused("Sets", 2)
def a_public_set_of_a_vector() -> tacit.Model:
    m = tacit.Model()
    a = m.agent("a")
    x = a.state("x", 2, lower=0, upper=1)
    a.public_set(x <= 0.5)  # here
    a.minimize(tacit.sum(x))
    return m


@refused("Ranges and protection", 1)
def a_range_of_public_data() -> tacit.Model:
    m = tacit.Model()
    home = m.family("home", m.data("homes", csv="homes.csv", public=["cap"]))
    p = home.state("p", 2, lower=0, upper=home.cap)
    home.minimize(tacit.sumsq(p - home.pref))
    home.range(home.cap, lower=0, upper=10)  # here
    return m


@refused("Ranges and protection", 2)
def a_number_that_all_members_share() -> tacit.Model:
    m = tacit.Model()
    home = m.family("home", count=1000, index="i")
    p = home.state("p", lower=0, upper=7)
    tariff = home.param("tariff", 3.2, private=True)
    home.minimize((p - tariff) ** 2)
    home.range(tariff, lower=0, upper=7)
    home.protect(tariff, by=0.5)  # here
    return m


@refused("Ranges and protection", 3)
def a_range_of_what_is_computed() -> tacit.Model:
    m = tacit.Model()
    heater = m.agent("heater")
    on = heater.state("on", 3, lower=0, upper=2)
    warm = heater.param("warm", [1, 1.5, 0.5], private=True)
    cost = heater.param("cost", 0.2 * tacit.sum(warm), private=True)
    heater.minimize(cost * tacit.sum(on) + tacit.sumsq(on - warm))
    heater.range(warm, lower=0, upper=2)
    heater.range(cost, lower=0, upper=1)  # here
    heater.protect(warm, by=0.5)
    return m


@refused("Constraints", 2)
def a_link_that_no_route_uses() -> tacit.Model:
    m = tacit.Model()
    route = m.param("route", [[1, 1], [0, 0]])
    capacity = m.param("capacity", [3, -1])
    flow = m.family("flow", count=2)
    rate = flow.state("rate", lower=0, upper=2)
    flow.minimize((rate - 2) ** 2)
    k = tacit.index("l", 1, 2)
    m.constraint("link", tacit.total(flow, route[k, flow.index] * rate) <= capacity[k], over=k)  # here
    return m


@refused("Equalities", 1)
def a_curved_equality() -> tacit.Model:
    m = tacit.Model()
    a, b = m.agent("a"), m.agent("b")
    for one in (a, b):
        one.minimize(one.state("x", lower=0, upper=1))
    m.constraint("circle", a.x**2 + b.x**2 == 1)  # here
    return m


@refused("Sums over agents", 1)
def a_sum_in_a_sum() -> tacit.Model:
    m = tacit.Model()
    home = m.family("home", count=50)
    p = home.state("p", lower=0, upper=2)
    home.minimize(p)
    inner = tacit.total(home, p)  # here
    m.constraint("c", tacit.total(home, p * inner) <= 60)
    return m


@refused("Vectors and matrices", 1)
def vectors_of_unequal_length() -> tacit.Model:
    m = tacit.Model()
    v = tacit.constant([1, 2]) + [1, 2, 3]  # here
    m.param("v", v)
    return m


@refused("What is not smooth", 1)
def a_kink_inside_a_sum_over_agents() -> tacit.Model:
    m = tacit.Model()
    home = m.family("home", count=3)
    p = home.state("p", lower=-2, upper=2)
    home.minimize(p**2)
    m.constraint("turns", tacit.total(home, abs(p)) <= 3)  # here
    return m


@refused("What is not smooth", 2)
def a_vector_and_a_number() -> tacit.Model:
    m = tacit.Model()
    v = m.param("v", [-1, 2])
    a = m.agent("a")
    x = a.state("x", 2, lower=-1, upper=1)
    a.minimize(tacit.sum(tacit.max(0, x - v)))  # here
    return m


@refused("Privacy labels", 1)
def a_private_column_in_a_constraint() -> tacit.Model:
    m = tacit.Model()
    homes = m.data("homes", {"need": [4, 2.5], "cap": [3, 7.4]}, public=["cap"])  # note
    home = m.family("home", homes)
    p = home.state("p", lower=0, upper=home.cap)
    home.minimize((p - home.need) ** 2)
    m.constraint("feeder", tacit.total(home, p) <= tacit.total(home, home.need))  # here
    return m


@refused("The files of the cloud and of the agents", 1)
def a_column_in_a_whole_problem() -> tacit.Model:
    m = tacit.Model()
    a = m.agent("a")
    need = a.column("need", 3, private=True)  # here
    a.minimize(need * a.state("x", lower=0, upper=1))
    return m


@refused("The files of the cloud and of the agents", 2)
def a_private_line_for_the_cloud() -> tacit.Model:
    m = tacit.Model(role="cloud")
    a = m.agent("a")
    x = a.state("x", lower=0, upper=1)
    a.minimize(x)  # here
    return m


@refused("Limits", 1)
def a_range_that_is_too_long() -> tacit.Model:
    m = tacit.Model()
    i = tacit.index("i", 1, 1000000000)
    m.param("n", tacit.sum(i, over=i))  # here
    a = m.agent("a")
    a.minimize(a.state("x", lower=0, upper=1))
    return m


# ---- the tests ----


def test_every_example_of_the_page_has_an_object_version() -> None:
    assert len(GOOD) > 20 and len(WRONG) > 10
    assert set(GOOD) == set(MODELS)
    assert set(WRONG) == set(REFUSED) | set(IMPOSSIBLE)


def meaning(problem: tacit.Problem) -> dict[str, Any]:
    """What the library says of a problem: facts, solution and parts; or why it says nothing."""
    said: dict[str, Any] = {
        "constraints": problem.constraints,
        "families": problem.families,
        "members": {name: problem.members(name) for name in problem.families},
    }
    for name in ("check", "solve", "plan"):
        try:
            said[name] = getattr(problem, name)().json
        except tacit.Error as error:
            said[name] = str(error)
    try:
        said["split"] = problem.split().parts
    except tacit.Error as error:
        said["split"] = str(error)
    return said


def without_places(value: Any) -> Any:
    """Without what names the file or a line of it, and without times; told as to somebody with a model."""
    if isinstance(value, dict):
        left_out = ("file", "seconds", "line", "column", "problem_file")
        return {key: without_places(one) for key, one in value.items() if key not in left_out}
    if isinstance(value, (list, tuple)):
        return [without_places(one) for one in value]
    if isinstance(value, str):
        return in_python(re.sub(r"problem:\d+:\d+", "problem", value), True)
    return value


@pytest.mark.parametrize("key", sorted(MODELS), ids=lambda key: f"{key[0]} {key[1]}")
@pytest.mark.filterwarnings("ignore::tacit.TacitWarning")
def test_objects_mean_what_the_page_says(key: Key) -> None:
    text = GOOD[key].text
    model = MODELS[key]()
    if model.role is None and "gap" not in text and "dual radius" not in text:  # so that it can be split
        text += "dual radius 10\n"
        model.dual_radius(10)
    wanted = without_places(meaning(tacit.Problem(text=text)))
    found = without_places(meaning(model.problem()))
    for name in wanted:
        assert found[name] == wanted[name], name
    assert model.role is not None or isinstance(wanted["split"], dict)


def marked_line(maker: Maker, mark: str) -> int | None:
    lines, first = inspect.getsourcelines(maker)
    found = [first + i for i, line in enumerate(lines) if line.rstrip().endswith(f"# {mark}")]
    return found[0] if found else None


@pytest.mark.parametrize("key", sorted(REFUSED), ids=lambda key: f"{key[0]} {key[1]}")
def test_objects_are_refused_with_the_words_of_the_page_at_the_line_of_python(key: Key) -> None:
    wanted = re.findall(r"^(.*?):\d+:\d+: (error|note): (.*)$", WRONG[key].answer, re.MULTILINE)
    with pytest.raises(tacit.ProblemError) as caught:
        REFUSED[key]().problem()
    found = caught.value.diagnostics
    assert [(one.kind, one.message) for one in found] == [(kind, message) for _, kind, message in wanted]
    line = marked_line(REFUSED[key], "here")
    if line is None:  # a mistake in a data file is shown there
        assert caught.value.file == wanted[0][0]
        return
    assert (os.path.basename(caught.value.file or ""), caught.value.line) == (os.path.basename(__file__), line)
    for one, mark in zip(found, ("here", "note")):
        assert one.line == marked_line(REFUSED[key], mark)
        assert one.caret.strip().startswith("^") and len(one.caret) <= len(one.source)
