"""Cards for notebooks: they say what the results say, escape all that users wrote, and never raise."""
# labels: once

import html
import html.parser
import os
import re
import signal
import threading

import numpy as np
import pytest
from conftest import HOMES, ROOT

import tacit
from tacit import notebook

pytestmark = pytest.mark.filterwarnings("ignore::tacit.TacitWarning")

VOID = {"br", "img", "hr", "meta", "link", "input", "polyline"}


class Reader(html.parser.HTMLParser):
    """Checks that tags are closed and harmless, and collects texts."""

    def __init__(self):
        super().__init__()
        self.open, self.texts, self.tags, self.cells = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            assert not name.startswith("on") and name not in ("src", "href"), (tag, name)
            assert "url(" not in (value or "") and "javascript" not in (value or "")
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_startendtag(self, tag, attributes):
        assert tag in VOID
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if self.open and {"td", "th"} & set(self.open):
            self.cells[-1] += data


KNOWN = set("div strong code table thead tbody tr th td ul li details summary svg title polyline pre".split())


def read(value):
    text = value if isinstance(value, str) else value._repr_html_()
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert not reader.open and set(reader.tags) <= KNOWN, set(reader.tags) - KNOWN
    reader.text = re.sub(r"\s+", " ", "".join(reader.texts))
    reader.source = text
    return reader


@pytest.fixture(scope="module")
def paper():
    return tacit.Problem(ROOT / "examples/paper.tacit")


@pytest.fixture(scope="module")
def ev():
    return tacit.Problem(ROOT / "examples/ev.tacit")


@pytest.fixture
def homes(homes_text, homes_data):
    return tacit.Problem(text=homes_text, data=homes_data)


# ---- what they say ----


def test_a_problem_has_counts_families_and_constraints(paper, ev):
    card = read(ev)
    assert "1,000 agents, 24,000 states, 24 constraints" in card.text
    assert card.cells[-4:] == ["home", "p[24]", "1,000", "24"]
    assert "feeder[1], feeder[2]" in card.text and "feeder[8] and 16 more" in card.text
    assert read(paper).cells[-4:] == ["a1, a2 and 8 more", "x[2]", "10", "2"]


def test_a_plan_is_its_card(paper):
    plan = paper.plan()
    card = read(plan)
    assert f"Guarantee: {plan.headline}" in card.text and notebook.GREEN in card.source
    assert "a1, a2 and 8 more, each" in card.cells and "0.6932" in card.cells
    for words in (*plan.json["card"]["does_not_hide"], *plan.json["card"]["hides"], *plan.json["card"]["exclusions"]):
        assert words in card.text


def test_prices_with_a_delta_have_a_column_for_it(ev):
    card = read(ev.plan())
    assert "delta" in card.cells and "1e-06" in card.cells and "each of home[1] .. home[1000]" in card.cells


def test_a_plan_that_is_not_private_is_red_and_says_why(paper):
    plan = paper.plan(seed=1, calibration="published", constants="declared")
    card = read(plan)
    assert notebook.RED in card.source and notebook.GREEN not in card.source
    reasons = plan.json["void_reasons"]
    assert f"NOT PRIVATE: {reasons[0]}; {reasons[1]}; and 1 reason more" in card.text
    assert "Would hide" in card.text
    assert "no bound" in read(paper.plan(mechanism="none")).cells


def test_a_run_has_its_outcome_its_figures_and_its_guarantee(paper):
    run = paper.run(rounds=1000, seed=1)
    card = read(run)
    assert "done after 1,000 rounds, seed 1" in card.text
    assert "NOT PRIVATE: the noise comes from a seed" in card.text and "Simulation: not released" in card.text
    rows = dict(zip(card.cells[5::5], [card.cells[i : i + 5] for i in range(5, len(card.cells), 5)]))
    assert list(rows) == ["0", "1", "10", "100", "1,000"]
    final = run.final
    numbers = [final.x_error, final.mu_error, final.objective, final.max_violation]
    assert [float(cell.replace(",", "").replace("\N{MINUS SIGN}", "-")) for cell in rows["1,000"][1:]] == [
        pytest.approx(value, rel=1e-3) for value in numbers
    ]
    assert "svg" in card.tags


def test_a_private_run_has_a_green_bar(homes):
    card = read(homes.run(rounds=300))
    assert "Guarantee of what was released: private: messages only" in card.text
    assert notebook.GREEN in card.source and notebook.RED not in card.source
    assert "seed" not in card.text


def test_many_runs_have_medians(paper):
    runs = paper.run(rounds=200, seeds=5)
    card = read(runs)
    assert "5 runs (5 done), 200 rounds" in card.text and "Medians of the runs" in card.text
    assert card.cells[-4] == notebook._number(np.median([one.trace.x_error[-1] for one in runs.runs]))


def test_a_run_without_reference_has_no_columns_of_errors(paper):
    card = read(paper.run(rounds=200, seed=1, no_reference=True))
    assert "error of x" not in card.text and "objective" in card.cells and "svg" not in card.tags


def test_a_sweep_has_its_points_and_its_slope(paper):
    sweep = paper.sweep(epsilons=[0.5, 1, 2], seeds=3, rounds=100)
    card = read(sweep)
    assert "3 epsilons, 9 runs" in card.text and "NOT PRIVATE" in card.text
    assert card.cells[8::8] == ["0.5", "1", "2", "no noise", "zero prices"]
    assert sweep.json["worth"][0] in card.text
    assert notebook._number(sweep.slope, 3) in card.text


def test_checks_solutions_bounds_audits_and_ledgers(paper, ev, tmp_path):
    check = read(paper.check())
    assert "All assumptions hold" in check.text and check.cells.count("holds") == 4 and "4 warnings" in check.text
    solution = read(paper.solve())
    assert "Solved: objective 6.1564417" in solution.text and solution.cells[2:4] == ["g1", "2.148"]
    assert "Vacuous" in read(paper.bound()).text
    audit = read(paper.audit(samples=1000, seed=1))
    assert "Not refuted" in audit.text and "independence" in audit.cells and notebook.GREEN in audit.source
    assert notebook.GREEN not in read(paper.audit(samples=100, seed=1)).source  # inconclusive
    ledger = tmp_path / "spent"
    tacit.Problem(ROOT / "examples/num.tacit").run(rounds=20, ledger=str(ledger))
    entries = read(tacit.ledger(ledger))
    assert "1 run" in entries.text and "num.tacit" in entries.text
    assert "1,002 files" in read(ev.split()).text


def test_what_fails_says_why():
    infeasible = tacit.Problem(text="agent a { state x in [0,1]; private minimize x^2 }\nconstraint c: a.x <= -1\n")
    check, solution = infeasible.check(), infeasible.solve(check=False)
    assert solution.reason == "No point of the sets satisfies constraint c."
    assert solution.json["conflict"] == {"constraints": ["c"], "sets_of": []}
    card = read(check)
    assert check.reason in card.text and "fails" in card.cells and notebook.RED in card.source
    assert "problem:2:15" in card.text
    assert "No point seems to satisfy all constraints" in read(solution).text
    assert solution.reason in read(solution).text


# ---- what must not raise ----


def test_a_closed_problem_and_its_results_still_have_cards(homes_text, homes_data):
    with tacit.Problem(text=homes_text, data=homes_data) as problem:
        results = [problem.run(rounds=50, seed=1), problem.run(rounds=50, seeds=2), problem.solve(), problem.plan()]
        results += [problem.check(), problem.sweep(epsilons=[1], seeds=1, rounds=20), problem.split()]
    assert "closed" in read(problem).text
    for result in results:
        read(result)


def test_interrupted_results_have_cards(homes):
    calls = [
        lambda: homes.run(rounds=10**9, no_reference=True, seed=1),
        lambda: homes.run(rounds=10**9, no_reference=True, seeds=3),
        lambda: homes.sweep(epsilons=[1, 2], seeds=2, rounds=10**9, no_reference=True),
    ]
    for call in calls:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt) as caught:
            call()
        card = read(caught.value.result)
        assert "nterrupted" in card.text and notebook.RED in card.source


def test_an_empty_run_and_a_plan_that_cannot_be_made_have_cards(paper):
    class NoRun(tacit.Run):
        runs, reason, interrupted, warnings, json = [], "the budget <is> spent", False, [], {"points": []}

        def __init__(self):
            pass

    class NoSweep(NoRun, tacit.Sweep):
        points = []

    class NoPlan(tacit.Plan):
        _facts = tacit.facts.Facts(problem="no lattice & no plan", headline=None, is_private=False, observers=0)

        def __init__(self):
            pass

    assert "There was no run: the budget <is> spent" in read(NoRun()).text
    assert "No plan: no lattice & no plan" in read(NoPlan()).text
    assert "Nothing was swept" in read(notebook._sweep(NoSweep())).text


def test_a_result_of_another_kind_has_its_text(tmp_path, paper):
    trace = tmp_path / "t.trace"
    paper.run(rounds=50, seed=1).write_trace(trace)
    card = read(tacit.report(trace, tmp_path / "page.html"))
    assert "pre" in card.tags


# ---- names from users ----

HOSTILE = ["<script>alert(1)</script>", "x onmouseover=alert(1)", "</td></table>&amp;", "é" * 30]


def hostile_problem(names):
    data = {"homes": {"name": names, "wish": np.ones((4, 2)), "need": np.ones(4)}}
    return tacit.Problem("<img src=x onerror=alert(1)>.tacit", text=HOMES, data=data)


def test_names_of_agents_and_files_are_escaped():
    for names in (HOSTILE, HOSTILE[::-1]):
        problem = hostile_problem(names)
        assert "<img src=x onerror=alert(1)>.tacit" in read(problem).text
        for result in (problem.plan(), problem.run(rounds=50, seed=1), problem.solve(), problem.split()):
            read(result)
    assert "&lt;script&gt;" in hostile_problem(HOSTILE).plan()._repr_html_()


def test_every_text_is_escaped():
    for text in (*HOSTILE, "\x00\x1b[31m", "'\"", "\u202e"):
        escaped = notebook._text(text)
        assert not set("<>\"'\x00\x1b\u202e") & set(escaped)
    assert notebook._text("a" * 100, 20) == "a" * 9 + "…" + "a" * 10 and len(notebook._text("ab" * 50, 20)) == 20


# ---- looks ----


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_colours_stand_out_on_light_and_dark_paper():
    for colour in (notebook.GREEN, notebook.RED, notebook.BLUE):
        for paper_colour in ("#ffffff", "#111111", "#1e1e1e", "#212121"):
            light, dark = sorted((luminance(colour), luminance(paper_colour)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 3, (colour, paper_colour)


def test_text_takes_the_colour_of_the_notebook(paper):
    for value in (paper, paper.plan(), paper.solve(), paper.run(rounds=50, seed=1)):
        source = value._repr_html_()
        assert set(re.findall(r"[;\"]color:([^;\"]+)", source)) == {"inherit"}
        assert "<style" not in source and "<script" not in source and "http" not in source


def test_numbers_are_written_as_in_the_report():
    numbers = {0: "0", 5000: "5,000", -0.5: "\N{MINUS SIGN}0.5000", 1234.56: "1,235", 1e-7: "1.000e\N{MINUS SIGN}7"}
    for value, text in numbers.items():
        assert notebook._number(value) == text
    assert notebook._number(None) == notebook._number(float("nan")) == "\N{EN DASH}"
    assert notebook._number(float("inf")) == "no bound"


def test_ipython_shows_the_card(paper):
    pytest.importorskip("IPython")
    from IPython.core.formatters import DisplayFormatter

    data, _ = DisplayFormatter().format(paper)
    assert data["text/html"] == paper._repr_html_() and data["text/plain"] == repr(paper)
