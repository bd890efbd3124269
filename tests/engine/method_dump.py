"""Runs of the engine, with all that goes between its parts, as engine_method_dump prints them. method_reference.py says
what must go between them for the same observations."""

import os
import subprocess

import numpy as np

import method_reference

PROGRAM = os.path.join(os.environ.get("TACIT_BINARY_DIR", "build/dev"), "engine_method_dump")


class Dump:
    """Numbers in the engine's order; rounds is a list of {word: numbers}."""

    def __init__(self, text, adjacency):
        self.adjacency = adjacency
        self.coords, self.columns, self.rounds = [], [], []
        self.offset, self.facts = None, {}
        for line in text.splitlines():
            word, _, rest = line.partition(" ")
            if word == "coordinate":
                self.coords.append(rest)
            elif word == "placement":
                self.placement = rest
            else:
                self.take(word, np.array([float.fromhex(v) for v in rest.split()]))

    def take(self, word, numbers):
        if word == "column":
            self.columns.append(numbers)
        elif word == "round":
            self.rounds.append({})
        elif self.rounds:
            self.rounds[-1][word] = numbers
        else:
            self.facts[word] = numbers


def write_problem(folder, text, files):
    path = os.path.join(folder, "problem.tacit")
    for name, content in {**files, "problem.tacit": text}.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(content)
    return path


def run(path, rounds, mechanism, placement, adjacency="ensemble", bound=1.0, epsilon=1.0, seed=1, driver="small",
        observations=None):
    words = [PROGRAM, path, rounds, mechanism, placement, adjacency, bound, epsilon, seed, driver]
    if observations is not None:
        words.append(observations)
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return Dump(done.stdout, adjacency)


class Mismatch(Exception):
    pass


def furthest(mine, theirs, size):
    return float(np.max(np.abs(mine - theirs) / size, initial=0))


class Comparison:
    """Goes through a dump with the reference, which sees the engine's observations and nothing else."""

    def __init__(self, problem, dump, most_stride=1.0):
        self.problem, self.dump = problem, dump
        self.order = np.array([problem.at[name] for name in dump.coords])
        facts = dump.facts
        rounds, length, radius = facts["facts"]
        self.facts = method_reference.Facts(rounds, length, facts["row_scale"], radius, facts["weight"],
                                            problem.start_multipliers, most_stride=most_stride, equal=problem.equal,
                                            hides_every_round=dump.adjacency in ("agent", "within", "data"))
        self.match = self.order if dump.placement == "states" else self.match_forms()
        variance = self.place(facts["variance"], self.match)
        self.run = method_reference.Run(problem, self.facts, dump.placement, variance)
        self.width = problem.upper - problem.lower

    @staticmethod
    def place(numbers, order):
        out = np.zeros(len(order))
        out[order] = numbers
        return out

    def match_forms(self):
        """Which of the reference's forms each of the engine's is."""
        offset = self.dump.facts["offset"]
        theirs = np.zeros((len(offset), self.problem.n))
        theirs[:, self.order] = (np.array(self.dump.columns) - offset).T
        mine, _ = self.problem.affine(self.dump.placement)
        found, free = [], list(range(len(mine)))
        for row in theirs:
            close = [i for i in free if np.allclose(mine[i], row, rtol=1e-6, atol=1e-6 * np.max(np.abs(row)))]
            if not close:
                raise Mismatch(f"no form {row}")
            free.remove(close[0])
            found.append(close[0])
        if free:
            raise Mismatch("forms are missing")
        return np.array(found)

    def state(self, word, at):
        return self.place(at[word], self.order)

    def check_start(self):
        return furthest(self.run.x, self.place(self.dump.facts["x"], self.order), self.width)

    def check_round(self, at):
        """The largest deviation, and of what."""
        self.facts.margin = at["margin"] / self.facts.row_scale  # test_margin.c has what it must be
        p, step, regularization = self.run.round(self.place(at["observed"], self.match))
        cloud = self.run.cloud
        mu, theirs = cloud.multipliers(), at["mu"]
        unit = max(np.max(np.abs(mu * self.facts.row_scale), initial=0), 1e-3) / self.facts.row_scale
        prices = max(np.max(np.abs(p), initial=0), 1e-3)
        if "point" in at:
            return self.check_move(at, mu, unit)
        found = {
            "step": furthest(step, at["scalars"][0], step),
            "regularization": furthest(regularization * step, at["scalars"][1] * at["scalars"][0], 1),
            "mu": furthest(mu, theirs, unit),
            "p": furthest(p, self.state("p", at), prices),
            "x": furthest(self.run.x, self.state("x", at), self.width),
            "answer x": furthest(self.run.average, self.state("answer_x", at), self.width),
            "answer mu": furthest(cloud.answer(), at["answer_mu"], unit),
        }
        return self.worst(found)

    def check_move(self, at, mu, unit):
        """The last round, where its answer moves the result: t and the Slater point."""
        t, regularization = at["scalars"]
        moved = self.run.average + t * (self.state("point", at) - self.run.average)
        found = {
            "t": 0 if 0 <= t <= 1 and regularization == 0 else np.inf,
            "mu": furthest(mu, at["mu"], unit),
            "x": furthest(moved, self.state("x", at), self.width),
            "answer x": furthest(moved, self.state("answer_x", at), self.width),
            "answer mu": furthest(self.run.cloud.answer(), at["answer_mu"], unit),
        }
        return self.worst(found)

    @staticmethod
    def worst(found):
        what = max(found, key=lambda name: found[name] if found[name] == found[name] else np.inf)
        return found[what], what
