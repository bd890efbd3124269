"""A small problem with agents of it in Python, and clouds for them, real and silent."""

import asyncio
import socket
import sys
import threading

import numpy as np
import pytest
from conftest import COMMAND, ROOT

from tacit.agent import Agent

sys.path.insert(0, str(ROOT / "tests" / "serve"))
import parties  # noqa: E402

parties.TACIT = COMMAND
PATIENCE = parties.PATIENCE
ROUNDS, SEED = 40, 3

PROBLEM = """
agent a {
  state x in [0, 4]
  private minimize (x - 3)^2
  gap 9;  slater x = 1
}
agent b {
  state y in [0, 4]
  private minimize (y - 3)^2
  gap 9;  slater y = 1
}
agent c {
  state z[2] in [0, 4]
  private minimize sumsq(z - [1, 2])
  private set z[1] + z[2] <= 2.5
  gap 5;  slater z = 1
}
constraint shared: a.x + b.y + c.z[1] <= 4
privacy  { mechanism gaussian; epsilon ln(2); delta 1e-5; adjacency ensemble 0.5 }
schedule { alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds 40 }
"""


# ---- agents of that problem ----


def nearest(v):
    """In [0, 4]^2 with a sum of at most 2.5: of the box, else of the line from (0, 2.5) to (2.5, 0)."""
    if v.clip(0, 4).sum() <= 2.5:
        return v.clip(0, 4)
    first = min(max((v[0] - v[1] + 2.5) / 2, 0), 2.5)
    return [first, 2.5 - first]


def agent_a(**more):
    more = {"gradient": lambda x: 2 * (x - 3), "project": lambda v: v.clip(0, 4), "slater": True} | more
    return Agent("a", lower=0, upper=4, **more)


def proximal_b(p, step, regularization, previous):
    """A formula, with numbers as they come: a scalar for the one state."""
    return min(max((6 - p[0] + previous[0] / step) / (2 + regularization + 1 / step), 0), 4)


def agent_b(**more):
    more = {"proximal": proximal_b, "project": lambda v: v.clip(0, 4), "slater": True} | more
    return Agent("b", lower=[0], upper=[4], **more)


def agent_c(**more):
    more = {"gradient": lambda z: 2 * (z - [1, 2]), "project": nearest, "slater": True} | more
    return Agent("c", lower=[0, 0], upper=4, **more)


@pytest.fixture
def make_cloud():
    """A cloud of the problem, at work; more: options of its start."""
    made = []

    def make(*more, seed=SEED, problem=PROBLEM, options=(), tls=False, issue=True):
        cloud = parties.Parties(problem, options=options, tls=tls, issue=issue)
        made.append(cloud)
        cloud.start_cloud("--durability", "process", *more, seed=seed, trace=False)
        cloud.states.mkdir(mode=0o700)
        return cloud

    yield make
    for cloud in made:
        cloud.close()


@pytest.fixture
def cloud(make_cloud):
    return make_cloud()


def at(cloud, folder="here", **more):
    """The keywords of run() for an agent of this cloud."""
    where = {"cloud": f"127.0.0.1:{cloud.port}", "state": cloud.states / folder, "timeout": PATIENCE}
    return where | ({} if cloud.tls else {"insecure_plaintext": True}) | more


async def all_at_once(cloud, *agents, **more):
    return await asyncio.gather(*(agent.run_async(**at(cloud, **more)) for agent in agents))


class Others:
    """Agents that take part in another thread, while the test does something with one more."""

    def __init__(self, cloud, *agents):
        self.loop, self.results = asyncio.new_event_loop(), None
        self.task = self.loop.create_task(all_at_once(cloud, *agents))
        self.thread = threading.Thread(target=self.run)

    def run(self):
        try:
            self.results = self.loop.run_until_complete(self.task)
        except (asyncio.CancelledError, Exception) as error:
            self.results = error
        self.loop.close()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, *_):
        if kind is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.task.cancel)
        self.thread.join(PATIENCE)
        if kind is None:
            assert [result.condition for result in self.results] == ["done"] * len(self.results), self.results


EXPECTED = {}


def assert_right(cloud, *results):
    """They have what `tacit run` has for the problem, up to how exactly rounds are solved."""
    options = tuple(cloud.options)
    if options not in EXPECTED:
        EXPECTED[options] = cloud.in_process(seed=SEED)["x"]
    for result in results:
        np.testing.assert_allclose(result.x, EXPECTED[options][result.name], rtol=0, atol=1e-7)


class Silence:
    """A cloud that takes connections and says nothing."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(PATIENCE)
        self.port, self.connections = self.listener.getsockname()[1], []

    def accept(self):
        """Waits until an agent has said hello, and so waits for an answer."""
        connection, _ = self.listener.accept()
        connection.settimeout(PATIENCE)
        assert connection.recv(1000)
        self.connections.append(connection)
        return connection

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for one in [*self.connections, self.listener]:
            one.close()


@pytest.fixture
def silence():
    with Silence() as made:
        yield made


def at_silence(silence, folder, **more):
    where = {"cloud": f"127.0.0.1:{silence.port}", "state": folder, "insecure_plaintext": True, "timeout": PATIENCE}
    return where | more


def until_closed(connection):
    """What is sent until the other side closes."""
    return b"".join(iter(lambda: connection.recv(1000), b""))


class Broken(Exception):
    pass


def failing_in(call, error):
    """A gradient of agent a that raises once, in its call of this number."""
    calls = []

    def gradient(x):
        calls.append(x)
        if len(calls) == call:
            raise error
        return 2 * (x - 3)

    return gradient
