"""What the tests of faults share: a small problem, agents of it in Python with the bits of those in C, the operator's log
by its events, and the comparison of a run over the network with the same run in one process."""

import json
import pathlib
import random
import threading
import time
import unittest
import urllib.error
import urllib.request

import wire
from parties import PATIENCE, Late, Parties

SEED = 7
STATES = 2
LOW, HIGH = 0.0, 4.0

WISHES = [(1.3, 2.7, 0.4, 0.9), (1.1, 1.9, 0.7, 1.6), (0.8, 3.2, 0.5, 0.3), (1.7, 2.2, 0.9, 1.1), (0.6, 1.4, 1.2, 2.1)]


def wish_of(number):
    """Weight and wish of both components. Each fifth agent wants out of the box at two sides, and so stands in a corner
    from its second state on: whatever it says beyond the box is moved to where it is."""
    weight, wish, other_weight, other_wish = WISHES[(number - 1) % 5]
    if number % 5 == 0:
        return weight, 50.0, other_weight, -3.0
    return weight, wish + 0.125 * (number // 5), other_weight, other_wish


def problem(agents, equal=False):
    """a1, a2, ...: two states in a box, quadratics, two constraints; equal: one of them is an equality, whose multiplier is
    negative."""
    text = ""
    for i in range(1, agents + 1):
        w, c, v, d = wish_of(i)
        text += (f"agent a{i} {{\n  state x[2] in [{LOW:g}, {HIGH:g}]\n"
                 f"  private minimize {w} * (x[1] - {c})^2 + {v} * (x[2] - {d})^2\n  gap 4000;  slater x = 0.25\n}}\n")
    first = " + ".join(f"a{i}.x[1]" for i in range(1, agents + 1))
    second = " + ".join(f"a{i}.x[2]" + ("^2" if i % 2 else "") for i in range(1, agents + 1))
    if equal:
        return text + f"constraint total: {first} == {3 * agents}\nconstraint second: {second} <= {agents}\ndual radius 100\n"
    return text + f"constraint total: {first} <= {agents}\nconstraint second: {second} <= {0.75 * agents:g}\n"


def options(rounds, epsilon=5):
    return ["--rounds", rounds, "--mechanism", "laplace", "--epsilon", epsilon, "--adjacency", "one:1"]


def move(name, k, x, message):
    """The proximal step of docs/protocol.md for such an agent."""
    w, c, v, d = wish_of(int(name[1:]))
    weight = message.regularization + 1 / message.step
    steps = (1 / (2 * w + weight), 1 / (2 * v + weight))
    slopes = (2 * w) * (x[0] - c), (2 * v) * (x[1] - d)
    moved = [u - s * ((g + p) + message.regularization * u) for u, s, g, p in zip(x, steps, slopes, message.p)]
    return [LOW if u < LOW else HIGH if u > HIGH else u for u in moved]


def python_agent(names, book=None):
    return wire.RawAgent(names, STATES, LOW, book, move)


# ---- the operator's view ----


def events(process, kind=None, **fields):
    """Lines of the log (--log json) of this kind and with these fields."""
    found = []
    for line in process.err.splitlines():
        try:
            line = json.loads(line)
        except ValueError:
            continue  # messages before the log, and the one that is being written
        if (kind is None or line["event"] == kind) and all(line.get(key) == value for key, value in fields.items()):
            found.append(line)
    return found


def await_event(process, kind, seconds=PATIENCE, more_than=0, **fields):
    """The newest such line, when there are more than so many."""
    found = Parties.wait_for(lambda: (lambda f: f if len(f) > more_than else None)(events(process, kind, **fields)), seconds,
                             f"a line '{kind}' {fields} in the log")
    return found[-1]


def page(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=PATIENCE) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.read().decode()


def round_of(parties):
    return json.loads(page(parties.http_port, "status"))["round"]


# ---- tests ----


class InOrder(unittest.TestLoader):
    """The tests of a class in the order in which they are written: they share a run."""

    def getTestCaseNames(self, case):
        return [name for name in vars(case) if name.startswith(self.testMethodPrefix)]


# ---- the same bits ----


def states_of(path):
    """The trace of an agent: {(round, name): states as they are written}."""
    rows = {}
    for line in pathlib.Path(path).read_text().splitlines():
        if line and not line.startswith("#"):
            k, name, *values = line.split(",")
            rows[int(k), name] = values
    return rows


def same_bits(test, parties, summary, answers=None, seed=SEED, only_these=False):
    """The run in one process, `tacit run`, has the multipliers of the cloud and the answer of every agent. Both are
    averages over all rounds, printed with all digits: any other state or multiplier shows in them. answers: of agents that
    are no processes."""
    alone = parties.in_process(seed=seed)
    test.assertEqual(summary["outcome"], "done")
    test.assertEqual(summary["rounds"], alone["rounds"])
    test.assertEqual(summary["answer"], alone["mu"])
    found = dict(answers or {})
    for result in [] if only_these else parties.results().values():
        found.update(result["x"])
    test.assertEqual(found, alone["x"])


# ---- an agent at its own pace ----


class Resident(threading.Thread):
    """Honest agents in Python, on one connection, that send their states every `pace` seconds: so slowly that a run goes
    on as long as a test wants, and then as fast as it can."""

    def __init__(self, parties, names, keys, pace=0.02, rounds=None):
        super().__init__(daemon=True)
        self.parties, self.keys, self.pace, self.rounds = parties, keys, pace, rounds
        self.agent = python_agent(names)
        self.average = {name: list(x) for name, x in self.agent.x.items()}
        self.agent.move = self.step
        self.lock, self.error, self.is_over = threading.RLock(), None, False

    def step(self, name, k, x, message):
        for j in range(self.agent.answered[name] + 1, k + 1):  # more than one where rounds went by without it
            self.average[name] = [a + (3 / (j + 2)) * (v - a) for a, v in zip(self.average[name], x)]
        return move(name, k, x, message)

    def connect(self):
        self.agent.open(self.parties.port, self.keys)
        self.agent.enrol()

    def round(self):
        """One round: states out, answers in."""
        agent = self.agent
        last = min(agent.answered.values())
        for slot, name in enumerate(agent.names):
            agent.send_state(slot)
        while agent.ended is None and min(agent.answered.values()) == last:
            agent.take(agent.link.receive())

    @property
    def answered(self):
        return min(self.agent.answered.values())

    def run(self):
        try:
            while not self.is_over:
                with self.lock:
                    if self.agent.ended is not None or self.answered == self.agent.enrolled[0].rounds:
                        return
                    self.round()
                left = None if self.rounds is None else self.rounds - self.answered
                time.sleep(self.pace if self.pace == 0 or left is None or left > 50 else 20 * self.pace)
        except Exception as error:  # the main thread looks at it
            self.error = error

    def await_rounds(self, count=3):
        """So many more rounds are done."""
        before = self.answered
        Parties.wait_for(lambda: self.error or self.answered >= before + count, what=f"{count} rounds")
        if self.error is not None:
            raise AssertionError(f"the honest agent: {self.error!r}")

    def finish(self):
        """The rest of the run without pauses."""
        self.pace = 0
        self.join(PATIENCE)
        if self.error is not None:
            raise AssertionError(f"the honest agent: {self.error!r}")
        if self.is_alive():
            raise Late("the run did not end")
        self.agent.close()
        return {name: list(x) for name, x in self.average.items()}


def shuffled(things, seed):
    things = list(things)
    random.Random(seed).shuffle(things)
    return things
