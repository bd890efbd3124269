"""Figures: what is drawn is what the results have, labels say what it is, and nothing else is touched."""
# labels: once

import itertools
import math
import os
import re
import subprocess
import sys
import types

os.environ["MPLBACKEND"] = "Agg"

import numpy as np
import pytest
from conftest import ROOT

import tacit
from tacit import figures, plots
from tacit.facts import Facts

matplotlib = pytest.importorskip("matplotlib")
pyplot = pytest.importorskip("matplotlib.pyplot")
colors = pytest.importorskip("matplotlib.colors")

pytestmark = pytest.mark.filterwarnings("ignore::tacit.TacitWarning")


@pytest.fixture(scope="module")
def paper():
    return tacit.Problem(ROOT / "examples/paper.tacit")


@pytest.fixture(scope="module")
def one(paper):
    return paper.run(rounds=2000, seed=1)


@pytest.fixture(scope="module")
def many(paper):
    return paper.run(rounds=300, seeds=12)


@pytest.fixture(scope="module")
def ev():
    return tacit.Problem(ROOT / "examples/ev.tacit").run(rounds=60, seed=1, no_reference=True)


@pytest.fixture(scope="module")
def swept(paper):
    return paper.sweep(points=4, seeds=5, rounds=200)


@pytest.fixture(autouse=True)
def unchanged():
    """No figure of a test stays, and no setting changes."""
    before = dict(matplotlib.rcParams)
    yield
    pyplot.close("all")
    assert dict(matplotlib.rcParams) == before


def curves(ax):
    return [line for line in ax.lines if line.get_gid() == "tacit"]


def bands(ax):
    return [band for band in ax.collections if band.get_gid() == "tacit"]


def legend_texts(ax):
    legend = ax.get_legend()
    return [text.get_text() for text in [legend.get_title(), *legend.get_texts()]]


def draw(ax):
    ax.figure.canvas.draw()
    return ax


# ---- errors ----


def test_errors_of_one_run_are_its_trace_from_round_1_on(one):
    ax = draw(one.plot("errors"))
    trace = one.trace
    kept = trace.k > 0
    x, mu = curves(ax)
    np.testing.assert_array_equal(x.get_xdata(), trace.k[kept])
    np.testing.assert_array_equal(x.get_ydata(), trace.x_error[kept])
    np.testing.assert_array_equal(mu.get_ydata(), trace.mu_error[kept])
    assert ax.get_xscale() == ax.get_yscale() == "log"
    assert ax.get_xlabel() == "round k (log scale)" and ax.get_ylabel() == "distance to the solution"
    assert legend_texts(ax)[1:] == ["$|x(k) - x_0|$", r"$|\mu(k) - \mu_0|$"]
    assert not bands(ax)


def band_edges(band, k):
    """Lower and upper edge of a band at each round."""
    vertices = band.get_paths()[0].vertices
    at = [vertices[np.isclose(vertices[:, 0], one)][:, 1] for one in k]
    return np.array([one.min() for one in at]), np.array([one.max() for one in at])


def test_errors_of_many_runs_are_quantiles_over_the_seeds(many):
    ax = draw(many.plot())
    k = many.trace.k[many.trace.k > 0]
    for line, band, name in zip(curves(ax), bands(ax), ("x_error", "mu_error"), strict=True):
        table = np.array([getattr(run.trace, name)[run.trace.k > 0] for run in many.runs])
        low, median, high = np.quantile(table, [0.1, 0.5, 0.9], axis=0)
        np.testing.assert_array_equal(line.get_xdata(), k)
        np.testing.assert_allclose(line.get_ydata(), median, rtol=1e-15)
        drawn = band_edges(band, k)
        np.testing.assert_allclose(drawn[0], low, rtol=1e-12)
        np.testing.assert_allclose(drawn[1], high, rtol=1e-12)
    assert legend_texts(ax)[0] == "median, and 10 to 90 % of 12 runs"


def test_the_end_of_the_median_is_what_the_summary_says(many):
    x, mu = curves(many.plot())
    assert math.isclose(x.get_ydata()[-1], many.final.x_error) and math.isclose(mu.get_ydata()[-1], many.final.mu_error)


def fake_run(lengths, outcomes, names=("g",), problem_names=None):
    """Runs that ended at different rounds: seed s has the error s + 1 at every round."""
    runs = []
    for seed, (length, outcome) in enumerate(zip(lengths, outcomes)):
        error = np.full(length, seed + 1.0)
        g = np.outer(np.ones(length), np.arange(len(names)) - 1.0)
        trace = type("T", (), {"__len__": lambda self: len(self.k)})()
        trace.k, trace.x_error, trace.mu_error, trace.g, trace.mu = np.arange(length), error, error, g, abs(g)
        runs.append(types.SimpleNamespace(trace=trace, outcome=outcome, seed=seed))
    problem = types.SimpleNamespace(constraints=tuple(names))
    return types.SimpleNamespace(runs=runs, problem=problem, reason=None)


def test_runs_that_stopped_early_count_as_far_as_they_came():
    run = fake_run([10, 10, 4, 0], ["done", "done", "diverged", "diverged"])
    ax = draw(plots.run(run, "errors", None))
    x = curves(ax)[0]
    np.testing.assert_array_equal(x.get_xdata(), np.arange(1, 10))
    np.testing.assert_allclose(x.get_ydata(), [2, 2, 2] + [1.5] * 6)
    assert legend_texts(ax)[0] == "median, and 10 to 90 % of 4 runs, 2 to the end"


def test_infinite_and_zero_errors_leave_gaps():
    run = fake_run([6], ["diverged"])
    run.runs[0].trace.x_error = np.array([1, 2, 0, 3, math.inf, math.nan])
    ax = draw(plots.run(run, "errors", None))
    np.testing.assert_array_equal(curves(ax)[0].get_ydata(), [2, math.nan, 3, math.nan, math.nan])
    assert all(math.isfinite(limit) for limit in ax.get_ylim())


def test_an_error_that_is_always_0_is_named_and_not_drawn():
    run = fake_run([6], ["done"])
    run.runs[0].trace.mu_error = np.zeros(6)
    ax = draw(plots.run(run, "errors", None))
    assert legend_texts(ax)[2] == r"$|\mu(k) - \mu_0|$ is 0"


def test_without_a_reference_the_message_says_what_to_draw(paper):
    run = paper.run(rounds=20, seed=1, no_reference=True)
    with pytest.raises(tacit.Error, match='no_reference=True, or draw "constraints"'):
        run.plot()
    assert not pyplot.get_fignums()
    assert curves(run.plot("constraints"))


def test_many_kept_rounds_are_thinned_for_medians_only(paper):
    runs = paper.run(rounds=20000, seeds=2, rows_per_decade=-1)
    assert len(runs.trace) == 20001
    drawn = curves(runs.plot())[0].get_xdata()
    assert len(drawn) <= plots.PLACES + 1 and drawn[0] == 1 and drawn[-1] == 20000
    assert len(curves(paper.run(rounds=2000, seed=1, rows_per_decade=-1).plot())[0].get_xdata()) == 2000


def test_one_round_alone_can_be_drawn(paper):
    run = paper.run(rounds=1, seed=1)
    for what in ("errors", "constraints", "multipliers"):
        draw(run.plot(what))


# ---- constraints and multipliers ----


@pytest.mark.parametrize("what, field", [("constraints", "g"), ("multipliers", "mu")])
def test_constraints_and_multipliers_are_those_of_the_trace(one, what, field):
    ax = draw(one.plot(what))
    kept = one.trace.k > 0
    lines = {line.get_label(): line for line in curves(ax)}
    assert list(lines) == list(one.problem.constraints)
    for j, name in enumerate(one.problem.constraints):
        np.testing.assert_array_equal(lines[name].get_ydata(), getattr(one.trace, field)[kept, j])
    assert ax.get_xscale() == "log" and ax.get_yscale() == "linear"
    levels = [line for line in ax.lines if line.get_label() == "limit"]
    assert len(levels) == (what == "constraints")
    assert all(set(line.get_ydata()) == {0} for line in levels)
    assert ax.get_legend() is None  # names stand beside the lines
    assert set(one.problem.constraints) <= {text.get_text() for text in ax.texts}


def test_of_many_constraints_the_largest_at_the_end_are_named_and_the_others_grey(ev):
    ax = draw(ev.plot("constraints"))
    final = ev.trace.g[-1]
    largest = {ev.problem.constraints[j] for j in np.argsort(-final, kind="stable")[:6]}
    assert {line.get_label() for line in curves(ax)} == largest
    grey = [line for line in ax.lines if line.get_color() == figures.LIGHT.muted]
    assert len(grey) == 18
    assert "18 others" in {text.get_text() for text in ax.texts}


def test_many_runs_of_many_constraints_are_medians(many):
    ax = draw(many.plot("multipliers"))
    table = np.array([run.trace.mu[run.trace.k > 0, 0] for run in many.runs])
    np.testing.assert_allclose(curves(ax)[0].get_ydata(), np.median(table, axis=0))
    assert ax.get_ylabel().replace("\n", " ") == r"multiplier $\mu_j(k)$, median of 12 runs"


def test_a_problem_without_constraints_says_so():
    run = fake_run([5], ["done"], names=())
    with pytest.raises(tacit.Error, match="no constraints"):
        plots.run(run, "constraints", None)
    assert len(curves(plots.run(run, "errors", None))) == 1


def box_of(text):
    """Of the text itself, without the line to the place that it names."""
    return matplotlib.text.Text.get_window_extent(text)


def overlaps(texts):
    boxes = [box_of(text) for text in texts]
    return [(a, b) for a, b in itertools.combinations(boxes, 2) if a.shrunk(0.9, 0.8).overlaps(b.shrunk(0.9, 0.8))]


@pytest.mark.parametrize("what", ["constraints", "multipliers"])
def test_names_beside_lines_stay_inside_and_apart_in_80_mm(ev, what):
    _, ax = pyplot.subplots(figsize=(3.15, 2.4), layout="constrained")
    draw(ev.plot(what, ax=ax))
    names = [text for text in ax.texts if text.get_text() != "limit"]
    assert len(names) == 7 and not overlaps(names)
    right = ax.get_window_extent().x1
    assert all(box_of(text).x1 <= right + 2 for text in names)
    assert not overlaps(tick.label1 for tick in ax.xaxis._update_ticks())


def test_names_are_moved_as_little_as_can_be():
    assert figures.apart([10, 50, 90], 10, 100) == [10, 50, 90]
    assert figures.apart([50, 50, 50], 10, 100) == [40, 50, 60]
    assert figures.apart([0, 1], 10, 100) == [0, 10]
    assert figures.apart([100, 99, 98], 10, 100) == [100, 90, 80]
    assert figures.apart([], 10, 100) == []
    random = np.random.default_rng(1)
    for _ in range(200):
        places = list(random.uniform(0, 100, 7))
        moved = figures.apart(places, 12, 100)
        order = np.argsort(places)
        assert (np.diff(np.array(moved)[order]) >= 12 - 1e-9).all() and min(moved) >= -1e-9 and max(moved) <= 100 + 1e-9


# ---- sweeps ----


@pytest.mark.parametrize("what", ["x_error", "mu_error", "penalty"])
def test_a_sweep_has_its_points_its_quantiles_and_the_run_without_noise(swept, what):
    ax = draw(swept.plot(what))
    epsilon = [point.epsilon for point in swept.points]
    (line,), (band,) = curves(ax), bands(ax)
    np.testing.assert_array_equal(line.get_xdata(), epsilon)
    np.testing.assert_array_equal(line.get_ydata(), [point[what] for point in swept.points])
    printed = [point["quantiles"][what] for point in swept.json["points"]]
    drawn = band_edges(band, epsilon)
    np.testing.assert_allclose(drawn[0], [one["q10"] for one in printed])
    np.testing.assert_allclose(drawn[1], [one["q90"] for one in printed])
    assert ax.get_xscale() == ax.get_yscale() == "log" and ax.get_xlabel() == "epsilon (log scale)"
    levels = [one for one in ax.lines if one.get_label() == "without noise"]
    if what == "penalty":
        assert not levels
    else:
        assert set(levels[0].get_ydata()) == {swept.json["without_noise"][what]}
    low, high = swept.slope_interval
    slope = f"slope {swept.slope:.2f} ({low:.2f} to {high:.2f})".replace("-", "\N{MINUS SIGN}")
    assert any(slope in text for text in legend_texts(ax))


def test_the_fitted_line_goes_through_the_points(swept):
    ax = swept.plot("penalty")
    fit = next(line for line in ax.lines if line.get_label().startswith("fit:"))
    x, y = np.log(fit.get_xdata()), np.log(fit.get_ydata())
    assert math.isclose((y[1] - y[0]) / (x[1] - x[0]), swept.slope)
    penalty = np.log([point.penalty for point in swept.points])
    at = np.interp(np.log([point.epsilon for point in swept.points]), x, y)
    assert abs(penalty - at).max() < 1.5


def test_a_sweep_without_reference_draws_the_penalty_and_says_so(paper):
    sweep = paper.sweep(points=2, seeds=2, rounds=20, no_reference=True)
    with pytest.raises(tacit.Error, match='no_reference=True, or draw "penalty"'):
        sweep.plot()
    assert not pyplot.get_fignums()
    draw(sweep.plot("penalty"))


def test_a_figure_with_zeros_is_drawn_on_a_linear_axis(swept):
    points = [Facts(point, max_violation=0.0) for point in swept.points]
    nothing = {"slope": math.nan, "slope_interval": (math.nan, math.nan), "reason": None}
    fake = types.SimpleNamespace(points=points, json=swept.json, runs=swept.runs, baseline=None, **nothing)
    assert draw(plots.sweep(fake, "max_violation", None)).get_yscale() == "linear"


# ---- plans ----


def bars(ax):
    return [patch for patch in ax.patches if patch.get_gid() == "tacit"]


def test_a_plan_has_a_bar_for_each_observer_and_a_line_for_the_promise(paper):
    plan = paper.plan(calibration="published")
    ax = draw(plan.plot())
    assert [bar.get_width() for bar in bars(ax)] == [one.epsilon for one in plan.observers]
    assert [label.get_text() for label in ax.get_yticklabels()] == [one.who for one in plan.observers]
    (promised,) = ax.lines
    assert set(promised.get_xdata()) == {plan.facts.epsilon}
    assert legend_texts(ax)[1] == "promised: 0.6932 for each released system"
    colours = [bar.get_facecolor() for bar in bars(ax)]
    above = [one.who for one, colour in zip(plan.observers, colours) if colour != colours[0]]
    assert above == ["eavesdropper"]
    assert ax.get_title(loc="left") == ""


def test_prices_are_rounded_up_as_on_the_card(paper):
    assert figures.price_text(math.log(2)) == "0.6932" and "epsilon 0.6932" in paper.plan().headline
    for value in (1.1, 0.1, 2, 0.30000000000000004, 1.9999999999, 1e-6, 123.45, 5e-324, 0.0):
        assert float(figures.price_text(value)) >= value
    assert figures.price_text(1.1) == "1.1" and figures.price_text(0.30000000000000004) == "0.3001"
    assert figures.price_text(math.inf) == "no bound"
    texts = {text.get_text() for text in paper.plan().plot().texts}
    assert texts == {"0.6932"}


def test_a_plan_without_noise_has_no_bound(paper):
    ax = draw(paper.plan(mechanism="none").plot())
    assert {text.get_text() for text in ax.texts} == {"no bound"}
    assert ax.get_title(loc="left") == "NOT PRIVATE" and all(math.isfinite(bar.get_width()) for bar in bars(ax))


def test_a_seeded_plan_says_not_private(paper):
    ax = draw(paper.plan(seed=1).plot())
    assert ax.get_title(loc="left") == "NOT PRIVATE" and legend_texts(ax)[1] == "asked for: 0.6932"


def observed(prices, **more):
    observers = [Facts(who=who, about="any", epsilon=epsilon, delta=0.0) for who, epsilon in prices]
    facts = Facts(epsilon=2.0, calibration="tight")
    fields = {"private": True, "headline": "", "impossible": None, "reason": None} | more
    return types.SimpleNamespace(observers=observers, facts=facts, **fields)


def test_of_many_observers_those_who_pay_most_are_drawn():
    others = [("eavesdropper", 2.0), ("status page", 0.5)]
    ax = draw(plots.plan(observed([(f"a{i}", 1.0) for i in range(100)] + others), None))
    names = [label.get_text() for label in ax.get_yticklabels()]
    shown = sum(1 for name in names if name.startswith("a"))
    assert len(names) <= plots.MOST_BARS and names[-2:] == ["eavesdropper", "status page"]
    assert names[-3] == f"… and {100 - shown} more" and ax.texts[-3].get_text() == "1 each"
    ax = plots.plan(observed([(f"a{i}", i / 100) for i in range(100)] + others), None)
    assert ax.get_yticklabels()[0].get_text() == "a99"
    rest = float(bars(ax)[-3].get_width())
    assert ax.texts[-3].get_text() == f"at most {rest:g}" and rest == min(bar.get_width() for bar in bars(ax)[:-2])


def test_a_plan_that_cannot_be_made_says_why():
    with pytest.raises(tacit.Error, match="nothing to draw: no lattice fits"):
        plots.plan(observed([], impossible="no lattice fits"), None)
    assert not pyplot.get_fignums()


# ---- axes, names and packages ----


def all_plots(one, many, swept, paper):
    for what in ("errors", "constraints", "multipliers"):
        yield lambda ax=None, what=what: one.plot(what, ax=ax)
        yield lambda ax=None, what=what: many.plot(what, ax=ax)
    for what in plots.FIGURES:
        yield lambda ax=None, what=what: swept.plot(what, ax=ax)
    yield lambda ax=None: paper.plan().plot(ax=ax)


def test_given_axes_are_used_and_no_figure_is_made(one, many, swept, paper):
    for plot in all_plots(one, many, swept, paper):
        figure, ax = pyplot.subplots()
        assert plot(ax) is ax and pyplot.get_fignums() == [figure.number]
        pyplot.close(figure)
        made = plot()
        assert pyplot.get_fignums() == [made.figure.number]
        pyplot.close(made.figure)


def test_no_text_is_cut_in_80_mm(one, many, swept, paper):
    for plot in all_plots(one, many, swept, paper):
        figure, ax = pyplot.subplots(figsize=(3.15, 2.4), layout="constrained")
        draw(plot(ax))
        drawn = [tick.label1 for axis in (ax.xaxis, ax.yaxis) for tick in axis._update_ticks()]
        for text in [ax.xaxis.label, ax.yaxis.label, ax.title, *ax.texts, *drawn]:
            box = box_of(text)
            if text.get_text():
                assert box.x0 > -2 and box.y0 > -2, text
                assert box.x1 < figure.bbox.width + 2 and box.y1 < figure.bbox.height + 2, text
        pyplot.close(figure)


def test_no_legend_hides_a_line(one, many, swept, paper, examples):
    advised = [tacit.Problem(examples / "ev.tacit").advise(doubt="5%", rounds=2000), paper.advise(rounds=1000)]
    for plot in (*all_plots(one, many, swept, paper), *(advice.plot for advice in advised)):
        for size in ((6.4, 4.8), (3.15, 2.4)):
            figure, ax = pyplot.subplots(figsize=size, layout="constrained")
            draw(plot(ax=ax))
            if ax.get_legend() is not None and ax.get_yscale() == "log":
                box = ax.get_legend().get_window_extent()
                for line in ax.lines:
                    points = line.get_transform().transform(line.get_path().vertices)
                    points = points[np.isfinite(points).all(axis=1)]
                    steps = np.linspace(0, 1, 200)[:, None, None]
                    between = (points[:-1] + steps * (points[1:] - points[:-1])).reshape(-1, 2)
                    inside = (between > box.min).all(axis=1) & (between < box.max).all(axis=1)
                    assert not inside.any(), (size, line.get_label(), ax.get_ylabel())
            pyplot.close(figure)


def test_lines_with_names_of_their_own_look_different(swept):
    ax = draw(swept.plot("x_error"))
    named = [line for line in ax.lines if not line.get_label().startswith("_")]
    assert {"without noise", "doing nothing"} <= {line.get_label() for line in named}
    assert len({(line.get_color(), str(line._dash_pattern)) for line in named}) == len(named)


def test_a_plan_draws_the_doubt_in_each_constraint(paper):
    plan = paper.plan()
    prices = draw(plan.plot())
    _, doubts = prices.figure.axes
    whole = [abs(one.limit) or one.range for one in plan.constraints]
    shares = [100 * one.doubt / part for one, part in zip(plan.constraints, whole)]
    assert [bar.get_width() for bar in bars(doubts)] == pytest.approx(shares)
    assert [label.get_text() for label in doubts.get_yticklabels()] == [one.name for one in plan.constraints]
    assert "%" in doubts.get_xlabel() and len(doubts.texts) == len(shares)
    _, ax = pyplot.subplots()
    assert plan.plot(ax, what="doubts") is ax and len(bars(ax)) == len(shares)
    with pytest.raises(ValueError, match="'prices' or 'doubts'"):
        plan.plot(what="costs")
    alone = tacit.Problem(text="agent a { state x in [0, 1]; private minimize x }").plan(
        epsilon=1, adjacency="agent", rounds=10
    )
    assert len(draw(alone.plot()).figure.axes) == 1
    with pytest.raises(tacit.Error, match="no doubt"):
        alone.plot(what="doubts")


def test_of_many_constraints_those_with_most_doubt_are_drawn(ev, examples):
    plan = tacit.Problem(examples / "ev.tacit").plan()
    ax = draw(plan.plot(what="doubts"))
    assert len(bars(ax)) == plots.MOST_BARS
    most = max(plan.constraints, key=lambda one: one.doubt / abs(one.limit))
    assert ax.get_yticklabels()[0].get_text() == most.name and "13 more" in ax.get_yticklabels()[-1].get_text()
    assert len(draw(ev.plan.plot()).figure.axes) == 1  # a run's plan knows its prices alone


def test_two_runs_in_the_same_axes_have_styles_of_their_own(one, paper):
    ax = one.plot()
    other = paper.run(rounds=5000, seed=2)
    draw(plots.run(other, "errors", ax, "other"))
    assert len({line.get_color() for line in curves(ax)}) == 4
    assert legend_texts(ax)[3] == "other: $|x(k) - x_0|$" and ax.get_xlim()[1] == 5000


def test_colours_and_dashes_are_the_reports():
    source = (ROOT / "src/report/html.c").read_text()
    for name, palette in (("LIGHT", figures.LIGHT), ("DARK", figures.DARK)):
        found = dict(re.findall(r"--(\w+):(#\w+);", re.search(rf"#define {name}\b(.*?)\n[^ ]", source, re.S).group(1)))
        assert found["ink"] == palette.ink and found["rule"] == palette.rule and found["warn"] == palette.warn
        assert tuple(found[f"c{i}"] for i in range(6)) == palette.series
    dashes = dict(re.findall(r"\.line\.s(\d)\{stroke-dasharray:([\d. ]+)\}", source.replace('"\n    "', "")))
    assert {int(i): tuple(float(x) for x in text.split()) for i, text in dashes.items()} == {
        i: tuple(float(x) for x in one) for i, one in enumerate(figures.DASHES) if one
    }


def test_dark_axes_get_the_dark_colours(one):
    with pyplot.style.context("dark_background"):
        ax = draw(one.plot())
        assert curves(ax)[0].get_color() == figures.DARK.series[0]
        assert colors.to_hex(ax.get_legend().get_texts()[0].get_color()) == figures.DARK.ink
    _, ax = pyplot.subplots()
    assert curves(one.plot(ax=ax))[0].get_color() == figures.LIGHT.series[0]


def test_hostile_names_are_plain_text():
    names = ["$\\frac{$", "a\nb\x00", "x" * 500, "<b>$1$"]
    ax = draw(plots.run(fake_run([5], ["done"], names), "constraints", None))
    texts = [text.get_text() for text in ax.texts]
    assert r"\$\frac{\$" in texts and "a b " in texts and max(map(len, texts)) < 20
    draw(plots.plan(observed([(name, 1.0) for name in names]), None))


def test_what_cannot_be_drawn_is_refused_before_a_figure_is_made(one, swept):
    with pytest.raises(ValueError, match="'errors', 'constraints' or 'multipliers', not 'x'"):
        one.plot("x")
    with pytest.raises(ValueError, match="'penalty', 'max_violation', not 'nothing'"):
        swept.plot("nothing")
    with pytest.raises(TypeError, match="not str"):
        one.plot(ax="axes")
    empty = types.SimpleNamespace(runs=[], reason="the plan is not private", problem=None)
    with pytest.raises(tacit.Error, match="nothing to draw: the plan is not private"):
        plots.run(empty, "errors", None)
    assert not pyplot.get_fignums()


def test_without_matplotlib_the_message_says_what_is_missing(one, swept, paper, monkeypatch):
    plan = paper.plan()
    for name in [*sys.modules]:
        if name.split(".")[0] == "matplotlib":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for plot in (one.plot, swept.plot, plan.plot):
        with pytest.raises(ImportError, match="plot.. needs matplotlib.*pip install matplotlib"):
            plot()


def test_importing_tacit_imports_no_matplotlib():
    code = "import sys, tacit, tacit.plots, tacit.notebook; print('matplotlib' in sys.modules, 'pandas' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed == "False False\n"
