"""Agents in Python on a real cloud: their results, their exceptions, and how else a run ends."""
# labels: not-clang
import asyncio
import gc
import importlib.util
import json
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from agents import cloud, make_cloud  # noqa: F401  fixtures
from agents import (
    PATIENCE,
    PROBLEM,
    ROUNDS,
    SEED,
    Broken,
    Others,
    agent_a,
    agent_b,
    agent_c,
    all_at_once,
    assert_right,
    at,
    failing_in,
    nearest,
    proximal_b,
)
from conftest import ROOT

import tacit
from tacit._binding import ffi, lib
from tacit.agent import Agent, AgentCondition, AgentError, run_agents, run_agents_async

# ---- a run to its end ----


def test_functions_give_what_a_run_in_one_process_gives(cloud):
    results = asyncio.run(all_at_once(cloud, agent_a(), agent_b(), agent_c()))
    summary = cloud.finish()
    assert_right(cloud, *results)
    for result in results:
        assert (result.condition, result.rounds, result.first_round, result.outside) == ("done", ROUNDS, 1, 0)
        assert result.run == summary["run"]
        assert result.message == "done" and not result.was_over
        assert result.x.flags.owndata and result.x.dtype == np.float64


def test_proximal_alone_begins_at_its_own_point_and_comes_to_the_same_end(make_cloud):
    cloud = make_cloud("--insecure-no-noise", options=["--mechanism", "none", "--rounds", 400], seed=None)
    first = []
    with Others(cloud, agent_a(), agent_c()):
        moved = {"moved": lambda _k, y: first.append(y)}
        result = agent_b(project=None, start=1.5).run(**at(cloud, **moved))
    assert first[0] == proximal_b([0], 1, 0, [1.5])
    solution = tacit.Problem(text=PROBLEM).solve().x["b"]
    np.testing.assert_allclose(result.x, solution, atol=0.02)


def test_the_published_method_takes_gradient_and_project(make_cloud):
    cloud = make_cloud(options=["--method", "published"])
    with Others(cloud, agent_a(), agent_b(gradient=lambda y: 2 * (y - 3))):
        assert_right(cloud, agent_c().run(**at(cloud)))


def test_proximal_alone_is_refused_where_the_method_is_published(make_cloud):
    cloud = make_cloud(options=["--method", "published"])
    full = agent_b(gradient=lambda y: 2 * (y - 3))
    with Others(cloud, agent_a(), agent_c()):
        with pytest.raises(tacit.UsageError, match="agent b has no gradient, .* `published`"):
            agent_b(project=None).run(**at(cloud))
        assert full.run(**at(cloud)).condition == "done"


def test_files_have_the_bits_of_a_run_in_one_process_over_tls(make_cloud):
    cloud = make_cloud(tls=True)
    agents = [Agent.from_file(cloud.names[name]) for name in "abc"]
    with ThreadPoolExecutor() as pool:
        runs = [pool.submit(one.run, **at(cloud, keys=cloud.key_folders[one.name])) for one in agents]
        results = [run.result(PATIENCE) for run in runs]
    assert {result.name: list(result.x) for result in results} == cloud.in_process(seed=SEED)["x"]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_gateway_has_several_agents_on_one_connection(make_cloud, is_async):
    cloud = make_cloud(tls=True, issue=False)
    keys, seen = cloud.issue(["a", "b", "c"], together="site"), []
    options = at(cloud, keys=keys, moved=lambda agent, round_, x: seen.append((agent.name, round_, x)))
    agents = [agent_c(), agent_a(), agent_b()]
    results = asyncio.run(run_agents_async(agents, **options)) if is_async else run_agents(agents, **options)
    assert [result.name for result in results] == ["c", "a", "b"]
    assert_right(cloud, *results)
    for agent in agents:
        mine = [(round_, x) for name, round_, x in seen if name == agent.name]
        assert [round_ for round_, _ in mine] == list(range(1, ROUNDS + 2))
        assert all(x.shape == (agent.states,) for _, x in mine)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_cloud_at_its_second_address_is_found(cloud, is_async):
    options = at(cloud) | {"cloud": f"127.0.0.1:9,127.0.0.1:{cloud.port}"}  # nobody is at the first
    agents = [agent_a(), agent_b(), agent_c()]
    assert_right(cloud, *(asyncio.run(run_agents_async(agents, **options)) if is_async else run_agents(agents, **options)))


def test_a_gateway_of_files_and_one_of_both_kinds(cloud):
    files = [Agent.from_file(cloud.names[name]) for name in "ab"]
    with pytest.raises(tacit.UsageError, match="not both"):
        run_agents([*files, agent_c()], **at(cloud))
    with Others(cloud, agent_c()):
        assert_right(cloud, *run_agents(files, **at(cloud, "files")))


def test_an_agent_whose_run_is_over_has_its_old_result_and_joins_another_when_told(make_cloud):
    cloud = make_cloud()
    first = asyncio.run(all_at_once(cloud, agent_a(), agent_b(), agent_c()))
    cloud.finish()
    again = agent_a().run(**at(cloud))
    assert again.was_over and again.x == first[0].x and "new_run=True takes part in another" in again.message
    cloud.start_cloud("--new-run", seed=SEED, trace=False)
    results = asyncio.run(all_at_once(cloud, agent_a(), agent_b(), agent_c(), new_run=True))
    assert_right(cloud, *results)
    assert results[0].run != first[0].run and not results[0].was_over


def test_a_file_that_changes_in_a_run_is_used_from_the_next_one_on(cloud):
    path = cloud.names["a"]

    def stop(round_, x):
        if round_ == 4:
            raise ValueError("enough")

    with Others(cloud, agent_b(), agent_c()):
        with pytest.raises(ValueError, match="enough"):
            Agent.from_file(path).run(**at(cloud, moved=stop))
        path.write_text(path.read_text().replace("minimize", "minimize 5 *"))
        with pytest.warns(match="agent a: .* the change is used from the next run on"):
            result = Agent.from_file(path).run(**at(cloud))
    assert result.file_changed
    assert list(result.x) == cloud.in_process(seed=SEED)["x"]["a"]


# ---- exceptions ----


@pytest.mark.parametrize("error", [Broken("of mine"), KeyboardInterrupt(), SystemExit(3)], ids=repr)
def test_an_exception_in_a_function_comes_out_as_itself_and_the_agent_goes_on_later(cloud, error):
    agent = agent_a(gradient=failing_in(30, error))
    with Others(cloud, agent_b(), agent_c()):
        with pytest.raises(type(error)) as caught:
            agent.run(**at(cloud))
        assert caught.value is error
        assert caught.traceback[-1].name == "gradient"
        result = agent.run(**at(cloud))
    assert_right(cloud, result)
    assert result.first_round == 1


def test_an_exception_comes_out_of_a_coroutine_and_of_moved(cloud):
    def moved(round_, _x):
        if round_ == 7:
            raise Broken

    async def work():
        others = [asyncio.ensure_future(one.run_async(**at(cloud))) for one in (agent_b(), agent_c())]
        with pytest.raises(Broken):
            await agent_a(gradient=failing_in(20, Broken())).run_async(**at(cloud))
        with pytest.raises(Broken):
            await agent_a().run_async(**at(cloud, moved=moved))
        return [await agent_a().run_async(**at(cloud)), *await asyncio.gather(*others)]

    assert_right(cloud, *asyncio.run(work()))


def test_an_exception_of_one_agent_ends_its_gateway_and_a_later_call_goes_on(cloud):
    agents = [agent_a(gradient=failing_in(30, Broken())), agent_b()]
    with Others(cloud, agent_c()):
        with pytest.raises(Broken):
            run_agents(agents, **at(cloud, "gateway"))
        assert_right(cloud, *run_agents(agents, **at(cloud, "gateway")))


async def coroutine(_v):
    return [0, 0]


NOT_NUMBERS = [
    (lambda v: None, "is None"),
    (lambda v: v[:1], r"has shape \(1,\); the agent has 2 states"),
    (lambda v: v.reshape(2, 1), r"has shape \(2, 1\)"),
    (lambda v: 1.0, r"has shape \(\)"),
    (lambda v: [], r"has shape \(0,\)"),
    (lambda v: [0, np.nan], r"no value \(NaN\)"),
    (lambda v: v + np.inf, "infinite"),
    (lambda v: ["a", "b"], "holds texts"),
    (lambda v: v + 1j, "complex"),
    (lambda v: [[1], [2, 3]], "no array of numbers"),
    (lambda v: {"a": 1}, "not a number"),
    (lambda v: np.ma.array(v, mask=[True, False]), "masked"),
    (lambda v: [None, 1], "no value"),
    (coroutine, "not a number"),
]


@pytest.mark.filterwarnings("ignore:coroutine")
@pytest.mark.parametrize("wrong, text", NOT_NUMBERS)
def test_what_is_no_array_of_the_states_is_refused_by_name(tmp_path, wrong, text):
    where = {"cloud": "127.0.0.1:9", "state": tmp_path / "state", "insecure_plaintext": True, "timeout": PATIENCE}
    with pytest.raises(tacit.UsageError, match=f"what project of agent c returned .*{text}"):
        agent_c(project=wrong).run(**where)
    proximal = Agent("c", lower=[0, 0], upper=4, proximal=lambda p, step, regularization, previous: wrong(previous))
    with pytest.raises(tacit.UsageError, match=f"what proximal of agent c returned .*{text}"):
        proximal.run(**where)


def test_any_array_that_holds_the_numbers_is_taken(tmp_path):
    good = [1, 2]
    arrays = [np.array(good), np.array(good, ">f8"), np.array(good, np.float32), np.arange(4)[::-2][::-1]]
    for form in [good, tuple(good), *arrays, np.array([[1.0, 9], [2, 9]])[:, 0]]:
        wanted, seen = [float(one) for one in form], []
        agent = Agent("c", lower=[0, 0], upper=4, proximal=lambda *_, form=form: form)
        with pytest.raises(TimeoutError):
            where = {"cloud": "127.0.0.1:9", "state": tmp_path, "insecure_plaintext": True}
            agent.run(**where, timeout=0, moved=lambda _, x: seen.append(list(x)))
        assert seen == [wanted]
        (tmp_path / "c.state").unlink()


def test_a_gradient_of_the_wrong_shape_names_itself_in_the_middle_of_a_run(cloud):
    agent = agent_a(gradient=lambda x: np.zeros(3))
    with Others(cloud, agent_b(), agent_c()):
        with pytest.raises(tacit.UsageError, match="what gradient of agent a returned has shape"):
            agent.run(**at(cloud))
        agent_a().run(**at(cloud))


def test_arrays_may_be_kept_and_changed(cloud):
    kept = []

    def keep(function):
        def call(*arguments):
            result = function(*arguments)
            for one in arguments:
                if isinstance(one, np.ndarray):
                    kept.append((one, one.copy()))
            return result

        return call

    def spoil(v):
        v += 100  # it is the function's own
        return np.clip(v - 100, 0, 4)

    other = agent_c(gradient=keep(agent_c().gradient), project=keep(nearest))
    with Others(cloud, agent_a(project=spoil), other):
        agent = agent_b(proximal=keep(proximal_b))
        result = agent.run(**at(cloud, moved=lambda _k, x: kept.append((x, x.copy()))))
    assert_right(cloud, result)
    gc.collect()
    assert len(kept) > 100 and all(one.flags.owndata for one, _ in kept)
    assert all((one == copy).all() for one, copy in kept)


# ---- other ends ----


def test_a_plan_that_was_not_agreed_to_is_refused(cloud):
    agreed = (cloud.parts / "plan.hash").read_text().strip()
    other = agreed[:-1] + ("0" if agreed[-1] != "0" else "1")
    with pytest.raises(AgentError, match=other) as caught:
        agent_a().run(**at(cloud, plan=other))
    assert caught.value.condition is AgentCondition.REFUSED and caught.value.condition == "refused"
    assert [result.condition for result in caught.value.results] == ["refused"]
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.condition, copy.status) == (str(caught.value), "refused", tacit.Status.BAD_USAGE)
    with pytest.raises(tacit.UsageError, match="64 hexadecimal digits"):
        agent_a().run(**at(cloud, plan="abc"))


def test_where_one_of_a_gateway_is_refused_the_others_have_their_results(cloud):
    stranger = Agent("stranger", lower=0, upper=4, gradient=lambda x: x, project=lambda v: v, slater=True)
    with pytest.raises(AgentError, match="stranger.*split") as caught:
        run_agents([agent_a(), stranger, agent_b(), agent_c()], **at(cloud))
    assert [result.condition for result in caught.value.results] == ["done", "refused", "done", "done"]
    assert_right(cloud, *(result for result in caught.value.results if result.condition == "done"))


def test_a_slater_point_that_was_not_checked_is_said_to_be_that(cloud):
    with pytest.raises(AgentError, match="was not checked: if it does, say Agent\\(..., slater=True\\)"):
        asyncio.run(all_at_once(cloud, agent_a(slater=None), agent_b(), agent_c()))


def test_the_run_waits_for_an_agent_whose_set_does_not_hold_the_slater_point(cloud):
    with pytest.raises(AgentError, match="the run waits for it: correct its set") as caught:
        asyncio.run(all_at_once(cloud, agent_a(slater=False), agent_b(), agent_c()))
    assert caught.value.condition is AgentCondition.NO_SLATER
    assert_right(cloud, *asyncio.run(all_at_once(cloud, agent_a(), agent_b(), agent_c())))


def test_what_cannot_begin_says_why(cloud, tmp_path):
    with pytest.raises(tacit.Error, match="keys"):
        agent_a().run(cloud="127.0.0.1:9", state=tmp_path)
    with pytest.raises(tacit.Error, match="no-such-keys"):
        agent_a().run(cloud="127.0.0.1:9", state=tmp_path, keys=tmp_path / "no-such-keys")
    with pytest.raises(tacit.Error, match="port|address"):
        agent_a().run(cloud="127.0.0.1", state=tmp_path, insecure_plaintext=True)
    with pytest.raises(tacit.Error, match="'127.0.0.1:9' is given twice"):
        agent_a().run(cloud="127.0.0.1:9,127.0.0.1:9", state=tmp_path, insecure_plaintext=True)
    with pytest.raises(TypeError, match="cloud is a text"):
        agent_a().run(cloud=b"127.0.0.1:9", state=tmp_path, insecure_plaintext=True)
    with pytest.raises(tacit.UsageError, match="no agent"):
        run_agents([], cloud="127.0.0.1:9", state=tmp_path, insecure_plaintext=True)
    with pytest.raises(tacit.Error, match="'a'|agent a|twice"):
        run_agents([agent_a(), agent_a()], cloud="127.0.0.1:9", state=tmp_path, insecure_plaintext=True)
    with pytest.raises(TypeError, match="tacit.Agent"):
        run_agents(["a"], cloud="127.0.0.1:9", state=tmp_path, insecure_plaintext=True)
    with pytest.raises(TypeError, match="moved is a function"):
        agent_a().run(cloud="127.0.0.1:9", state=tmp_path, insecure_plaintext=True, moved=3)
    (tmp_path / "file").write_text("")
    with pytest.raises(tacit.Error, match="file"):
        agent_a().run(cloud="127.0.0.1:9", state=tmp_path / "file", insecure_plaintext=True)


def test_a_lost_state_file_and_other_bounds_are_warned_of(cloud):
    wide = Agent("b", lower=-1, upper=9, gradient=lambda y: 2 * (y - 8), project=lambda v: v.clip(-1, 9), slater=True)
    lost = agent_a(gradient=failing_in(60, Broken()))
    with Others(cloud, agent_c()), ThreadPoolExecutor() as pool:
        wide_run = pool.submit(wide.run, **at(cloud))
        with pytest.raises(Broken):
            lost.run(**at(cloud))
        with pytest.warns(tacit.TacitWarning) as warned:
            result = lost.run(**at(cloud, "elsewhere"))
            assert wide_run.result(PATIENCE).outside > 0
    texts = "\n".join(str(one.message) for one in warned)
    assert result.first_round > 1 and f"agent a began at round {result.first_round} without its state file" in texts
    assert "agent b: in " in texts and "outside the public box" in texts


# ---- descriptions ----


def test_conditions_are_those_of_the_library():
    texts = [ffi.string(lib.tacit_agent_condition_text(i)).decode() for i in range(len(AgentCondition))]
    assert texts == list(AgentCondition)
    assert lib.TACIT_AGENT_DONE == list(AgentCondition).index(AgentCondition.DONE)
    assert lib.TACIT_AGENT_FAILED == len(AgentCondition) - 1


def test_texts_show_nothing_private(cloud):
    results = asyncio.run(all_at_once(cloud, agent_a(), agent_b(), agent_c()))
    for result in results:
        assert "x=" not in repr(result) and all(f"{number:.3f}" not in repr(result) for number in result.x)
    assert repr(agent_c(start=[0.125, 0.25])) == "<tacit.Agent c: 2 states, by gradient and project>"
    assert repr(agent_b()) == "<tacit.Agent b: 1 state, by project and proximal>"


def test_a_box_is_given_in_every_useful_way():
    def box(lower, upper, **more):
        agent = Agent("a", lower=lower, upper=upper, proximal=lambda *_: 0, **more)
        return list(agent.lower), list(agent.upper)

    assert box(0, 1) == ([0], [1])
    assert box(0, [1, 2]) == ([0, 0], [1, 2])
    assert box(-1, 1, states=3) == ([-1] * 3, [1] * 3)
    assert box(np.zeros(2, np.float32), (1, 2), states=2) == ([0, 0], [1, 2])
    bound = np.zeros(2)
    agent = Agent("a", lower=bound, upper=1, proximal=lambda *_: 0, start=0.5)
    bound += 7
    assert list(agent.lower) == [0, 0] and list(agent.start) == [0.5, 0.5]
    with pytest.raises(ValueError):
        agent.lower[0] = 1


def wanted(text, error=tacit.UsageError, **more):
    return pytest.param({"lower": [0, 0], "upper": [4, 4], "gradient": len, "project": len} | more, error, text)


@pytest.mark.parametrize(
    "given, error, text",
    [
        wanted("shapes", lower=[0, 0, 0]),
        wanted("shapes", states=3),
        wanted("shapes", lower=[[0, 0]]),
        wanted("shapes", lower=[]),
        wanted("below", upper=[4, 0]),
        wanted("NaN", upper=[4, np.nan]),
        wanted("infinite", lower=-np.inf),
        wanted("texts", lower=["a", "b"]),
        wanted("start of agent home has shape", start=[1, 2, 3]),
        wanted("NaN", start=[1, np.nan]),
        wanted("True, False or None", TypeError, slater=[0, 0]),
        wanted("has gradient$", TypeError, project=None),
        wanted("none of them", TypeError, gradient=None, project=None),
        wanted("has gradient and proximal$", TypeError, project=None, proximal=len),
        wanted("gradient of agent home is a function, not int", TypeError, gradient=3),
        wanted("256 bytes", name=""),
        wanted("256 bytes", name="x" * 257),
        wanted("zero byte", name="a\0b"),
        wanted("is a text", TypeError, name=None),
    ],
)
def test_a_description_with_a_mistake_is_refused(given, error, text):
    with pytest.raises(error, match=text):
        Agent(**({"name": "home"} | given))


def test_a_file_that_is_no_agents_is_refused(cloud, tmp_path):
    with pytest.raises(tacit.UsageError, match="has 3 agents"):
        Agent.from_file(cloud.parts / "cloud.tacit")
    with pytest.raises(tacit.Error):
        Agent.from_file(tmp_path / "none")
    (tmp_path / "bad.tacit").write_text("role agent\nagent a { state x in [0, y] }\n")
    with pytest.raises(tacit.ProblemError) as caught:
        Agent.from_file(tmp_path / "bad.tacit")
    assert caught.value.line == 2


# ---- the example ----

BATTERIES = """
agents battery[i in 1..2] {
  state b[24] in [-3, 3]
  private minimize 0
  gap 20;  slater b = 0
}
constraint feeder[t in 1..24]: sum(battery: b[t]) <= 2.5
privacy { mechanism none; adjacency agent }
schedule { rounds 300 }
"""


def best_plans(example, capacities, levels):
    """All batteries in one program, without any method in between."""
    import cvxopt

    batteries = [example.Battery(*of) for of in zip(capacities, levels)]
    size = 2 * example.HOURS
    within = [np.array(one.within) for one in batteries]
    rows = np.zeros((sum(map(len, within)), size * len(batteries)))
    first = 0
    for i, part in enumerate(within):
        rows[first : first + len(part), size * i : size * (i + 1)] = part
        first += len(part)
    rows = np.vstack([rows, np.hstack([one.plan for one in batteries])])
    limits = np.concatenate([*(np.array(one.limit).ravel() for one in batteries), np.full(example.HOURS, 2.5)])
    curved = cvxopt.matrix(2 * example.WEAR * np.eye(size * len(batteries)))
    slope = cvxopt.matrix(np.concatenate([one.plan.T @ example.TARIFF for one in batteries]))
    solved = cvxopt.solvers.qp(curved, slope, cvxopt.matrix(rows), cvxopt.matrix(limits), options=example.EXACT)
    plans = np.array(solved["x"]).reshape(len(batteries), size)
    return [one.plan @ plan for one, plan in zip(batteries, plans)]


def test_the_example_with_cvxopt_finds_the_best_plans(make_cloud):
    pytest.importorskip("cvxopt")
    path = ROOT / "examples" / "python" / "proximal_agent.py"
    spec = importlib.util.spec_from_file_location("proximal_agent", path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    cloud = make_cloud("--insecure-no-noise", problem=BATTERIES, tls=True, seed=None)
    for name, capacity in (("battery[1]", 10), ("battery[2]", 6)):
        cloud.start_python(name, path, "--capacity", str(capacity))
    for agent in cloud.agents.values():
        assert agent.wait(PATIENCE) == 0, agent.err
    cloud.finish()
    found = [json.loads(cloud.agents[name].out) for name in ("battery[1]", "battery[2]")]
    best = best_plans(example, (10, 6), (4, 4))
    for one, plan in zip(found, best):
        np.testing.assert_allclose(one["x"], plan, rtol=0, atol=0.02)  # after 300 rounds
    assert all((np.abs(plan).max() > 1 for plan in best)) and np.max(sum(best)) > 2.49  # they work, and share a line
    shown = subprocess.run([sys.executable, path, "--help"], capture_output=True, text=True, timeout=PATIENCE)
    assert "--capacity KWH" in shown.stdout
