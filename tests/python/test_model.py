"""Problems made of objects: what they print, what they refuse, and that an error points at its line of Python."""
# labels: not-clang

from __future__ import annotations

import copy
import pickle
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models import refused, small

import tacit

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


def numbers(path: Path) -> dict[str, Any]:
    """The columns of a CSV file."""
    header, *rows = [line.split(",") for line in path.read_text().splitlines()]
    columns = dict(zip(header, zip(*rows)))
    return {name: list(one) if name == "name" else np.array(one, float) for name, one in columns.items()}


# ---- whole problems ----


def test_npy_files(tmp_path: Path) -> None:
    """They are what CSV files are: columns, vectors, matrices; saved, they are copied."""
    table = np.zeros(2, dtype=[("need", "<f8"), ("pref", "<f4", (2,)), ("cap", "<i4")])
    table["need"], table["pref"], table["cap"] = [1, 2], [[1, 2], [3, 4]], [5, 6]
    np.save(tmp_path / "homes.npy", table)
    np.save(tmp_path / "m.npy", np.asfortranarray([[1.0, 2.0], [3.0, 4.0]]))
    m = tacit.Model()
    weights = m.param("weights", npy=tmp_path / "m.npy")
    home = m.family("home", m.data("homes", npy=tmp_path / "homes.npy", public=["cap"]))
    p = home.state("p", 2, lower=0, upper=home.cap)
    home.minimize(tacit.sumsq(p - home.pref) + home.need * p[0])
    m.constraint("c", tacit.total(home, p[0]) <= weights[1, 0])
    assert f'npy "{tmp_path}/homes.npy" public cap' in str(m)
    assert m.problem().check().holds
    (tmp_path / "saved").mkdir()
    m.save(tmp_path / "saved" / "fleet.tacit")
    assert sorted(os.listdir(tmp_path / "saved")) == ["fleet.homes.npy", "fleet.tacit", "fleet.weights.npy"]
    assert tacit.Problem(tmp_path / "saved" / "fleet.tacit").check().holds
    with pytest.raises(TypeError, match="csv='FILE', or npy='FILE'"):
        m.data("both", csv="a", npy="b")
    with pytest.raises(tacit.ProblemError, match="no named fields"):
        m.data("plain", npy=tmp_path / "m.npy")


def test_the_example_of_the_issue_prints_the_language_and_is_solved() -> None:
    pandas = pytest.importorskip("pandas")
    prefs = {f"pref_{t + 1}": [t % 5, 3.0] for t in range(24)}
    homes = pandas.DataFrame({"weight": [1.0, 2.0], "need": [20, 31.5], **prefs})
    limit, household = 12.0, np.linspace(3, 6, 24)

    m = tacit.Model()
    home = m.family("home", data=homes)
    p = home.state("p", 24, lower=0, upper=7.4)
    home.minimize(home.weight * tacit.sumsq(p - home.pref))
    home.require(tacit.sum(p) >= home.need)
    m.constraint("feeder", tacit.total(home, p) <= limit - household)

    lines = str(m).splitlines()
    assert lines[:7] == [
        "data home_data = given",
        "",
        "agents home over home_data {",
        "  state p[24] in [0, 7.4]",
        "  private minimize weight * sumsq(p - pref)",
        "  private set sum(p) >= need",
        "}",
    ]
    assert lines[8].startswith("constraint feeder: sum(home: p) <= [9, 8.869565217391305, ")
    solution = m.solve()
    assert solution.x["home"].shape == (2, 24)
    assert (solution.x["home"].sum(axis=0) <= limit - household + 1e-6).all()


def ev() -> tacit.Model:
    m = tacit.Model()
    table = numbers(EXAMPLES / "homes.csv")
    pref = np.column_stack([table[f"pref_{t}"] for t in range(1, 25)])
    T = m.param("T", 24)
    limit = m.param("feeder_limit", 3000)
    household = [820, 800, 780, 760, 780, 840, 920, 980, 1000, 960, 900, 820]
    household += [720, 640, 600, 580, 560, 580, 640, 760, 840, 860, 840, 820]
    known = m.param("household", household)
    home = m.family("home", m.data("homes", {"need": table["need"], "weight": table["weight"], "pref": pref}))
    p = home.state("p", T, lower=0, upper=7.4)
    home.require(tacit.sum(p) >= home.need)
    home.minimize(home.weight * tacit.sumsq(p - home.pref))
    home.range(home.need, lower=0, upper=40)
    home.range(home.weight, lower=0.5, upper=2)
    home.range(home.pref, lower=0, upper=7.4)
    home.protect(home.need, by=5)
    home.protect(home.pref, by=0.5)
    home.gap(330)
    home.slater(p, 1.7)
    t = tacit.index("t", T)
    m.constraint("feeder", tacit.total(home, p[t]) <= limit - known[t], over=t)
    m.privacy(mechanism="gaussian", epsilon=1, delta=1e-6, adjacency="data")
    m.schedule(alpha=(0.1, 0.3), gamma=(0.01, 0.52), rounds=100000)
    return m


def paper() -> tacit.Model:
    m = tacit.Model()
    norm = tacit.norm
    wishes: list[tuple[Callable[[Any], Any], float]] = [
        (lambda x: (x[0] - 5) + (x[1] + 5), 20),
        (lambda x: norm(x) ** 2, 0),
        (lambda x: norm(x - [-7, 7]) ** 2, 98),
        (lambda x: (x[0] - 8) + (x[1] - 8), 20),
        (lambda x: norm(x + [3, 3]) ** 4, 324),
        (lambda x: (x[0] - 10) + (x[1] - 10), 20),
        (lambda x: (x[0] + 10) + (x[1] + 10), 20),
        (lambda x: norm(x + [7, 0]) ** 2, 49),
        (lambda x: (x[0] - 6) + x[1], 20),
        (lambda x: norm(x - [0, 8]) ** 4, 4096),
    ]
    agents = []
    for i, (wish, gap) in enumerate(wishes):
        agents.append(m.agent(f"a{i + 1}"))
        x = agents[-1].state("x", 2, lower=-10, upper=10)
        agents[-1].minimize(wish(x))
        agents[-1].gap(gap)
        agents[-1].slater(x, 0)
    a = [None, *[one.x for one in agents]]
    m.constraint("g1", sum(norm(x) ** 2 for x in a[1:4]) <= 10)
    m.constraint("g2", sum(norm(x) ** 2 for x in a[4:7]) <= 50)
    m.constraint("g3", sum(norm(x) ** 2 for x in a[7:10]) <= 50)
    m.constraint("g4", a[1][0] ** 2 + a[5][0] + a[10][0] ** 2 <= 50)
    m.constraint("g5", a[4][1] ** 2 + a[7][0] + a[9][1] <= 20)
    m.constraint("g6", norm(a[8]) ** 2 + norm(a[6]) ** 2 <= 30)
    m.lipschitz_constraints(l1=39.82, l2=56.71)
    m.lipschitz_jacobian(*[agents[i] for i in (0, 5, 7)], l1=4, l2=tacit.sqrt(8))
    m.lipschitz_jacobian(*[agents[i] for i in (1, 2, 3, 4, 6, 8, 9)], l1=2, l2=2)
    m.privacy(mechanism="laplace", epsilon=tacit.ln(2), delta=0.01, adjacency=("ensemble", 1))
    m.schedule(alpha=(0.1, 0.3), gamma=(0.01, 0.52), rounds=100000)
    return m


def robots() -> tacit.Model:
    m = tacit.Model()
    team, reach = m.param("team", 8), m.param("range", 3)
    target, slack = m.param("target", [1, 0.5]), m.param("slack", 0.6)
    robot = m.family("robot", m.data("plans", csv=EXAMPLES / "robots_plans.csv"))
    pos = robot.state("pos", 2, lower=-10, upper=10)
    robot.minimize(tacit.sumsq(pos - robot.goal))
    robot.require(tacit.norm(pos - robot.base) <= robot.reach)
    robot.gap(75)
    robot.slater(pos, target)
    k = tacit.index("k", 1, team - 1)
    m.constraint("chain", tacit.sumsq(robot[k].pos - robot[k + 1].pos) <= reach**2, over=k)
    m.constraint("camera", tacit.sumsq(tacit.total(robot, pos) / team - target) <= slack**2)
    m.privacy(mechanism="gaussian", epsilon=tacit.ln(2), delta=1e-5, adjacency=("ensemble", 0.5))
    m.schedule(alpha=(0.1, 0.3), gamma=(0.01, 0.52), rounds=100000)
    return m


def num() -> tacit.Model:
    m = tacit.Model()
    route = m.param("route", csv=EXAMPLES / "num_routes.csv")
    capacity = m.param("capacity", [10, 12, 8, 15, 10, 9])
    flow = m.family("flow", m.data("flows", numbers(EXAMPLES / "num_flows.csv")), index="i")
    rate = flow.state("rate", lower=0.1, upper=10)
    flow.minimize(-flow.weight * tacit.log(rate))
    flow.gap(10)
    flow.slater(rate, 0.5)
    link = tacit.index("l", tacit.length(capacity))
    m.constraint("link", tacit.total(flow, route[link, flow.index] * rate) <= capacity[link], over=link)
    m.privacy(mechanism="laplace", epsilon=1, adjacency=("one", 0.1))
    m.schedule(alpha=(0.1, 0.3), gamma=(0.05, 0.52), rounds=50000)
    return m


@pytest.mark.parametrize("make", [ev, paper, robots, num], ids=lambda make: make.__name__)
def test_an_example_made_of_objects_has_the_plan_of_its_file(make: Callable[[], tacit.Model]) -> None:
    wanted = tacit.Problem(EXAMPLES / f"{make.__name__}.tacit").plan().hash
    assert wanted is not None
    assert make().plan().hash == wanted


def test_a_problem_is_made_once_and_made_anew_after_a_change() -> None:
    m, home, p = small()
    home.minimize(tacit.sumsq(p))
    first = m.problem()
    assert m.problem() is first
    m.constraint("feeder", tacit.total(home, p) >= 1)
    assert m.problem() is not first
    assert m.problem().constraints == ("feeder[1]", "feeder[2]")


def test_a_second_setting_replaces_the_first() -> None:
    m = tacit.Model()
    m.privacy(mechanism="laplace", epsilon=1)
    m.privacy(mechanism="gaussian", epsilon=2, adjacency="agent")
    assert str(m) == "privacy { mechanism gaussian; epsilon 2; adjacency agent }"
    for unit in ("one:0.5", "one 0.5", "one: 0.5"):
        m.privacy(epsilon=2, adjacency=unit)
        assert str(m) == "privacy { epsilon 2; adjacency one 0.5 }"
    for unit, text in (("data", "data"), ("agent:7.5", "agent 7.5"), (("agent", 7.5), "agent 7.5")):
        m.privacy(adjacency=unit)
        assert str(m) == f"privacy {{ adjacency {text} }}"
    refused(lambda: m.privacy(adjacency=("data", 1)), "adjacency is 'agent', 'data', ")


# ---- names ----


def test_columns_are_attributes_and_items() -> None:
    m = tacit.Model()
    table = {"weight": [1, 2], "state": [1, 2], "pref": np.ones((2, 3)), "name": ["anna", "ben"], "_x": [1, 2]}
    home = m.family("home", table)
    assert [home.weight.shape, home.pref.shape, home["state"].shape, home["pref"].shape] == [(), (3,), (), (3,)]
    assert home._x.ndim == 0 and callable(home.state)
    assert {"weight", "pref", "state", "minimize"} <= set(dir(home)) and "pref" in dir(home[0])
    with pytest.raises(AttributeError, match=r"'home' has no 'wieght'; it has weight, state, pref, _x; did you mean 'weight'\?"):
        home.wieght
    with pytest.raises(KeyError, match="did you mean 'weight'"):
        home["wieght"]
    with pytest.raises(AttributeError, match="did you mean 'weight'"):
        home[0].wieght
    with pytest.raises(AttributeError, match="index='i'"):
        home.index
    with pytest.raises(TypeError, match="one agent"):
        m.agent("a")[0]
    refused(lambda: m.data("d", {"cap": [1]}, public=["cpa"]), "did you mean 'cap'")
    refused(lambda: m.family("f", {"i": [1]}, index="i"), "another name")
    refused(lambda: m.data("d", {"a b": [1]}), "a b")
    refused(lambda: m.data("d", {"a": [1, 2], "b": [1]}), "2 rows")
    assert "f_data" not in str(m) and "data d" not in str(m)


def test_a_name_is_defined_once() -> None:
    m, home, p = small()
    error = refused(lambda: home.state("p", lower=0, upper=1), "'p' is defined twice", "state 'p' was made here")
    assert [one.kind for one in error.diagnostics] == ["error", "note"]
    refused(lambda: home.param("cap", 3), "'cap' is defined twice", "column 'cap'")
    refused(lambda: m.param("home", 3), "'home' is defined twice")
    refused(lambda: m.agent("home_data"), "'home_data' is defined twice")
    home.minimize(tacit.sum(p))
    refused(lambda: home.minimize(tacit.sum(p)), "two objectives; add them up", "the first one is here")
    home.slater(p, 0)
    refused(lambda: home.slater(p, 0), "given twice")
    refused(lambda: home.slater("q", 0), "has no state 'q'")
    i = tacit.index("i", 2)
    refused(lambda: m.constraint("c", tacit.total(home, p[i]) <= 1, over=[i, tacit.index("i", 3)]), "two indices")


def test_text_that_would_mean_something_else_is_never_printed() -> None:
    m, home, p = small()
    other = m.param("p", 7)
    x = m.agent("a").state("x", lower=0, upper=1)

    def parameter_behind_a_state() -> None:
        home.minimize(other * tacit.sum(p))  # here

    def state_before_a_parameter() -> None:
        limit = m.param("limit", 3)
        home.require(p <= limit)
        home.state("limit", lower=0, upper=1)  # here

    def state_before_a_parameter_in_a_sum() -> None:
        factor = m.param("factor", 3)
        m.constraint("c", tacit.total(home, factor * p) <= 1)
        home.param("factor", 2)  # here

    def column_behind_an_index() -> None:
        cap = tacit.index("cap", 1, 2)
        home.minimize(tacit.sum(home.cap * p[cap], over=cap))  # here

    def index_behind_a_column() -> None:
        cap = tacit.index("cap", 1, 2)
        m.constraint("d", tacit.total(home, p[cap]) <= 1, over=cap)  # here

    def index_behind_an_index() -> None:
        one, two = tacit.index("k", 1, 2), tacit.index("k", 1, 3)
        m.constraint("e", tacit.sum(one * two, over=two) * x <= 1, over=one)  # here

    def column_and_parameter() -> None:
        m.param("need", 3)
        home.require(tacit.sum(p) >= home.need)  # here

    refused(parameter_behind_a_state, "the state 'p', which has the same name", "this 'p' is meant")
    refused(state_before_a_parameter, "use the parameter 'limit'", "would hide it")
    refused(state_before_a_parameter_in_a_sum, "would hide it")
    refused(column_behind_an_index, "the text would mean the index 'cap'")
    refused(index_behind_a_column, "the text would mean the column 'cap'")
    refused(index_behind_an_index, "the text would mean the index 'k'")
    refused(column_and_parameter, "a column and also a parameter")
    home.minimize(tacit.sum(p))  # what was refused has left nothing behind
    m.constraint("shared", other * x <= 3)
    assert "constraint shared: p * a.x <= 3" in str(m)


def test_names_of_a_family_stand_in_sums_and_members() -> None:
    m, home, p = small()
    t = tacit.index("t", 1, 2)
    refused(lambda: m.constraint("c", p <= 3), "write tacit.total(home, ...)", "home[0].p for one of them")
    refused(lambda: m.param("q", home.cap), "home[0].cap")
    refused(lambda: m.constraint("c", tacit.total(home, p[t]) <= 3), "over=t")
    refused(lambda: home.minimize(p[t]), "over=t")
    refused(lambda: tacit.Model().param("x", home[0].cap), "'home' belongs to another model")
    other = tacit.Model()
    mine = other.agent("mine").state("x", lower=0, upper=1)
    refused(lambda: m.constraint("c", mine <= 1), "'x' belongs to another model")
    refused(lambda: other.family("b", m.data("d", {"a": [1]})), "belong to another model")
    quoted = m.agent("a b")
    y = quoted.state("y", lower=0, upper=1)
    refused(lambda: m.constraint("c", y <= 1), "has a name in quotes")
    refused(lambda: m.constraint("c", tacit.total(quoted, y) <= 1), "has a name in quotes")


@pytest.mark.filterwarnings("ignore::tacit.TacitWarning")
def test_every_word_of_the_language_can_be_a_name() -> None:
    words = "csv over private param state set minimize gap slater start k sum norm one agent public column data".split()
    m = tacit.Model()
    nodes = {word: m.param(word, 1 + i) for i, word in enumerate(words)}
    for i, word in enumerate(words):
        m.param(f"p_{word}", nodes[word] * 2 + nodes[words[i - 1]])
        a = m.agent(f"a_{word}")
        x = a.state(word, 2, lower=0, upper=9)
        a.minimize(tacit.sumsq(x - nodes["csv"] if word != "csv" else x))
        a.start(x, 1)
    m.privacy(mechanism="laplace", epsilon=nodes["k"], adjacency=nodes["one"])
    m.schedule(alpha=(nodes["k"], nodes["k"]), rounds=nodes["agent"])
    m.dual_radius(nodes["private"])
    assert len(m.problem().families) == len(words)
    assert m.plan().json["epsilon"] == 1 + words.index("k")
    refused(lambda: m.param("given", 1), "'given'")
    refused(lambda: m.param("in", 1), "'in'")


INJECTIONS = [
    "x = 1\nparam y", "x; dual radius 1", "x # ", 'x"', "a b", "", "1x", "x\0", "é", "x[1]", "x" * 201, "\u2028",
    "a\r\nb",
]  # fmt: skip


@pytest.mark.parametrize("text", INJECTIONS)
def test_a_name_brings_no_other_statements_along(text: str) -> None:
    m, home, p = small()
    before = str(m)
    for call in (
        lambda: m.param(text, 1),
        lambda: m.data(text, {"a": [1]}),
        lambda: m.data("d", {text: [1]}),
        lambda: m.family(text, count=3),
        lambda: m.family("f", count=3, index=text),
        lambda: m.constraint(text, tacit.total(home, p) <= 1),
        lambda: home.state(text, lower=0, upper=1),
        lambda: home.param(text, 1),
        lambda: home.column(text, 1),
        lambda: home.slater(text, 1),
        lambda: home.range(text, lower=0, upper=1),
        lambda: home.protect(text, by=1),
        lambda: home.distance(text, l1=1, l2=1),
        lambda: tacit.index(text, 1, 2),
        lambda: m.privacy(mechanism=text),
        lambda: m.privacy(adjacency=text),
        lambda: m.privacy(adjacency=(text, 1)),
        lambda: m.data("d", {"a": [1]}, public=[text]),
        lambda: tacit.Model(role=text),
    ):
        with pytest.raises(tacit.ProblemError):
            call()
    assert str(m) == before


@pytest.mark.parametrize("text", ['a" { }\nagent b', "a\n", "a\0", "", "\u2028"])
def test_a_text_in_quotes_stays_in_them(text: str, tmp_path: Path) -> None:
    m = tacit.Model()
    refused(lambda: m.agent(text), "an agent")
    if "\0" not in text and text:
        path = tmp_path / f"x{text}"
        path.parent.mkdir(exist_ok=True)
        path.write_text("a\n1\n")
        refused(lambda: m.data("d", csv=path), "a file")
        refused(lambda: m.param("d", csv=path), "a file")
    assert str(m) == ""


# ---- errors of the library ----


def test_errors_of_the_library_are_shown_at_their_lines_of_python() -> None:
    m = tacit.Model()
    a = m.agent("a")
    x = a.state("x", 2, lower=[0, 3], upper=[1, 2])

    def several() -> None:
        b = m.agent("b")
        y = b.state("y", lower=0, upper=1)
        b.minimize(3 * y + tacit.sqrt(tacit.constant(-4)))  # here
        b.require(tacit.log(y) <= 1)
        m.problem()

    with pytest.raises(tacit.ProblemError) as caught:
        several()
    lines, first = inspect.getsourcelines(several)
    state, objective, limit = caught.value.diagnostics
    assert "is empty" in state.message and state.source.strip().startswith("x = a.state(")
    assert objective.line == first + 3
    assert objective.source[objective.caret.index("^") :][: len(objective.caret.strip())] == "tacit.constant(-4)"
    assert limit.line == first + 4
    assert limit.source[limit.caret.index("^") :][: len(limit.caret.strip())] == "tacit.log(y)"
    assert "  in the language:\n    private minimize 3 * y + sqrt(-4)\n" in str(caught.value)
    assert x.shape == (2,)


def test_errors_of_a_later_function_are_shown_at_their_lines_of_python() -> None:
    m = tacit.Model()
    w = m.param("w", [1.0, 2], private=True)
    node = m.family("node", count=2)
    x = node.state("x", lower=0, upper=1)
    node.minimize(w[node.index] * x)
    m.dual_radius(3)
    m.solve()
    with pytest.raises(tacit.ProblemError) as caught:
        m.split()
    assert caught.value.file == __file__
    assert "node.minimize(w[node.index] * x)" in str(caught.value)


def test_a_model_without_agents_is_refused_where_it_was_made() -> None:
    def empty() -> None:
        m = tacit.Model()  # here
        m.problem()

    refused(empty, "describes no agent")


def test_a_refused_statement_leaves_nothing_behind() -> None:
    m, home, p = small()
    before = str(m)
    t = tacit.index("t", 2)
    for call in (
        lambda: home.minimize(p[t]),
        lambda: home.state("q", lower=t, upper=1),
        lambda: home.param("q", t),
        lambda: home.gap(t),
        lambda: home.slater(p, t),
        lambda: m.param("q", p),
        lambda: m.constraint("q", p <= 1),
        lambda: m.dual_radius(p),
        lambda: m.family("q", count=p),
        lambda: m.privacy(epsilon=home.cap),
    ):
        with pytest.raises(tacit.ProblemError):
            call()
    assert str(m) == before
    home.state("q", lower=0, upper=1)
    home.minimize(tacit.sum(p))
    home.gap(1)
    home.slater(p, 0)
    home.slater("q", 0)
    m.param("q", 1)
    m.problem()


def test_declared_constants_may_use_columns() -> None:
    m, home, p = small()
    home.minimize(tacit.sumsq(p))
    x = (other := m.agent("other")).state("x", lower=0, upper=1)
    other.minimize(x)
    m.lipschitz_objective(home, value=home.cap + 1)
    m.lipschitz_jacobian(home, other, l1=2, l2=tacit.sqrt(8))
    refused(lambda: m.lipschitz_objective(home, other, value=home.cap), "belongs to every member")
    assert "declare lipschitz objective home cap + 1\n" in str(m)
    assert "declare lipschitz jacobian home, other { l1 2; l2 sqrt(8) }" in str(m)
    declared = [one["gradient"].get("declared") for one in m.check().json["lipschitz"]["objective"]]
    assert declared == [4, 8.4, None]


# ---- files ----


def test_a_saved_model_has_the_same_plan_as_the_model(tmp_path: Path) -> None:
    for make in (ev, robots, num):
        m = make()
        path = tmp_path / make.__name__ / "my.tacit"
        path.parent.mkdir()
        m.save(path)
        assert tacit.Problem(path).plan().hash == m.plan().hash


def test_a_saved_model_has_all_its_numbers(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "k.csv").write_text("1,2\n3,4\n")
    outside = tmp_path.parent / f"{tmp_path.name}.csv"
    outside.write_text("cap\n1\n")
    m = tacit.Model()
    names = ["anna, the first", "ben", "Zoë"]
    table = {"name": names, "w": random.normal(size=3), "pref": random.normal(size=(3, 100)) * 1e-5}
    home = m.family("home", table, public=["name"])
    p = home.state("p", 100, lower=-1, upper=1)
    home.minimize(home.w**2 * tacit.sumsq(p - home.pref - random.normal(size=100)))
    m.param("M", random.normal(size=(10, 10)))
    m.param("k", csv=tmp_path / "more" / "k.csv")
    car = m.family("car", m.data("cars", csv=outside, public=["cap"]))
    car.minimize(car.state("x", lower=0, upper=car.cap))
    m.constraint("c", tacit.total(home, p) <= random.normal(size=100) + 3)
    m.save(tmp_path / "fleet.tacit")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "fleet.M.csv", "fleet.array_1.csv", "fleet.array_2.csv", "fleet.cars.csv", "fleet.home_data.csv", "fleet.tacit",
        "more",
    ]  # fmt: skip
    text = (tmp_path / "fleet.tacit").read_text()
    assert 'param k = csv "more/k.csv"' in text and 'data cars = csv "fleet.cars.csv" public cap' in text
    loaded = tacit.Problem(tmp_path / "fleet.tacit")
    assert loaded.members("home") == names
    one, two = loaded.solve(), m.solve()
    assert (one.x["home"] == two.x["home"]).all() and one.objective == two.objective


def test_saving_replaces_no_file_unless_told(tmp_path: Path) -> None:
    m, home, p = small()
    home.minimize(tacit.sumsq(p))
    (tmp_path / "a.home_data.csv").write_text("mine")
    with pytest.raises(FileExistsError, match="a.home_data.csv"):
        m.save(tmp_path / "a.tacit")
    assert os.listdir(tmp_path) == ["a.home_data.csv"]
    assert (tmp_path / "a.home_data.csv").read_text() == "mine"
    m.save(tmp_path / "a.tacit", replace=True)
    tacit.Problem(tmp_path / "a.tacit")
    m.save(tmp_path / "a.tacit", replace=True)
    with pytest.raises(FileExistsError):
        m.save(tmp_path / "a.tacit")


def test_files_that_are_not_there_are_an_error_of_python() -> None:
    m = tacit.Model()
    with pytest.raises(FileNotFoundError):
        m.data("d", csv="/no/such/file.csv")
    with pytest.raises(FileNotFoundError):
        m.param("d", csv="/no/such/file.csv")
    with pytest.raises(TypeError):
        m.data("d")
    with pytest.raises(TypeError):
        m.param("d")
    with pytest.raises(TypeError, match="csv='homes.csv'"):
        m.family("home", "homes.csv")
    assert str(m) == ""


def test_frames_give_the_columns_of_dictionaries() -> None:
    pandas = pytest.importorskip("pandas")
    m = tacit.Model()
    prefs = {"pref_1": [1.5, 2], "pref_2": [0, 1]}
    frame = pandas.DataFrame({"name": ["anna", "ben"], "need": [1, 2], **prefs, "x_2": [1, 2]})
    home = m.family("home", frame, public=["need"])
    assert [home.need.shape, home.pref.shape, home.x_2.shape] == [(), (2,), ()]
    p = home.state("p", 2, lower=0, upper=home.need)
    home.minimize(tacit.sumsq(p - home.pref))
    assert m.problem().members("home") == ["anna", "ben"]
    frame.loc[0, "pref_1"] = None
    other = m.family("other", frame)
    for column in ("pref_1", "pref"):
        with pytest.raises(tacit.UsageError, match="column 'pref_1' of 'other_data' has no value"):
            getattr(other, column)


def test_a_whole_column_as_an_array_is_refused_in_a_family():
    need = np.array([4.0, 2.5, 3.0])
    m = tacit.Model()
    home = m.family("home", data={"need": need, "weight": need})
    p = home.state("p", 2, lower=0, upper=5)
    with pytest.raises(tacit.ProblemError, match="a number for each of the 3 members.*home.COLUMN"):
        home.require(tacit.sum(p) >= need)
    with pytest.raises(tacit.ProblemError, match="a number for each of the 3 members"):
        home.minimize(tacit.sum(need * tacit.sumsq(p)))
    home.require(tacit.sum(p) >= home.need)
    home.minimize(tacit.sumsq(p - np.array([1.0, 2.0])))
    assert m.solve().holds


def test_data_are_those_of_the_moment_they_were_given():
    w = np.array([1.0, 2.0])
    m = tacit.Model()
    home = m.family("home", data={"w": w})
    x = home.state("x", lower=0, upper=9)
    home.minimize((x - home.w) ** 2)
    w[:] = 7
    assert m.solve().x["home"].ravel() == pytest.approx([1, 2])


def test_a_generated_name_is_not_taken_by_an_index():
    with pytest.raises(tacit.ProblemError, match="cannot be called 'array_1'"):
        tacit.index("array_1", 1, 3)


def test_a_closed_problem_is_made_anew_and_a_model_is_not_copied():
    m = tacit.Model()
    a = m.agent("a")
    x = a.state("x", lower=0, upper=1)
    a.minimize((x - 1) ** 2)
    with m.problem() as problem:
        problem.solve()
    assert m.solve().holds
    for copying in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="neither copied nor pickled"):
            copying(m)


def test_save_does_not_write_over_what_the_model_reads(tmp_path):
    (tmp_path / "fleet.homes.csv").write_text("3\n1\n")
    m = tacit.Model()
    q = m.param("q", csv=str(tmp_path / "fleet.homes.csv"))
    table = m.data("homes", {"w": [1.0, 2.0]})
    home = m.family("home", data=table)
    x = home.state("x", lower=0, upper=9)
    home.minimize((x - home.w) ** 2 + tacit.sum(q) * x)
    with pytest.raises(FileExistsError, match="reads"):
        m.save(tmp_path / "fleet.tacit", replace=True)
    assert (tmp_path / "fleet.homes.csv").read_text() == "3\n1\n"
