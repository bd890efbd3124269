"""Threads and forks: different problems side by side, one problem for one thread at a time."""
# labels: not-clang
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tacit

pytestmark = pytest.mark.filterwarnings("ignore::tacit.TacitWarning")


@pytest.fixture
def problem(homes_text, homes_data):
    return tacit.Problem(text=homes_text, data=homes_data)


class Held:
    """A run in another thread that goes on until it is let go; entering waits until it is at work."""

    def __init__(self, problem):
        self.working, self.free = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.work, args=(problem,))

    def work(self, problem):
        def progress(*_):
            self.working.set()
            self.free.wait()
            raise StopIteration

        with pytest.raises(StopIteration):
            problem.run(rounds=10**9, no_reference=True, progress=progress)

    def __enter__(self):
        self.thread.start()
        self.working.wait()

    def __exit__(self, *_):
        self.free.set()
        self.thread.join()


def test_a_second_thread_is_told_that_the_problem_is_busy(problem):
    plan = problem.plan()
    with Held(problem):
        for use in (problem.solve, problem.check, lambda: problem.run(seed=1), lambda: plan.json, lambda: plan.certificate()):
            with pytest.raises(tacit.BusyError, match="at work in another thread"):
                use()
        assert plan.private in (True, False) and problem.agents == 3 and plan.observers
    assert problem.run(seed=1).holds and plan.json


def test_a_problem_may_be_closed_while_it_is_at_work(problem):
    with Held(problem):
        problem.close()
        with pytest.raises(ValueError, match="was closed"):
            problem.solve()


def test_many_threads_on_one_problem_get_results_or_busy(problem):
    expected = problem.solve().x["home"]

    def work(_):
        try:
            result = problem.solve()
            return np.array_equal(result.x["home"], expected) and bool(result.text)
        except tacit.BusyError:
            return None

    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(work, range(400)))
    assert set(seen) <= {True, None} and True in seen


def test_a_problem_closed_in_one_thread_is_closed_or_whole_in_another(homes_text, homes_data):
    """Every use races with close(): each gets numbers, BusyError, or is told that it was closed."""

    def use(problem, stop):
        while not stop.is_set():
            for work in (problem.solve, lambda: problem.agents, lambda: problem.members("home"), lambda: repr(problem), problem.close):
                try:
                    work()
                except (tacit.BusyError, ValueError):
                    pass

    for _ in range(30):
        problem, stop = tacit.Problem(text=homes_text, data=homes_data), threading.Event()
        threads = [threading.Thread(target=use, args=(problem, stop)) for _ in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(0.01)
        stop.set()
        for thread in threads:
            thread.join()
        assert problem.is_closed


def test_a_ledger_is_read_by_many_threads(problem, tmp_path):
    problem.run(ledger=tmp_path / "spent")
    for _ in range(30):
        ledger, seen = tacit.ledger(tmp_path / "spent"), []

        def read():
            for _ in range(5):
                try:
                    seen.append(("epsilon" in ledger.text, len(ledger.json)))
                except tacit.BusyError:
                    pass

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(seen)) == 1


def test_problems_of_different_threads_do_not_meet(homes_text, homes_data):
    expected = tacit.Problem(text=homes_text, data=homes_data).run(seed=7).x["home"]

    def work(_):
        mine = tacit.Problem(text=homes_text, data=homes_data)
        return all(np.array_equal(mine.run(seed=7).x["home"], expected) for _ in range(5))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(24)))


def test_other_threads_go_on_while_the_library_works(problem):
    """The library holds no lock of the interpreter: a counter in Python goes on."""
    counted = 0
    done = threading.Event()
    thread = threading.Thread(target=lambda: (problem.run(rounds=300000, seed=1, no_reference=True, progress=False), done.set()))
    thread.start()
    while not done.is_set():
        counted += 1
        time.sleep(0)
    thread.join()
    assert counted > 20


def in_a_child(work):
    """Whether work() returns true in a forked child."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work() else 1)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_forked_child_goes_on_with_what_it_has(problem):
    run = problem.run(seed=1)
    expected = run.x["home"]
    assert in_a_child(lambda: np.array_equal(problem.run(seed=1, threads=2).x["home"], expected) and run.json)
    assert np.array_equal(problem.run(seed=1).x["home"], expected)


# The sanitizer's allocator does not survive a fork while another thread allocates: the child may wait for ever.
@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="fork beside busy threads under ASan")
def test_a_child_of_a_busy_parent_is_told_so(problem):
    def work():
        try:
            problem.solve()
        except tacit.BusyError:
            return True

    with Held(problem):
        assert in_a_child(work)


def test_fresh_noise_differs_between_parent_and_child(problem):
    read, write = os.pipe()

    def work():
        os.write(write, problem.run().mu.tobytes())
        return True

    assert in_a_child(work)
    child = np.frombuffer(os.read(read, 4096))
    assert not np.array_equal(child, problem.run().mu)
