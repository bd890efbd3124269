"""Lines of an agent's block: parameters of its own, objectives, limits and Slater points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from models import refused, small

import tacit

# ---- parameters of blocks ----


def test_an_array_of_a_block_is_the_agents_own(tmp_path: Path) -> None:
    def build() -> tacit.Model:
        m = tacit.Model()
        for name, secret in (("sensor", 0.123), ("home[17]", 0.456)):
            agent = m.agent(name)
            x = agent.state("x", 8, lower=-1, upper=1)
            A = agent.param("A", np.full((9, 8), secret), private=True)
            B = agent.param("B", csv=tmp_path / "b.csv", private=True)
            agent.minimize(tacit.sumsq(A @ x) + tacit.sumsq(B @ x - 1))
        return m

    (tmp_path / "b.csv").write_text("1,0,0,0,0,0,0,0\n0,1,0,0,0,0,0,0\n")
    m = build()
    assert "private param A = given\n" in str(m) and "private param A = array_1\n" in str(m)
    assert set(m._print().given) == {"sensor.A", "array_1"}
    for name, text in m.split().parts.items():
        assert ("0.123" in text) == (name == "agents/sensor.tacit")
        assert ("0.456" in text) == ("17" in name)
    (tmp_path / "there").mkdir()
    m.save(tmp_path / "there" / "fleet.tacit")
    saved = tacit.Problem(tmp_path / "there" / "fleet.tacit").solve()
    assert (saved.x["sensor"] == m.solve().x["sensor"]).all() and saved.objective == m.solve().objective
    assert sorted(one.name for one in (tmp_path / "there").iterdir()) == [
        "fleet.array_1.csv", "fleet.home%5B17%5D.B.csv", "fleet.sensor.A.csv", "fleet.sensor.B.csv", "fleet.tacit",
    ]  # fmt: skip
    with pytest.raises(TypeError, match="a value, or csv"):
        m.agent("c").param("A")


def test_what_is_called_given_or_csv_in_a_block_keeps_its_meaning() -> None:
    m = tacit.Model()
    home = m.family("home", {"given": [1.0, 2.0], "csv": [3.0, 4.0]})
    x = home.state("x", 70, lower=-9, upper=9)
    wish = home.param("wish", np.ones(70), private=True)
    more = home.param("more", home.csv + 1, private=True)
    home.minimize(tacit.sumsq(x - wish * home.given * more))
    assert m.solve().x["home"][:, 0] == pytest.approx([4, 9], abs=1e-5)


# ---- objectives, limits and Slater points ----


def test_an_agent_has_one_objective_which_it_minimizes_or_maximizes() -> None:
    m = tacit.Model()
    a, b = m.agent("a"), m.agent("b")
    for one in (a, b):
        one.state("x", lower=0, upper=3)
    a.minimize((a.x - 1) ** 2 - 2)
    b.maximize(2 - (b.x - 1) ** 2)
    assert "private maximize 2 - (x - 1)^2" in str(b)
    solution = m.solve()
    assert solution.x["a"] == pytest.approx(solution.x["b"]) and solution.objective == pytest.approx(-4)
    refused(lambda: b.minimize(b.x), "two objectives", "the first one is here")
    refused(lambda: m.agent("c").maximize([1, 2]), "an objective must be a number")


def test_limits_for_every_index_and_with_names() -> None:
    m = tacit.Model()
    home = m.family("home", {"rise": [1.0, 2.0]})
    p = home.state("p", 4, lower=0, upper=9)
    home.minimize(tacit.sumsq(p - [0, 9, 9, 9]))
    t, s = tacit.index("t", 1, 3), tacit.index("s", 1, 2)
    home.require(p[t + 1] - p[t] <= home.rise, over=t)
    home.require(p[s + t - 1] <= 8, over=(s, t), name="top")
    home.require(p[0] == 0, p[1] <= 5, name="first")
    assert str(home).splitlines()[3:-1] == [
        "  private set each[t in 1..3]: p[t + 1] - p[t] <= rise",
        "  private set top[s in 1..2, t in 1..3]: p[s + t - 1] <= 8",
        "  private set first: p[1] == 0",
        "  private set first: p[2] <= 5",
    ]
    assert m.solve().x["home"] == pytest.approx(np.array([[0, 1, 2, 3], [0, 2, 4, 6]]), abs=1e-6)
    refused(lambda: home.require(p[t] <= 1), "the index 't' has no range here")
    refused(lambda: home.require(p[0] <= 1, name="a b"), "a set cannot be called")


def test_a_public_set_is_in_the_files_of_the_cloud_and_of_the_agents() -> None:
    m, home, p = small()
    home.minimize(tacit.sumsq(p - home.pref))
    home.public_set(tacit.sum(p) <= 2)
    m.constraint("line", tacit.total(home, p) <= [3, 4])
    m.dual_radius(10)
    assert m.solve().x["home"].sum(axis=1).max() == pytest.approx(2, abs=1e-6)
    assert all("public set sum(p) <= 2" in text for name, text in m.split().parts.items() if name.endswith(".tacit"))
    refused(lambda: home.public_set(p[0] <= 1), "two public sets")
    with pytest.raises(TypeError, match="a public set is a relation"):
        home.public_set(p.isin(tacit.box(0, 1)))  # type: ignore[arg-type]


def test_ranges_are_of_the_block_s_own_data() -> None:
    m, home, p = small()
    home.minimize(tacit.sumsq(p - home.pref))
    home.range(home.pref, lower=0, upper=[1, 2])
    home.protect("pref", by=0.5)
    m.constraint("line", tacit.total(home, p) <= [3, 4])
    m.dual_radius(10)
    with pytest.warns(tacit.TacitWarning, match="outside of its range"):
        parts = m.split().parts
    assert all("protect pref by 0.5" in text for name, text in parts.items() if name.endswith(".tacit"))
    assert "range pref[2] in [0, [1, 2]]" in parts["cloud.tacit"]
    refused(lambda: home.range("pref", lower=0, upper=3), "'pref' has two ranges")
    refused(lambda: home.protect(home.pref, by=1), "'pref' is protected twice")
    with pytest.raises(TypeError, match="range takes private data of 'home'"):
        home.range(2 * home.pref, lower=0, upper=1)
    with pytest.raises(TypeError, match="protect takes private data of 'home'"):
        home.protect(m.agent("other").state("q", lower=0, upper=1), by=1)


@pytest.mark.parametrize(
    "values",
    [
        [4, 2.5],
        range(3, 5),
        np.array([4.0, 2.5]),
        np.array([4, 3]),
        pd.Series([4.0, 2.5]),
        pd.Series([4, 3], dtype="Int64"),
        pd.Series([True, False], dtype="boolean"),
        np.array([[4.0, 1], [2, 3]])[:, 0],
    ],
)
def test_what_two_agents_have_is_not_protected(values: Any) -> None:
    def protected(model: tacit.Model, name: str, column: str, data: Any) -> None:
        family = model.family(name, data={column: data})
        x = family.state("x", lower=0, upper=5)
        family.minimize((x - family[column]) ** 2)
        family.range(family[column], lower=0, upper=9)
        family.protect(family[column], by=1)

    again = tacit.Model()
    protected(again, "home", "need", values)
    protected(again, "car", "goal", values)
    with pytest.raises(tacit.ProblemError, match="'need' cannot be protected: 'goal' of 'car' has the same numbers, by"):
        again.check()
    data = {"homes": {"need": values}, "cars": {"goal": values}}
    text = str(again).replace("home_data", "homes").replace("car_data", "cars")
    with pytest.raises(tacit.ProblemError, match="'need' cannot be protected: 'goal' of 'car' has the same numbers, by"):
        tacit.Problem(text=text, data=data)
    other = tacit.Model()
    protected(other, "home", "need", values)
    protected(other, "car", "goal", list(values))
    assert len(other.check().agents) == 4


def test_kinks_are_convex_but_not_smooth() -> None:
    m = tacit.Model()
    a = m.agent("a")
    x = a.state("x", 3, lower=-4, upper=4)
    wish = np.array([3.0, -0.2, -2.0])
    a.minimize(tacit.sumsq(x - wish) / 2 + tacit.norm1(x) + 2 * np.maximum(x[0] - 1, 0))
    found = m.solve()
    assert found.x["a"] == pytest.approx([1, 0, -1], abs=1e-5)  # soft thresholds, and a kink at 1
    check = m.check()
    assert (check.holds, check.convex, check.smooth) == (True, "holds", "fails")
    published = m.check(method="published")
    assert not published.holds and published.assumptions.objectives == "fails"
    with pytest.raises(tacit.UsageError, match="method wants tacit or published, not 'other'"):
        m.check(method="other")
    m.constraint("line", tacit.maximum(x[0], x[2] + 1) <= 0.5)
    m.constraint("reach", tacit.norm(x) <= 1)
    assert m.problem().constraints == ("line[1]", "line[2]", "reach")
    assert m.solve().x["a"][0] <= 0.5 + 1e-6 and np.linalg.norm(m.solve().x["a"]) <= 1 + 1e-6


def test_equalities_have_multipliers_of_either_sign() -> None:
    m = tacit.Model()
    a = m.agent("a")
    x = a.state("x", 2, lower=-9, upper=9)
    a.minimize(tacit.sumsq(x - [1, 2]) / 2)
    m.constraint("line", x[0] + x[1] <= 8)
    m.constraint("fixed", x == [3, -1])
    assert m.problem().constraints == ("line", "fixed[1]", "fixed[2]")
    assert m.problem().equalities == ("fixed[1]", "fixed[2]")
    solution = m.solve()
    assert solution.x["a"] == pytest.approx([3, -1]) and solution.mu == pytest.approx([0, -2, 3], abs=1e-6)
    card = solution._repr_html_()
    assert card.index("fixed[2]") < card.index("fixed[1]") and ">line<" not in card and "-2" in card.replace("−", "-")
    m.constraint("again", np.array([1.0, 2.0]) @ x == 1)
    assert m.solve().mu == pytest.approx([0, *(np.array([-2, 3]) - 2 / 3 * np.array([1, 2])), 2 / 3], abs=1e-5)
    m.constraint("never", x[0] == 2)
    assert not m.solve(check=False).holds


@pytest.mark.filterwarnings("ignore::tacit.TacitWarning")
def test_a_run_keeps_equalities_to_within_a_tolerance() -> None:
    def build(limit: bool) -> tacit.Model:
        m = tacit.Model()
        gen = m.family("gen", count=5)
        p = gen.state("p", lower=0, upper=1)
        gen.minimize((1 + gen.index / 10) * p**2)
        gen.gap(2)
        gen.slater(p, 0.5, within=0.4)
        m.constraint("balance", tacit.total(gen, p) == 2.5)
        if limit:
            m.constraint("line", gen[0].p <= 0.9)
        m.privacy(mechanism="gaussian", epsilon=5, delta=1e-6, adjacency="one:0.1")
        return m

    run = build(limit=False).run(rounds=2000, seed=1)
    assert abs(run.x["gen"].sum() - 2.5) <= run.feasible.bounds[0] < 0.1
    assert run.mu[0] < 0 and run.final.max_violation == pytest.approx(abs(run.x["gen"].sum() - 2.5))
    assert f"Released data show: balance off by at most {run.feasible.bounds[0]:.3g} of 2.5, with" in run._repr_html_()
    run = build(limit=True).run(rounds=2000, seed=1)
    said = f"Released data show: balance off by at most {run.feasible.bounds[0]:.3g} of 2.5; the other one holds, with"
    assert said in run._repr_html_()
    assert not run.feasible.certain and np.isnan(run.feasible.move)
    run = build(limit=True).run(rounds=200, seed=1, feasible="always")
    assert run.feasible.certain and run.feasible.shown and 0 <= run.feasible.move <= 1


def test_a_slater_point_may_have_room_around_it() -> None:
    m, home, p = small()
    home.slater(p, 0.5, within=home.cap / 10)
    assert "slater p = 0.5 within cap / 10" in str(home)
    refused(lambda: home.slater(p, 1), "a Slater point of 'p' is given twice")
