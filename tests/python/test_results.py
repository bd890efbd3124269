"""Results have the numbers of the command, as arrays and frames."""
# labels: not-clang
import inspect
import json
import math
import re
import warnings

import numpy as np
import pytest

import tacit
from tacit import call

pytestmark = pytest.mark.filterwarnings("ignore::tacit.TacitWarning")


@pytest.fixture
def paper(examples):
    return tacit.Problem(examples / "paper.tacit")


def test_a_solution_is_that_of_the_command(examples, paper, command):
    printed, solution = command("solve", examples / "paper.tacit"), paper.solve()
    assert solution.json == printed
    assert solution.mu.tolist() == printed["mu"]
    assert {name: x.tolist() for name, x in solution.x.items()} == printed["x"]
    assert (solution.objective, solution.residual) == (printed["objective"], printed["residual"])
    assert (solution.norm_x, solution.norm_mu) == (printed["norm_x"], printed["norm_mu"])
    assert solution.holds and solution and solution.is_convex and solution.outcome == "solved"


def test_checked_facts_are_those_of_the_command(examples, paper, command):
    printed, checked = command("check", examples / "paper.tacit"), paper.check()
    assert checked.json == printed
    assert checked.lipschitz.l1.upper == printed["lipschitz"]["g"]["l1"]["upper"]
    assert checked.assumptions == {name: "holds" for name in ("objectives", "sets", "constraints", "slater")}
    assert len(checked.agents) == 10 and checked.agents[0].jacobian_1.upper == 4
    assert checked.dual_radius == pytest.approx(466.7) and checked.slater_margin == 10


def test_a_plan_is_that_of_the_command(examples, command):
    options = ["--epsilon", 2, "--delta", "1e-5", "--rounds", 300, "--adjacency", "one:0.5", "--margin", "0.1"]
    printed = command("plan", examples / "ev.tacit", *options, "--coalition", "home[1],home[2]")
    plan = tacit.Problem(examples / "ev.tacit").plan(
        epsilon=2, delta=1e-5, rounds=300, adjacency="one:0.5", margin=0.1, coalition="home[1],home[2]"
    )
    assert plan.json == printed
    assert plan.private is True and plan.hash == printed["hash"] and plan.facts.rounds == 300
    assert [(one.who, one.epsilon, one.delta) for one in plan.observers] == [
        (one["who"], one["epsilon"], one["delta"]) for one in printed["observers"]
    ]
    assert [one.scale for one in plan.channels] == [one["scale"] for one in printed["systems"]]
    assert plan.certificate()["hash"] == plan.hash


def test_a_run_is_that_of_the_command(examples, paper, command):
    printed, run = command("run", examples / "paper.tacit", "--rounds", 700, "--seed", 5), paper.run(rounds=700, seed=5)
    assert run.mu.tolist() == printed["mu"]
    assert {name: x.tolist() for name, x in run.x.items()} == printed["x"]
    assert dict(run.final) == printed["final"] and run.final.x_error == run.final["x_error"]
    kept = dict(zip(run.trace.k.tolist(), run.trace.x_error.tolist()))
    for row in printed["checkpoints"]:
        assert row["k"] not in kept or kept[row["k"]] == row["x_error"]
    assert run.outcome == "done" and run.rounds == 700 and run.runs[0].seed == 5


def test_many_seeds_are_those_of_the_command(examples, paper, command):
    options = ["--rounds", 400, "--seed", 3, "--seeds", 5, "--states"]
    printed = command("run", examples / "paper.tacit", *options)
    run = paper.run(rounds=400, seed=3, seeds=5, states=True)
    assert dict(run.summary.x_error) == printed["summary"]["x_error"]
    assert run.final.x_error == printed["final"]["x_error"]
    assert [one.seed for one in run.runs] == [3, 4, 5, 6, 7]
    for one, other in zip(run.runs, printed["runs"]):
        assert {name: x.tolist() for name, x in one.x.items()} == other["x"]
    errors = np.array([one.final.x_error for one in run.runs])
    assert run.summary.x_error.median == pytest.approx(np.median(errors), abs=1e-15)


def test_what_runs_are_compared_with_is_that_of_the_command(examples, command):
    problem = tacit.Problem(examples / "dispatch.tacit")
    printed, run = command("run", examples / "dispatch.tacit", "--rounds", "200", "--seed", "3"), problem.run(rounds=200, seed=3)
    for name in ("baseline", "slater_baseline", "noise_free"):
        facts = getattr(run, name)
        for key in ("x_error", "objective", "max_violation"):
            assert facts[key] == printed[name][key]
    assert run.noise_free.mu_error == printed["noise_free"]["mu_error"]
    assert run.noise_free.converged is printed["converged"] is False
    assert (run.baseline.worst, run.slater_baseline.worst) == ("balance", None)
    assert (run.verdict, run.no_better_than_nothing) == (printed["verdict"], printed["no_better_than_nothing"])
    assert run.feasibility == printed["feasibility"]["sentence"]
    assert run.true_feasibility == printed["true_feasibility"]
    assert "off by" in run.true_feasibility
    frame = run.compare()
    assert list(frame.index) == ["result", "noise_free", "zero_prices", "slater_point"]
    assert frame.loc["zero_prices", "max_violation"] == run.baseline.max_violation
    bare = problem.run(rounds=20, seed=3, no_reference=True)
    assert (bare.baseline, bare.noise_free, bare.verdict, bare.no_better_than_nothing) == (None, None, None, None)
    swept = problem.sweep(rounds=200, seeds=2, epsilons=[1e-4, 1])
    assert [point.no_better_than_nothing for point in swept.points] == [True, False]
    assert swept.baseline == run.baseline
    assert "privacy_is_free" in swept.frame().columns
    lost = problem.run(rounds=200, seed=3, epsilon=1e-4)
    assert lost.no_better_than_nothing is True and lost.verdict in lost.warnings


def test_states_that_were_not_kept_say_how_to_keep_them(paper):
    run = paper.run(rounds=300, seeds=3)
    assert run.x["a1"].shape == (2,)
    with pytest.raises(tacit.Error, match="states=True"):
        run.runs[1].x["a1"]
    with pytest.raises(tacit.Error, match="row_states=True"):
        run.trace.x


def test_states_of_every_round_end_at_the_result(homes_text, homes_data):
    run = tacit.Problem(text=homes_text, data=homes_data).run(seed=1, row_states=True)
    x = run.trace.x["home"]
    assert x.shape == (len(run.trace), 3, 2)
    assert np.array_equal(x[-1], run.x["home"])
    assert np.allclose(run.trace.g, x.sum(axis=1) - 6, atol=1e-12)


def test_every_round_can_be_kept(paper):
    run = paper.run(rounds=250, seed=1, rows_per_decade=-1)
    assert run.trace.k.tolist() == list(range(251))
    assert run.trace.mu.shape == (251, 6) and np.array_equal(run.trace.mu[-1], run.mu)


def test_a_sweep_is_that_of_the_command(examples, paper, command):
    options = ["--rounds", 300, "--seeds", 4, "--epsilons", "0.5,1,2"]
    printed = command("sweep", examples / "paper.tacit", *options)
    sweep = paper.sweep(rounds=300, seeds=4, epsilons=[0.5, 1, 2])
    assert [one.x_error for one in sweep.points] == [one["x_error"] for one in printed["points"]]
    assert [one.penalty for one in sweep.points] == [one["penalty"] for one in printed["points"]]
    assert sweep.slope == pytest.approx(printed["slope"]) and len(sweep.runs) == 12
    assert sorted({one.epsilon for one in sweep.runs}) == [0.5, 1, 2]
    grid = paper.sweep(rounds=300, seeds=2, start=1, stop=4, points=3)
    assert [one.epsilon for one in grid.points] == pytest.approx([1, 2, 4])


def test_multipliers_have_the_names_of_their_constraints(homes_text, homes_data):
    problem = tacit.Problem(text=homes_text + "constraint both: sum(home: p[1] + p[2]) <= 11", data=homes_data)
    solution, run = problem.solve(), problem.run(rounds=50, seed=1)
    assert problem.constraints == ("line[1]", "line[2]", "both")
    for mu in (solution.mu, run.mu, run.runs[0].mu, run.feasible.bounds):
        assert mu["line"].tolist() == mu[:2].tolist() and mu["line[2]"] == mu[1] and mu["both"] == mu[2] == mu[-1]
        assert isinstance(mu, np.ndarray) and type(mu["line"]) is type(mu[:2]) is np.ndarray
        assert type(mu["both"]) is type(mu[2]) is np.float64 and repr(mu).startswith("array([")
        with pytest.raises(KeyError, match="there is no constraint 'lien'; did you mean 'line'"):
            mu["lien"]
        with pytest.raises(KeyError, match="has no names"):  # it may be in another order
            np.sort(mu)["line"]
    trace = run.trace
    assert trace.mu["line"].shape == (len(trace), 2) and trace.g["both"].tolist() == trace.g[:, 2].tolist()


INFEASIBLE = "agent a { state x in [1, 2]; private minimize x }\nconstraint c: a.x <= 0\n"
NONCONVEX = "agent a { state x in [0, 2]; private minimize -x^2 }\nconstraint c: a.x <= 1\n"


@pytest.mark.parametrize(("text", "why"), [(INFEASIBLE, "No point of the sets satisfies"), (NONCONVEX, "not proved")])
def test_a_solution_that_is_none_raises(text, why):
    problem = tacit.Problem(text=text)
    with pytest.raises(tacit.ProblemError, match=f"(?s){why}.*check=False") as caught:
        problem.solve()
    shown = problem.solve(check=False)
    assert caught.value.result.x["a"].tolist() == shown.x["a"].tolist()
    m = tacit.Model()
    a = m.agent("a")
    x = a.state("x", lower=1, upper=2)
    a.minimize(x)
    m.constraint("c", x <= 0)
    with pytest.raises(tacit.ProblemError):
        m.solve()
    assert not m.solve(check=False).holds


def test_bound_and_audit_are_those_of_the_command(examples, paper, command):
    printed, bound = command("bound", examples / "paper.tacit"), paper.bound()
    assert bound.facts.radius == printed["estimate"]["radius"] and bound.says_something is not printed["vacuous"]
    options = ["--samples", 2000, "--seed", 1]
    printed = command("audit", examples / "num.tacit", *options)
    audit = tacit.Problem(examples / "num.tacit").audit(samples=2000, seed=1)
    assert audit.verdict == printed["verdict"] and audit.refuted is printed["refuted"]
    assert [one.lower_bound for one in audit.systems] == [one["lower_bound"] for one in printed["systems"]]
    assert [one.name for one in audit.points] == [one["name"] for one in printed["points"]] and audit.faults == []


def test_split_gives_the_files_that_the_command_writes(examples, tmp_path, command):
    parts = tacit.Problem(examples / "num.tacit").split().parts
    command("split", examples / "num.tacit", "-o", tmp_path / "a")
    written = {str(path.relative_to(tmp_path / "a")): path.read_text() for path in (tmp_path / "a").rglob("*.*") if path.is_file()}
    assert parts == written
    tacit.Problem(examples / "num.tacit").split(tmp_path / "b")
    assert (tmp_path / "b" / "cloud.tacit").read_text() == parts["cloud.tacit"]
    with pytest.raises(tacit.Error):
        tacit.Problem(examples / "num.tacit").split(tmp_path / "b")
    tacit.Problem(examples / "num.tacit").split(tmp_path / "b", replace=True)


def test_frames_have_names_and_numbers(paper, homes_text, homes_data):
    pandas = pytest.importorskip("pandas")
    run = paper.run(rounds=300, seeds=2)
    frame = run.frame()
    assert list(frame.columns) == ["seed", "k", "x_error", "mu_error", "objective", "max_violation"]
    last = frame[frame.k == 300].set_index("seed").x_error
    assert last.tolist() == [one.final.x_error for one in run.runs]
    assert list(paper.run(rounds=300, seed=1).frame().columns)[0] == "k"
    solution = tacit.Problem(text=homes_text, data=homes_data).solve()
    assert list(solution.x.frame("home").columns) == ["p[1]", "p[2]"]
    assert list(solution.x.frame("home").index) == ["home[1]", "home[2]", "home[3]"]
    assert solution.frame()["line[1]"] == solution.mu[0]
    sweep = paper.sweep(rounds=300, seeds=3, epsilons=[1, 2])
    assert isinstance(sweep.frame(), pandas.DataFrame) and sweep.frame().x_error_q90.notna().all()
    assert list(paper.plan().frame().columns) == ["who", "about", "epsilon", "delta"]


def test_a_missing_optional_package_is_named(paper, monkeypatch):
    run = paper.run(rounds=300, seed=1)
    for package, use in (("pandas", run.frame), ("matplotlib", run.plot)):
        with monkeypatch.context() as patch:
            for name in (package, f"{package}.pyplot"):
                patch.setitem(__import__("sys").modules, name, None)
            with pytest.raises(ImportError, match=f"needs {package}, which is not installed: apt install python3-{package}"):
                use()


def test_traces_and_pages_are_written(paper, tmp_path):
    run = paper.run(rounds=300, seed=1)
    run.write_trace(tmp_path / "run.csv", command="repeat me")
    run.write_report(tmp_path / "run.html")
    assert "<html" in (tmp_path / "run.html").read_text()
    tacit.report([tmp_path / "run.csv"], tmp_path / "both.html", title="A & B")
    assert "A &amp; B" in (tmp_path / "both.html").read_text()
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(tacit.Error):
        run.write_trace(tmp_path / "mine.txt")
    with pytest.raises(tacit.Error):
        run.write_report(tmp_path / "nowhere" / "run.html")
    assert (tmp_path / "mine.txt").read_text() == "keep"


def test_private_runs_are_entered_in_a_ledger(homes_text, homes_data, tmp_path):
    problem = tacit.Problem(text=homes_text, data=homes_data)
    book = tmp_path / "spent"
    assert tacit.ledger(book).entries == []
    assert problem.run(ledger=book).outcome == "done"
    entries = tacit.ledger(book).entries
    assert len(entries) == 1 and entries[0].epsilon == pytest.approx(1)
    refused = problem.run(ledger=book, budget=1.5)
    assert not refused.holds and "budget" in refused.reason and refused.runs == []
    with pytest.raises(tacit.Error, match="there was no run"):
        refused.x
    assert problem.run(ledger=book, budget=(2.5, 1e-6)).holds
    assert len(tacit.ledger(book).frame()) == 2


def test_a_plan_that_cannot_be_made_is_an_outcome_not_an_error():
    text = "agent a { state x in [0, 1]; private minimize x }\nconstraint c: a.x <= 0.5"
    plan = tacit.Problem(text=text).plan(mechanism="laplace", epsilon=1, adjacency="one:1", rounds=10)
    assert not plan.private and not plan
    assert plan.reason


def test_options_that_the_library_refuses_are_usage_errors(paper):
    for wrong in (
        {"mechanism": "cauchy"},
        {"epsilon": -1},
        {"adjacency": "two:1"},
        {"delta": 7, "mechanism": "gaussian"},
        {"rounds": 0},
        {"margin": "wide"},
    ):
        with pytest.raises(tacit.UsageError):
            paper.plan(**wrong)


@pytest.mark.parametrize(
    ("wrong", "kind", "text"),
    [
        ({"epsilom": 1}, TypeError, "did you mean 'epsilon'"),
        ({"epsilon": "1"}, TypeError, "epsilon is a number"),
        ({"epsilon": math.nan}, ValueError, "epsilon is NaN"),
        ({"seed": 1.5}, TypeError, "seed is a whole number"),
        ({"seed": -1}, ValueError, "seed"),
        ({"seed": True}, TypeError, "seed"),
        ({"threads": 0}, ValueError, "threads"),
        ({"mechanism": 3}, TypeError, "mechanism is a text"),
        ({"mechanism": "a\0b"}, ValueError, "zero byte"),
        ({"budget": "much"}, ValueError, "budget"),
        ({"budget": "nan"}, ValueError, "budget"),
        ({"budget": ("nan",)}, ValueError, "budget"),
        ({"budget": math.nan}, ValueError, "budget is NaN"),
        ({"budget": (4, 1e-6, 2)}, ValueError, "budget"),
        ({"coalition": [1]}, TypeError, "coalition"),
        ({"coalition": ["a1", "a2"]}, ValueError, "two agents or more in one text"),
        ({"adjacency": True}, TypeError, "adjacency is 'one:0.5'"),
        ({"margin": ("auto", 2)}, TypeError, "margin is a number, 'auto'"),
        ({"epsilon": np.True_}, TypeError, "epsilon is a number"),
        ({"tolerance": 0}, ValueError, "tolerance"),
    ],
)
def test_wrong_keywords_are_named(paper, wrong, kind, text):
    with pytest.raises(kind, match=text):
        paper.plan(**wrong)
    with pytest.raises(kind, match=text):
        paper.run(**wrong)


def test_all_that_is_missing_is_named_at_once():
    text = "agent a { state x in [0, 1]; private minimize (x - 1)^2 }\nconstraint c: a.x <= 0.5\n"
    with pytest.raises(tacit.Error) as caught:
        tacit.Problem(text=text).run()
    lines = str(caught.value).splitlines()
    assert lines[0] == "3 things are missing:"
    assert lines[1].endswith("or rounds=1000")
    assert "epsilon=1 and" in lines[2] and "adjacency='one:1'" in lines[2]
    assert "dual radius R" in lines[3]


def test_keywords_that_would_change_nothing_are_refused(paper):
    with pytest.raises(tacit.Error, match="delta= would change nothing: Laplace noise keeps epsilon"):
        paper.run(mechanism="laplace", delta=1e-6)
    with pytest.raises(tacit.Error, match="c1= would change nothing: method tacit sets its steps itself"):
        paper.run(c1=0.3)


def test_zero_does_not_mean_the_default(paper):
    for wrong in ({"seeds": 0}, {"points": 0}):
        with pytest.raises(ValueError, match="at least 1"):
            paper.sweep(**wrong)
    for wrong in ({"samples": 0}, {"seconds": 0}, {"confidence": 0}):
        with pytest.raises(ValueError):
            paper.audit(**wrong)
    with pytest.raises(ValueError, match="rows_per_decade"):
        paper.run(rows_per_decade=0)


def test_states_cannot_be_changed_by_accident(paper):
    x = paper.solve().x
    with pytest.raises(ValueError, match="read-only"):
        x["a1"][:] = 99
    mine = x["a1"].copy()
    mine[:] = 99
    assert x["a1"].max() < 99


def test_messages_have_the_words_of_python():
    text = "agent a { state x in [0, 1]; private minimize x }\nconstraint c: a.x <= 0.5\ndual radius 3"
    with pytest.raises(tacit.UsageError) as caught:
        tacit.Problem(text=text).plan()
    assert "--" not in str(caught.value) and "epsilon=" in str(caught.value)


def said_by(call):
    """All that a call says in words: its error, or its warnings, reason and facts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tacit.TacitWarning)
        try:
            result = call()
        except tacit.Error as error:
            return str(error)
        texts = [*result.warnings, result.reason, getattr(result, "impossible", None)]
        return "\n".join(text for text in texts if text)


def test_a_model_is_told_what_to_call_and_a_text_what_to_write():
    def model(objective):
        m = tacit.Model()
        a = m.agent("a")
        x = a.state("x", lower=0, upper=2)
        a.minimize(objective(x))
        m.constraint("c", x <= 1)
        return m

    for objective in (lambda x: (x - 2) ** 2, lambda x: -(x**2)):
        m = model(objective)
        text = tacit.Problem(text=str(m))
        wishes = {"rounds": 100, "epsilon": 1, "adjacency": "one:1"}
        for name, options in (
            ("run", {}), ("run", wishes), ("plan", wishes), ("plan", {**wishes, "mechanism": "gaussian"}), ("bound", {}),
            ("run", {**wishes, "delta": 1e-6, "feasible": "always"}), ("solve", {}), ("sweep", {"rounds": 10}),
        ):  # fmt: skip
            said = said_by(lambda: getattr(m, name)(**options))
            assert not re.search(r"'(dual radius|slater|gap|delta|rounds|schedule|privacy)\b|to the file|tacit [a-z]+\b FILE|`|--", said), said
            assert "in the file" not in said and "check() problem" not in said and "tacit run" not in said
            written = said_by(lambda: getattr(text, name)(**options))
            assert ("dual_radius(R)" in said) == ("'dual radius R'" in written)
            assert ("dual_radius(R)" not in written) and "check() problem" not in written
    assert "pass rounds=1000" in said_by(lambda: model(lambda x: x**2).run())
    assert call.in_python("`tacit check a b.tacit --method published` says where") == "check(method='published') says where"


def test_a_run_that_was_refused_warns(homes_text, homes_data, tmp_path):
    problem = tacit.Problem(text=homes_text, data=homes_data)
    with pytest.warns(tacit.TacitWarning, match="nothing was run: .*budget"):
        problem.run(ledger=tmp_path / "spent", budget=0.5)


def test_warnings_that_are_errors_do_not_lose_a_run(paper):
    with warnings.catch_warnings():
        warnings.simplefilter("error", tacit.TacitWarning)
        with pytest.raises(tacit.TacitWarning, match="too few") as caught:
            paper.run(rounds=50, seed=1)
    assert caught.value.result.rounds == 50


def test_an_unknown_keyword_lists_all_there_are(paper):
    with pytest.raises(TypeError, match="seeds, no_reference, states, rows_per_decade, row_states, mechanism"):
        paper.run(zzz=1)
    with pytest.raises(TypeError, match="no keyword 'eps'; did you mean 'epsilon'"):
        paper.run(eps=1)
    assert paper.plan(adjacency=("one", 1)).hash == paper.plan(adjacency="one:1").hash == paper.plan(adjacency="one 1").hash


def test_numpy_numbers_are_numbers(paper):
    plan = paper.plan(epsilon=np.float32(0.5), rounds=np.int64(300), seed=np.uint8(3))
    assert plan.facts.epsilon == 0.5 and plan.facts.rounds == 300


def test_help_names_every_keyword(paper):
    for function in (paper.plan, paper.run, paper.sweep, paper.bound, paper.audit):
        assert {"mechanism", "epsilon", "seed", "progress"} <= set(inspect.signature(function).parameters)
        assert "epsilon, delta: the price" in function.__doc__ and ">>>" in function.__doc__


def test_what_the_library_warns_of_is_a_warning_of_the_callers_line(paper):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = paper.run(rounds=50, seed=1)
    assert any("too few" in str(one.message) for one in caught)
    assert all(one.filename == __file__ and one.category is tacit.TacitWarning for one in caught)
    assert any("too few" in line for line in run.warnings)


def test_unknown_agents_and_facts_are_named(paper):
    with pytest.raises(KeyError, match="no agent or family 'a99'"):
        paper.solve().x["a99"]
    with pytest.raises(AttributeError, match="there are: k, x_error"):
        paper.run(rounds=300, seed=1).final.y_error


def test_text_and_json_are_what_the_command_prints(paper):
    plan = paper.plan()
    assert json.loads(plan.json_text) == plan.json and "Plan" in plan.text and str(plan) == plan.text.rstrip()


def test_advice_is_that_of_the_command(examples, command):
    problem = tacit.Problem(examples / "num.tacit")
    advice = problem.advise(doubt=0.5, constraint="link[3]", rounds=2000)
    assert advice.json == command("advise", examples / "num.tacit", "--doubt", "0.5", "--constraint", "link[3]",
                                  "--rounds", "2000")
    assert advice and advice.reaches and advice.recommendation == advice.json["recommendation"]
    assert advice.facts.epsilon == advice.json["recommended"]["epsilon"] and advice.facts.constraint == "link[3]"
    assert [row.doubt for row in advice.constraints] == [row["doubt"] for row in advice.json["constraints"]]
    assert [point.doubt for point in advice.table] == [point["doubt"] for point in advice.json["table"]]
    assert list(advice.frame().columns)[:3] == ["adjacency", "mechanism", "epsilon"]
    assert [point.norm for point in advice.table] == [point["norm"] for point in advice.json["table"]]
    assert advice.facts.norm == advice.json["recommended"]["norm"] in ("total", "root-sum-square")
    assert not problem.advise(doubt="1e-9%", rounds=2000)
    with pytest.raises(tacit.UsageError, match="tolerable doubt"):
        problem.advise(doubt="much")


def test_a_unit_is_said_with_its_norm_and_with_what_persists(examples):
    problem = tacit.Problem(examples / "num.tacit")
    for law, norm, each in (("laplace", "total", 1 / 500), ("gaussian", "root-sum-square", 1 / 500**0.5)):
        delta = {"delta": 1e-6} if law == "gaussian" else {}
        plan = problem.plan(mechanism=law, epsilon=1, adjacency="one:1", rounds=500, **delta)
        assert plan.facts.norm == norm and abs(plan.facts.hidden_every_round - each) < 1e-12
        assert f"unit one:1 in {norm}, epsilon 1" in repr(plan)
    facts = tacit.Problem(examples / "ev.tacit").plan(adjacency="agent").facts
    assert facts.norm is None and facts.hidden_every_round != facts.hidden_every_round


def test_the_doubts_of_a_plan_are_those_of_the_command(examples, command):
    plan, printed = tacit.Problem(examples / "dispatch.tacit").plan(), command("plan", examples / "dispatch.tacit")
    for row, said in zip(plan.constraints, printed["constraints"], strict=True):
        assert (row.name, row.limit, row.doubt, row.is_useless) == (
            said["name"], said["limit"], said["doubt"], said["useless"])  # fmt: skip
        assert row.is_unreached is not said["reached"]
        for shown, of in ((row.missing, said["missing"]), (row.rounds_needed, said["rounds_needed"])):
            assert shown == of or of is None and not math.isfinite(shown)


def test_a_plot_of_advice_has_a_line_for_each_way(examples):
    pytest.importorskip("matplotlib")
    advice = tacit.Problem(examples / "ev.tacit").advise(rounds=500, adjacency="agent")
    ax = advice.plot()
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {
        "agent, laplace", "agent, gaussian", "one:7.4 in root-sum-square, gaussian", "tolerable"}  # fmt: skip
    assert ax.get_xscale() == ax.get_yscale() == "log"
