"""docs/language.md: its examples, and the same problems made of objects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

import tacit

ROOT = Path(__file__).resolve().parents[2]


class Example(NamedTuple):
    """A block of the page."""

    text: str
    answer: str  # what the library says to a wrong one


Key = tuple[str, int]  # a section of the page, and which of its good blocks, or of its wrong ones


def read_page() -> tuple[dict[Key, Example], dict[Key, Example], dict[str, str]]:
    """The examples that load, those that are refused, and the CSV files of the page."""
    good: dict[Key, Example] = {}
    wrong: dict[Key, Example] = {}
    files: dict[str, str] = {}
    section, kind, lines, last = "", None, [], ("", 0)
    for line in (ROOT / "docs/language.md").read_text().splitlines():
        if kind is None and line.startswith("#"):
            section = line.lstrip("# ")
        elif kind is None and line.startswith("```"):
            kind, lines = line[3:], []
        elif kind is not None and line == "```":
            text = "\n".join(lines) + "\n"
            if kind.startswith("csv name="):
                files[kind[len("csv name=") :]] = text
            elif kind in ("tacit", "tacit-error"):
                into = good if kind == "tacit" else wrong
                last = (section, 1 + sum(1 for key in into if key[0] == section))
                into[last] = Example(text, "")
            elif kind == "text" and last in wrong:
                wrong[last] = wrong[last]._replace(answer=text)
            kind = None
        elif kind is not None:
            lines.append(line)
    return good, wrong, files


GOOD, WRONG, FILES = read_page()
Maker = Callable[[], tacit.Model]
MODELS: dict[Key, Maker] = {}


def says(section: str, number: int) -> Callable[[Maker], Maker]:
    def enter(maker: Maker) -> Maker:
        MODELS[section, number] = maker
        return maker

    return enter


@says("A first problem", 1)
def first_problem() -> tacit.Model:
    m = tacit.Model()
    anna = m.agent("anna")
    power = anna.state("power", lower=0, upper=5)
    anna.minimize((power - 4) ** 2)
    ben = m.agent("ben")
    ben.state("power", lower=0, upper=5)
    ben.minimize(2 * (ben.power - 3) ** 2)
    ben.require(ben.power >= 1)
    m.constraint("line", power + ben.power <= 6)
    return m


@says("Text", 1)
def statements_and_comments() -> tacit.Model:
    m = tacit.Model()
    limit = m.param("limit", 1 + 2 + tacit.sum([3, 4]))
    a = m.agent("a")
    a.minimize(a.state("x", lower=0, upper=limit))
    return m


@says("Parameters", 1)
def parameters() -> tacit.Model:
    m = tacit.Model()
    hours = m.param("hours", 24)
    m.param("prices", [0.3, 0.25, 0.4])
    m.param("shift", np.eye(2))
    route = m.param("route", csv="links.csv")
    taste = m.param("taste", [1, 2, 3], private=True)
    a = m.agent("a")
    x = a.state("x", 3, lower=0, upper=hours)
    a.minimize(taste @ x)
    m.constraint("used", route @ x <= 2)
    return m


@says("Parameters", 2)
def a_matrix_of_one_agent() -> tacit.Model:
    m = tacit.Model()
    sensor = m.agent("sensor")
    x = sensor.state("x", 3, lower=-4, upper=4)
    A = sensor.param("A", csv="rows.csv", private=True)
    sensor.minimize(tacit.sumsq(A @ x - 1))
    m.constraint("c", tacit.sum(x) <= 1)
    return m


@says("Data", 1)
def data_of_a_family() -> tacit.Model:
    m = tacit.Model()
    homes = m.data("homes", csv="homes.csv", public=["cap"])
    home = m.family("home", homes)
    p = home.state("p", 2, lower=0, upper=home.cap)
    home.require(tacit.sum(p) >= home.need)
    home.minimize(tacit.sumsq(p - home.pref))
    t = tacit.index("t", 1, 2)
    m.constraint("feeder", tacit.total(home, p[t]) <= 6, over=t)
    return m


@says("Agents", 1)
def family_without_data() -> tacit.Model:
    m = tacit.Model()
    node = m.family("node", count=10, index="i")
    x = node.state("x", lower=0, upper=node.index)
    node.minimize((x - node.index / 2) ** 2)
    m.constraint("budget", tacit.total(node, x) <= 20)
    return m


@says("Agents", 2)
def members_select_from_a_vector() -> tacit.Model:
    m = tacit.Model()
    fee = m.param("fee", [3, 4])
    share = m.param("share", [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    sites = m.data("sites", {"bus": [2, 1, 2], "w": [0.5, 1.5, 1]}, public=["bus"])
    site = m.family("site", sites, index="i")
    x = site.state("x", lower=0, upper=1)
    site.minimize((x - site.w) ** 2 + fee[site.bus] * x)
    r = tacit.index("r", 1, 2)
    m.constraint("by_row", tacit.total(site, share[r, site.index] * x) <= 0.5, over=r)
    return m


@says("States", 1)
def states() -> tacit.Model:
    m = tacit.Model()
    robot = m.agent("robot")
    position = robot.state("position", 2, lower=[-5, 0], upper=[5, 8])
    battery = robot.state("battery", lower=0, upper=1)
    robot.minimize(tacit.sumsq(position - [1, 2]) - battery)
    return m


@says("Objectives", 1)
def objectives() -> tacit.Model:
    m = tacit.Model()
    heater = m.agent("heater")
    on = heater.state("on", 3, lower=0, upper=2)
    warm = heater.param("warm", [1, 1.5, 0.5], private=True)
    cost = heater.param("cost", 0.2 * tacit.sum(warm), private=True)
    heater.minimize(cost * tacit.sum(on) + tacit.sumsq(on - warm))
    return m


@says("Objectives", 2)
def an_agent_that_maximizes() -> tacit.Model:
    m = tacit.Model()
    shop = m.agent("shop")
    sold = shop.state("sold", lower=0, upper=10)
    shop.maximize(4 * tacit.log(1 + sold) - 0.5 * sold)
    shop.gap(8)
    shop.slater(sold, 1)
    m.constraint("stock", sold <= 6)
    return m


@says("Sets", 1)
def sets() -> tacit.Model:
    m = tacit.Model()
    a = m.agent("a")
    p = a.state("p", 3, lower=-5, upper=5)
    q = a.state("q", 2, lower=0, upper=1)
    a.minimize(tacit.sumsq(p) + tacit.sum(q))
    a.require(tacit.sum(p) == 1, p[0] + 2 * q[1] <= 3)
    a.require(p >= [-1, -2, -3])
    a.require(tacit.norm(p - [1, 0, 0]) <= 2.5)
    a.require(p[0:2].isin(tacit.ball1(0, 4)))
    a.require(p[1:].isin(tacit.ellipsoid([0, 0], [[2, 1], [1, 2]])))
    a.require(q.isin(tacit.simplex(1)))
    return m


@says("Sets", 2)
def sets_with_names_and_indices() -> tacit.Model:
    m = tacit.Model()
    boiler = m.agent("boiler")
    heat = boiler.state("heat", 24, lower=0, upper=9)
    boiler.minimize(tacit.sumsq(heat - 2))
    boiler.require(tacit.between(30, tacit.sum(heat), 60))
    boiler.require(heat[0:6] <= 1, name="night")
    t = tacit.index("t", 1, 23)
    boiler.require(tacit.between(-1.5, heat[t + 1] - heat[t], 2), over=t, name="ramp")
    return m


@says("Sets", 3)
def a_public_set() -> tacit.Model:
    m = tacit.Model()
    home = m.family("home", count=100)
    p = home.state("p", 24, lower=0, upper=7.4)
    home.public_set(tacit.sum(p) <= 45)
    home.minimize(tacit.sumsq(p - 1))
    home.gap(30)
    home.slater(p, 0.5)
    t = tacit.index("t", 1, 24)
    m.constraint("feeder", tacit.total(home, p[t]) <= 80, over=t)
    return m


@says("Gaps and Slater points", 1)
def gaps_and_slater_points() -> tacit.Model:
    m = tacit.Model()
    home = m.family("home", count=100)
    p = home.state("p", 24, lower=0, upper=7.4)
    home.minimize(tacit.sumsq(p - 1))
    home.gap(30)
    home.slater(p, 0.5)
    t = tacit.index("t", 24)
    m.constraint("feeder", tacit.total(home, p[t]) <= 80, over=t)
    return m


@says("Gaps and Slater points", 2)
def room_around_a_slater_point() -> tacit.Model:
    m = tacit.Model()
    cell = m.family("cell", count=6)
    soc = cell.state("soc", 2, lower=0, upper=1)
    cell.minimize(tacit.sumsq(soc - cell.index / 6))
    cell.gap(1.8)
    cell.slater(soc, 0.5, within=[0.25, 0.1])
    k = tacit.index("k", 1, 2)
    m.constraint("level", tacit.total(cell, soc[k]) == 3, over=k)
    return m


@says("Starts", 1)
def starts() -> tacit.Model:
    m = tacit.Model()
    a = m.agent("a")
    p = a.state("p", 2, lower=0, upper=4)
    a.minimize(tacit.sumsq(p - 3))
    a.start(p, [1, 2], private=True)
    i = tacit.index("i", 1, 2)
    low = m.constraint("low", p[i] <= 2, over=i)
    m.start_multipliers(0)
    low.start([0.1, 0.2])
    low[1].start(0.3)
    return m


@says("Ranges and protection", 1)
def ranges_and_protection() -> tacit.Model:
    m = tacit.Model()
    home = m.family("home", m.data("homes", csv="homes.csv", public=["cap"]))
    p = home.state("p", 2, lower=0, upper=home.cap)
    weight = home.param("weight", 1.2, private=True)
    home.require(tacit.sum(p) >= home.need)
    home.minimize(weight * tacit.sumsq(p - home.pref))
    home.range(home.need, lower=0, upper=5)
    home.range(weight, lower=0.5, upper=2)
    home.range("pref", lower=0, upper=home.cap)
    home.protect(home.need, by=1)
    home.protect(home.pref, by=[0.5, 0.25])
    home.gap(60)
    home.slater(p, 2.6)
    t = tacit.index("t", 1, 2)
    m.constraint("feeder", tacit.total(home, p[t]) <= 6, over=t)
    m.privacy(mechanism="gaussian", epsilon=1, delta=1e-6, adjacency="data")
    return m


@says("Ranges and protection", 2)
def ranges_in_a_cloud_s_file() -> tacit.Model:
    m = tacit.Model(role="cloud")
    home = m.family("home", count=2, index="member")
    p = home.state("p", 2, lower=0, upper=7.4)
    home.range("need", lower=0, upper=5)
    home.range("pref", 2, lower=0, upper=7.4)
    home.protect("need", by=1)
    home.protect("pref", by=0.5)
    home.distance("need", l1=1, l2=1)
    home.distance("pref", l1=1, l2=0.71)
    home.gap(60)
    home.slater(p, 2.6)
    t = tacit.index("t", 1, 2)
    m.constraint("feeder", tacit.total(home, p[t]) <= 6, over=t)
    return m


@says("Constraints", 1)
def constraints() -> tacit.Model:
    m = tacit.Model()
    robot = m.family("robot", count=4)
    pos = robot.state("pos", 2, lower=-10, upper=10)
    robot.minimize(tacit.sumsq(pos - robot.index))
    base = m.agent("base")
    base.minimize(base.state("x", lower=0, upper=1))
    k = tacit.index("k", 1, 3)
    m.constraint("chain", tacit.sumsq(robot[k].pos - robot[k + 1].pos) <= tacit.constant(2) ** 2, over=k)
    m.constraint("near", tacit.sumsq(robot[0].pos) <= 1 + base.x)
    m.constraint("fence", robot[-1].pos <= [3, 4])
    return m


@says("Constraints", 2)
def chains() -> tacit.Model:
    m = tacit.Model()
    home = m.family("home", count=4)
    p = home.state("p", 2, lower=0, upper=3)
    home.minimize(tacit.sumsq(p - home.index))
    use = m.constraint("use", tacit.between(1, tacit.total(home, p[0] + p[1]), 12))
    t = tacit.index("t", 1, 2)
    m.constraint("hour", tacit.between(0.5, tacit.total(home, p[t]), 7), over=t)
    use.start([0, 0.2])
    return m


@says("Equalities", 1)
def a_power_balance() -> tacit.Model:
    m = tacit.Model()
    gen = m.family("gen", count=10)
    p = gen.state("p", lower=0, upper=1)
    gen.minimize((1 + gen.index / 10) * p**2 + p)
    gen.gap(2.1)
    gen.slater(p, 0.5, within=0.3)
    wind = m.agent("wind")
    wind.state("p", lower=0, upper=2)
    wind.minimize((wind.p - 1.5) ** 2)
    wind.gap(1)
    wind.slater("p", 1, within=0.5)
    m.constraint("balance", tacit.total(gen, p) + wind.p == 6)
    m.constraint("line", gen[0].p - gen[1].p <= 0.6)
    return m


@says("Sums over agents", 1)
def sums_over_agents() -> tacit.Model:
    m = tacit.Model()
    home = m.family("home", count=50)
    p = home.state("p", 2, lower=0, upper=2)
    home.minimize(tacit.sumsq(p - 1))
    m.constraint("total", tacit.total(home, p[0] + p[1]) <= 60)
    m.constraint("even", (tacit.total(home, p[0]) - tacit.total(home, p[1])) ** 2 <= 100)
    m.constraint("each_hour", tacit.total(home, p) <= [40, 30])
    m.constraint("weighted", tacit.total(home, home.index / 50 * p[0] ** 2) <= 20)
    return m


@says("Operators", 1)
def operators() -> tacit.Model:
    m = tacit.Model()
    a = m.param("a", -tacit.constant(2) ** 2 + 3 * tacit.constant([1, 2, 3]) / 2)
    x = m.agent("x")
    y = x.state("y", 3, lower=0, upper=9)
    x.minimize(tacit.sum((y - a) ** 2) + tacit.sum(y) ** 4)
    return m


@says("Operators", 2)
def exponents_of_members() -> tacit.Model:
    m = tacit.Model()
    firm = m.family("firm", m.data("firms", csv="firms.csv"))
    q = firm.state("q", lower=0.1, upper=5)
    firm.minimize(firm.scale * q**firm.elasticity - 10 * q)
    m.constraint("market", tacit.total(firm, q) <= 6)
    return m


@says("Vectors and matrices", 1)
def vectors_and_matrices() -> tacit.Model:
    m = tacit.Model()
    M = m.param("M", [[1, 2, 0], [0, 1, 3]])
    v = m.param("v", M[0] + M[1])
    a = m.agent("a")
    x = a.state("x", 3, lower=-1, upper=1)
    a.minimize(tacit.sumsq(M @ x - v[0:2]) + M[0, 1] * x[2])
    m.constraint("c", M.T[2] * x[0:2] <= 2)
    return m


@says("Vectors and matrices", 2)
def vectors_by_index() -> tacit.Model:
    m = tacit.Model()
    t, i, j = tacit.index("t", 1, 24), tacit.index("i", 1, 3), tacit.index("j", 1, 3)
    price = m.param("price", tacit.vector(0.2 + 0.1 * (t - 12) ** 2 / 144, over=t))
    m.param("shift", tacit.vector((i - j) ** 2, over=(i, j)))
    home = m.family("home", count=10, index="k")
    p = home.state("p", 24, lower=0, upper=7)
    s, r = tacit.index("t", 1, 23), tacit.index("t", 1, 22)
    changes = tacit.vector((p[s + 1] - p[s]) ** 2, over=s)
    home.minimize(price @ p + tacit.sum(changes) / home.index)
    home.require(tacit.vector(tacit.sum(p[tacit.part(r, r + 2)]), over=r) >= 0.5)
    used = tacit.total(home, tacit.vector(p[t] + 0.1 * home.index, over=t))
    m.constraint("feeder", used <= tacit.vector(30 + t, over=t))
    return m


@says("Functions", 1)
def functions() -> tacit.Model:
    m = tacit.Model()
    Q = m.param("Q", [[2, 1], [1, 3]])
    a = m.agent("a")
    x = a.state("x", 2, lower=0.5, upper=4)
    a.minimize(tacit.norm(x - [1, 2]) ** 4 + tacit.quadform(x, Q) - tacit.sum(tacit.log(x)))
    ceiling = a.param("ceiling", tacit.max(3, 2), private=True)
    a.require(tacit.sum(x) <= ceiling)
    b = m.agent("b")
    y = b.state("y", lower=-3, upper=3)
    k = tacit.index("k", 1, 3)
    powers = tacit.sum(tacit.pow(y + 4, k / 2), over=k)
    b.minimize(tacit.huber(y - 1, 0.5) + tacit.logsumexp(y, -y) + tacit.exp(y / 2) + powers)
    m.constraint("c", tacit.sqrt(tacit.sumsq(x) + 1) + y <= 5)
    return m


@says("What is not smooth", 1)
def kinks_in_objectives() -> tacit.Model:
    m = tacit.Model()
    offers = m.param("offers", [[1, 0], [0.5, 1], [-1, 2]])
    lasso = m.agent("lasso")
    x = lasso.state("x", 2, lower=-2, upper=2)
    lasso.minimize(tacit.sumsq(offers @ x - [1, 2, 0.5]) + 0.6 * tacit.norm1(x))
    hinge = m.agent("hinge")
    w = hinge.state("w", 2, lower=-5, upper=5)
    hinge.minimize(tacit.sumsq(w) + 3 * tacit.sum(tacit.pos(1 - offers @ w)))
    tariff = m.agent("tariff")
    p = tariff.state("p", lower=0, upper=10)
    tariff.minimize(tacit.max(0.2 * p, 0.5 * p - 1.2, p - 5) - tacit.min(p, 4) + abs(p - 3))
    m.constraint("c", tacit.sum(x) + tacit.sum(w) + p <= 4)
    return m


@says("What is not smooth", 2)
def kinks_in_constraints_and_sets() -> tacit.Model:
    m = tacit.Model()
    home = m.family("home", count=3)
    p = home.state("p", 2, lower=-2, upper=2)
    t = home.state("t", lower=0, upper=4)
    home.require(np.abs(p[0] - p[1]) <= t)
    home.minimize(tacit.sumsq(p - 1) + t)
    m.constraint("swing", abs(home[0].p[0] - home[1].p[0]) <= 0.5)
    m.constraint("reach", tacit.norm(home[2].p) <= 1.2)
    m.constraint("turns", tacit.total(home, t) <= 3)
    return m


@says("Declared constants", 1)
def declared_constants() -> tacit.Model:
    m = tacit.Model()
    a = m.agent("a")
    a.minimize(a.state("x", lower=0, upper=1) ** 2)
    b = m.agent("b")
    b.minimize(b.state("x", lower=0, upper=1))
    m.constraint("c", a.x**2 + b.x <= 1)
    m.lipschitz_constraints(l1=2, l2=tacit.sqrt(5))
    m.lipschitz_jacobian(a, b, l1=2, l2=2)
    m.lipschitz_objective(a, value=2)
    return m


def one_agent() -> tacit.Model:
    m = tacit.Model()
    a = m.agent("a")
    x = a.state("x", lower=0, upper=1)
    a.minimize(x**2)
    m.constraint("c", x <= 0.5)
    return m


@says("The dual radius", 1)
def dual_radius() -> tacit.Model:
    m = one_agent()
    m.dual_radius(12.5)
    return m


@says("Privacy", 1)
def privacy() -> tacit.Model:
    m = one_agent()
    m.privacy(mechanism="gaussian", epsilon=tacit.ln(2), delta=1e-5, adjacency=("one", 1))
    return m


@says("Budget", 1)
def budget() -> tacit.Model:
    m = one_agent()
    m.privacy(mechanism="gaussian", epsilon=tacit.ln(2), delta=1e-6, adjacency="one:1")
    m.budget(epsilon=4, delta=1e-6)
    return m


@says("Schedule", 1)
def schedule() -> tacit.Model:
    m = one_agent()
    m.schedule(alpha=(0.1, 0.3), gamma=(0.01, 0.52), rounds=100000)
    return m


@says("The files of the cloud and of the agents", 1)
def file_of_a_cloud() -> tacit.Model:
    m = tacit.Model(role="cloud")
    home = m.family("home", count=1000, index="member")
    p = home.state("p", 2, lower=0, upper=7.4)
    home.gap(330)
    home.slater(p, 1.7)
    t = tacit.index("t", 1, 2)
    m.constraint("feeder", tacit.total(home, p[t]) <= 2000, over=t)
    return m


@says("The files of the cloud and of the agents", 2)
def file_of_an_agent() -> tacit.Model:
    m = tacit.Model(role="agent")
    home = m.agent("home[17]")
    need = home.column("need", 9.25, private=True)
    home.column("member", 17)
    pref = home.column("pref", [5, 4.5], private=True)
    p = home.state("p", 2, lower=0, upper=7.4)
    home.require(tacit.sum(p) >= need)
    home.minimize(tacit.sumsq(p - pref) + p[0] / home.member)
    home.gap(330)
    home.slater("p", 1.7)
    return m
