"""Agents in Python that are interrupted, cancelled, killed, forked and run twice; and what is left of them."""
# labels: not-clang
import asyncio
import fcntl
import gc
import os
import signal
import subprocess
import sys
import threading
import tracemalloc
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
from agents import cloud, make_cloud, silence  # noqa: F401  fixtures
from agents import (
    PATIENCE,
    ROUNDS,
    SEED,
    Others,
    agent_a,
    agent_b,
    agent_c,
    all_at_once,
    assert_right,
    at,
    at_silence,
    until_closed,
)

import tacit
from tacit.session import Options, Session

# ---- interrupts, timeouts, cancellation ----


def assert_closed(silence, folder):
    """The agent has left, and its state file can be opened again."""
    until_closed(silence.connections[-1])
    with pytest.raises(TimeoutError):
        agent_a().run(**at_silence(silence, folder, timeout=0))


def test_ctrl_c_ends_the_wait(silence, tmp_path):
    def interrupt():
        silence.accept()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        agent_a().run(**at_silence(silence, tmp_path))
    thread.join()
    assert_closed(silence, tmp_path)


def test_ctrl_c_ends_asyncio_too(silence, tmp_path):
    def interrupt():
        silence.accept()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(agent_a().run_async(**at_silence(silence, tmp_path)))
    thread.join()
    assert_closed(silence, tmp_path)


def test_a_signal_handler_that_does_not_raise_does_not_end_the_wait(cloud):
    came = threading.Event()
    before = signal.signal(signal.SIGUSR1, lambda *_: came.set())

    def moved(round_, _x):
        if round_ == 5:
            os.kill(os.getpid(), signal.SIGUSR1)

    try:
        with Others(cloud, agent_b(), agent_c()):
            assert_right(cloud, agent_a().run(**at(cloud, moved=moved)))
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert came.is_set()


def test_a_timeout_closes_the_agent(silence, tmp_path):
    for _ in range(2):  # the second one finds the file closed
        with pytest.raises(TimeoutError, match=r"^a: not done after 0.2 seconds \(.*\); call again to go on$"):
            agent_a().run(**at_silence(silence, tmp_path, timeout=0.2))
        with pytest.raises(TimeoutError):
            asyncio.run(agent_a().run_async(**at_silence(silence, tmp_path, timeout=0.1)))
    with pytest.raises(ValueError, match="from 0"):
        agent_a().run(**at_silence(silence, tmp_path, timeout=-1))


def test_a_cancelled_agent_leaves_and_closes(silence, tmp_path):
    async def work():
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(agent_a().run_async(**at_silence(silence, tmp_path)))
        connection = await loop.run_in_executor(None, silence.accept)
        descriptors = set(loop._selector.get_map())
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        left = set(loop._selector.get_map())
        assert len(descriptors - left) == 1
        await loop.run_in_executor(None, until_closed, connection)

    asyncio.run(work())
    assert_closed(silence, tmp_path)


def test_a_loop_has_other_work_while_agents_wait(cloud):
    async def work():
        a = asyncio.ensure_future(agent_a().run_async(**at(cloud)))
        for _ in range(1000):
            await asyncio.sleep(0)
        assert not a.done()  # the others have not come
        return await asyncio.gather(a, agent_b().run_async(**at(cloud)), agent_c().run_async(**at(cloud)))

    assert_right(cloud, *asyncio.run(work()))


def test_an_agent_that_was_killed_goes_on_from_its_file(cloud):
    """The file is written before a state is sent, so the result is that of an agent that was never killed."""
    program = """
import os, signal, sys
from tacit.agent import Agent
calls = []
def gradient(x):
    calls.append(1)
    if len(calls) == 60:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * (x - 3)
a = Agent("a", lower=0, upper=4, gradient=gradient, project=lambda v: v.clip(0, 4), slater=True)
a.run(cloud=sys.argv[1], state=sys.argv[2], insecure_plaintext=True)
"""
    where = at(cloud)
    with Others(cloud, agent_b(), agent_c()):
        done = subprocess.run([sys.executable, "-c", program, where["cloud"], where["state"]], timeout=PATIENCE)
        assert done.returncode == -signal.SIGKILL
        result = agent_a().run(**where)
    assert_right(cloud, result)


def test_a_cloud_that_is_killed_and_started_again_finds_the_agents_waiting(cloud):
    killed = threading.Event()

    def moved(round_, _x):
        if round_ == 20 and not killed.is_set():
            cloud.cloud.kill()
            killed.set()

    port = cloud.port
    with Others(cloud, agent_b(), agent_c()):
        with ThreadPoolExecutor() as pool:
            run = pool.submit(agent_a().run, **at(cloud, moved=moved))
            assert killed.wait(PATIENCE)
            cloud.start_cloud("--listen", f"127.0.0.1:{port}", seed=SEED, trace=False)
            assert run.result(PATIENCE).rounds == ROUNDS


# ---- threads, forks, leaks ----


def test_one_agent_runs_once_at_a_time_with_a_folder(silence, tmp_path):
    async def work():
        agent = agent_a()
        first = asyncio.ensure_future(agent.run_async(**at_silence(silence, tmp_path)))
        await asyncio.get_running_loop().run_in_executor(None, silence.accept)
        with ThreadPoolExecutor() as pool:
            second = pool.submit(agent.run, **at_silence(silence, tmp_path))
            with pytest.raises(tacit.BusyError, match="agent a is at work in this process already"):
                second.result(PATIENCE)
        with pytest.raises(TimeoutError):
            agent.run(**at_silence(silence, tmp_path / "other", timeout=0))
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first

    asyncio.run(work())
    assert_closed(silence, tmp_path)


def test_a_state_file_of_another_process_is_not_touched(silence, tmp_path):
    held = os.open(tmp_path / "a.state", os.O_RDWR | os.O_CREAT, 0o600)
    tmp_path.chmod(0o700)
    fcntl.flock(held, fcntl.LOCK_EX)
    try:
        with pytest.raises(tacit.Error, match="another process has the state file") as caught:
            agent_a().run(**at_silence(silence, tmp_path))
        assert caught.value.status == tacit.Status.CANNOT_READ
    finally:
        os.close(held)


def test_a_function_that_runs_its_own_agent_is_told(cloud):
    def gradient(x):
        if not told:
            with pytest.raises(tacit.BusyError, match="already") as caught:
                agent.run(**at(cloud))
            told.append(caught.value)
        return 2 * (x - 3)

    agent, told = agent_a(gradient=gradient), []
    with Others(cloud, agent_b(), agent_c()):
        assert_right(cloud, agent.run(**at(cloud)))
    assert told


def test_one_description_serves_two_clouds_at_once(make_cloud):
    clouds = [make_cloud(), make_cloud()]
    agents = [agent_a(), agent_b(), agent_c()]

    async def work():
        return await asyncio.gather(*(all_at_once(cloud, *agents) for cloud in clouds))

    for cloud, results in zip(clouds, asyncio.run(work())):
        assert_right(cloud, *results)


def test_a_fork_inside_a_function_leaves_the_connection_to_the_parent(cloud):
    children = []

    def gradient(x):
        if not children:
            children.append(os.fork())
        return 2 * (x - 3)

    with Others(cloud, agent_b(), agent_c()):
        try:
            result = agent_a(gradient=gradient).run(**at(cloud))
        except BaseException as error:
            if children == [0]:
                os._exit(0 if isinstance(error, tacit.Error) and "forked" in str(error) else 1)
            raise
        if children == [0]:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 0
    assert_right(cloud, result)


DEFAULTS = dict.fromkeys(("keys", "plan", "moved", "timeout")) | dict.fromkeys(("new_run", "survives_power"), False)


def test_a_child_of_fork_that_drops_a_session_tells_the_cloud_nothing(silence, tmp_path):
    session = Session([agent_a()], Options(**DEFAULTS | at_silence(silence, tmp_path)))
    with ThreadPoolExecutor() as pool:
        accepted = pool.submit(silence.accept)
        while not accepted.done():
            session.step()
    child = os.fork()
    if child == 0:
        session.__exit__()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    connection = accepted.result()
    connection.setblocking(False)
    with pytest.raises(BlockingIOError):  # neither bytes nor an end
        connection.recv(1)
    connection.settimeout(PATIENCE)
    session.__exit__()
    assert until_closed(connection)  # the parent takes its leave


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_nothing_is_left_of_agents_that_were_closed(tmp_path):
    agent = agent_a()

    def once():
        with pytest.raises(TimeoutError):
            agent.run(cloud="127.0.0.1:9", state=tmp_path, insecure_plaintext=True, timeout=0, moved=lambda *_: None)

    for _ in range(20):
        once()
    gc.collect()
    descriptors, before = len(os.listdir("/proc/self/fd")), resident()
    tracemalloc.start()
    once()
    gc.collect()
    first = tracemalloc.get_traced_memory()[0]
    for _ in range(200):
        once()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - first
    tracemalloc.stop()
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert grown < 20_000  # an open agent has more
    if "LD_PRELOAD" not in os.environ:  # a sanitizer keeps what was freed
        assert resident() - before < 8_000_000  # 200 open ones would have 15 MB more


def test_a_session_is_freed_without_the_collector(tmp_path):
    gc.collect()
    gc.disable()
    try:
        agent = agent_a(project=lambda v: None)
        with pytest.raises(tacit.UsageError):
            agent.run(cloud="127.0.0.1:9", state=tmp_path, insecure_plaintext=True)
        options = Options(**DEFAULTS | {"cloud": "127.0.0.1:9", "state": tmp_path, "insecure_plaintext": True})
        session = Session([agent_a()], options)
        alive = weakref.ref(session)
        del session
        assert alive() is None
        with Session([agent_a()], options):
            pass  # the file was closed
    finally:
        gc.enable()
