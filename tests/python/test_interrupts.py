"""Ctrl-C ends the work at any moment, exceptions of callbacks come out as themselves, and nothing is lost or broken."""
# labels: not-clang
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tacit

pytestmark = pytest.mark.filterwarnings("ignore::tacit.TacitWarning")
LONG = dict(rounds=10**9, no_reference=True)


@pytest.fixture
def problem(homes_text, homes_data):
    return tacit.Problem(text=homes_text, data=homes_data)


def interrupt_after(seconds, number=signal.SIGINT):
    """Sends this process a signal, later."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), number))
    timer.start()
    return timer


@pytest.mark.parametrize("options", [LONG, {**LONG, "seeds": 2}, {**LONG, "seeds": 3, "threads": 2}])
def test_ctrl_c_ends_a_run_that_would_last_for_hours(problem, options):
    interrupt_after(0.3)
    with pytest.raises(KeyboardInterrupt) as caught:
        problem.run(**options)
    assert type(caught.value) is KeyboardInterrupt
    run = caught.value.result
    assert run.interrupted and run.outcome == "interrupted" and 0 < run.rounds < 10**9
    assert np.isfinite(run.x["home"]).all()
    assert problem.run(seed=1).outcome == "done"


def test_ctrl_c_ends_a_sweep_and_a_solution(problem, homes_text):
    interrupt_after(0.3)
    with pytest.raises(KeyboardInterrupt):
        problem.sweep(**LONG)
    many = np.random.default_rng(1)
    text = """
    data u = given
    agents a over u { state x[4] in [-9, 9]; private minimize norm(x - w)^4; private set norm(x) <= r }
    constraint c[i in 1..4]: sum(a: x[i]) <= 1
    """
    large = tacit.Problem(text=text, data={"u": {"w": many.normal(size=(50000, 4)), "r": np.full(50000, 2.0)}})
    interrupt_after(0.3)
    with pytest.raises(KeyboardInterrupt):
        large.solve()


def test_ctrl_c_ends_loading():
    wide = {"u": {f"c{i}": np.ones(200000) for i in range(60)}}
    text = "data u = given\nagents a over u { state x in [0, 1]; private minimize x * c1 }"
    interrupt_after(0.02)
    with pytest.raises(KeyboardInterrupt):
        for _ in range(1000):
            tacit.Problem(text=text, data=wide)


def test_interrupts_at_any_moment_leave_everything_usable(problem):
    """A signal after a random time, 150 times (script/soak: more): before, in, between and after calls."""
    times = int(os.environ.get("TACIT_MOMENTS", 150))
    random = np.random.default_rng(5)
    expected = problem.run(seed=1).x["home"]
    seen = 0
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    for _ in range(times):
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, 0.012))
            for _ in range(3):
                problem.run(seed=1)
                problem.plan().text
            while True:
                time.sleep(0.001)
        except KeyboardInterrupt:
            seen += 1
    signal.signal(signal.SIGALRM, previous)
    assert seen == times
    assert np.array_equal(problem.run(seed=1).x["home"], expected)


class TooLate(Exception):
    pass


@pytest.mark.parametrize("options", [LONG, {**LONG, "seeds": 3}])
def test_an_interrupt_while_progress_is_told_keeps_the_result(problem, options):
    def progress(what, fraction):
        if "rounds/s" in what:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as caught:
        problem.run(**options, progress=progress)
    assert caught.value.result.rounds > 0


def test_what_a_signal_handler_raises_comes_out_as_itself(problem):
    def handler(*_):
        raise TooLate("after 0.2 s")

    previous = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(TooLate, match="after 0.2 s"):
            problem.run(**LONG)
    finally:
        signal.signal(signal.SIGALRM, previous)


def test_a_signal_handler_that_raises_nothing_does_not_end_the_work(problem):
    seen = []
    previous = signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    try:
        assert problem.run(rounds=300000, seed=1).outcome == "done"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert seen


def test_an_exception_of_a_progress_function_comes_out_as_itself(problem):
    class Mine(BaseException):
        pass

    def progress(what, fraction):
        raise Mine(what)

    with pytest.raises(Mine) as caught:
        problem.run(**LONG, progress=progress)
    assert caught.traceback[-1].name == "progress"
    for raised in (ValueError("no"), KeyboardInterrupt(), SystemExit(3), StopIteration()):

        def throw(what, fraction, raised=raised):
            raise raised

        with pytest.raises(type(raised)):
            problem.run(**LONG, progress=throw)
    assert problem.run(seed=1).holds


def test_progress_tells_what_and_how_much(problem):
    told = []
    problem.run(rounds=400000, seed=1, no_reference=True, progress=lambda *one: told.append(one))
    assert told and all(isinstance(what, str) and 0 <= fraction <= 1 for what, fraction in told)
    told.clear()
    problem.run(rounds=100000, seeds=6, threads=3, no_reference=True, progress=lambda *one: told.append(one))
    assert told


def test_a_progress_function_may_use_other_problems_but_not_this_one(problem, homes_text, homes_data):
    busy, other = [], []
    mine = tacit.Problem(text=homes_text, data=homes_data)
    earlier = problem.plan()

    def progress(what, fraction):
        for use in (problem.solve, lambda: earlier.text):
            with pytest.raises(tacit.BusyError) as caught:
                use()
            busy.append(caught.value.status)
        other.append(mine.solve().objective)

    problem.run(rounds=300000, seed=1, no_reference=True, progress=progress)
    assert busy and set(busy) == {tacit.Status.BUSY} and len(set(other)) == 1
    assert earlier.text


def test_a_bar_is_shown_in_a_terminal_and_nowhere_else(problem):
    script = (
        "import sys, tacit, conftest, numpy as np\n"
        "p = tacit.Problem(text=conftest.HOMES, data={'homes': {'wish': np.ones((3, 2)), 'need': np.ones(3)}})\n"
        "tacit.call.Monitor.WAIT = 0\n"
        "p.run(rounds=400000, seed=1, no_reference=True)\n"
        "print('done')\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{os.path.dirname(__file__)}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert (done.stdout, done.stderr) == ("done\n", "")
    leader, follower = os.openpty()
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=follower, env=environment)
    os.close(follower)
    shown = b""
    try:
        while part := os.read(leader, 65536):
            shown += part
    except OSError:  # the other side was closed
        pass
    assert process.communicate()[0] == b"done\n" and process.returncode == 0
    os.close(leader)
    assert b"[=" in shown and b" % " in shown and shown.endswith(b"\r\x1b[K")


def test_ctrl_c_of_a_script_ends_it_with_a_traceback_and_no_core(homes_text):
    script = (
        "import sys, tacit, conftest, numpy as np\n"
        "p = tacit.Problem(text=conftest.HOMES, data={'homes': {'wish': np.ones((3, 2)), 'need': np.ones(3)}})\n"
        "p.run(rounds=10**9, no_reference=True, progress=lambda *_: print('going', flush=True))\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{os.path.dirname(__file__)}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT and "KeyboardInterrupt: interrupted" in errors
