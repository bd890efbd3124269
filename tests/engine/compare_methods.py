"""The method `tacit` against the published one on problems from random_problems.py, through the command:

    compare_methods.py [--first N] [--count N] [--seeds N] [--rounds T] [--seconds S] [--large]

The published method has an epsilon for each system. It gets the best of several steps in hindsight, for states and
multipliers apart. tacit has one epsilon for all that anyone sees, and chooses its own steps. Errors are medians, as
parts of the errors at the start; those below a ten-thousandth are not compared. The last lines are geometric means and
where tacit lost."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

import random_problems

TACIT = os.environ.get("TACIT", "build/release/tacit")
STEPS = (0.01, 0.1, 1, 10, 100)
LEAST = 1e-4  # errors below this part of those at the start are as good as none
NEAR = 0.1  # of the diagonal of all boxes: a start no nearer than this to the solution is its own scale
NO_MULTIPLIERS = 1e-2  # stands for the size of multipliers that are all zero


def command(*words):
    done = subprocess.run([TACIT, *map(str, words), "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 1) or not done.stdout:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


class Errors:
    """Medians of x and mu; and at the start, for scale."""

    def __init__(self, x=np.inf, mu=np.inf, start_x=np.nan, start_mu=np.nan):
        self.x, self.mu, self.start_x, self.start_mu = x, mu, start_x, start_mu


def errors(path, seeds, rounds, mechanism, *options):
    found = command("run", path, "--seeds", seeds, "--rounds", rounds, "--mechanism", mechanism, *options)
    if found["outcome"] != "done":
        return Errors()
    final, start = found["final"], found["checkpoints"][0]
    return Errors(final["x_error"], final["mu_error"], start["x_error"], start["mu_error"])


def published(path, seeds, rounds, mechanism, steps=STEPS):
    tried = [errors(path, seeds, rounds, mechanism, "--method", "published", "--calibration", "published",
                    "--gamma-bar", step) for step in steps]
    return Errors(min(t.x for t in tried), min(t.mu for t in tried))


def tacit(path, seeds, rounds, mechanism):
    return errors(path, seeds, rounds, mechanism, "--method", "tacit")


def write(problem, folder):
    for name, text in {**problem.files, "problem.tacit": problem.text}.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    return os.path.join(folder, "problem.tacit")


class Table:
    def __init__(self):
        self.lines = []  # (seed, mechanism, x ratio, mu ratio)

    def add(self, seed, name, mechanism, old, new, length):
        size, price = max(new.start_x, NEAR * length), max(new.start_mu, NO_MULTIPLIERS)
        if not np.isfinite(old.x):
            print(f"{seed:5d} {mechanism:8s} not released by the published method   {name}", flush=True)
            return
        x, mu = [np.maximum(e, LEAST) for e in ((old.x / size, new.x / size), (old.mu / price, new.mu / price))]
        self.lines.append((seed, mechanism, x[1] / x[0], mu[1] / mu[0]))
        print(f"{seed:5d} {mechanism:8s} x {x[0]:9.3g} -> {x[1]:9.3g} ({x[1] / x[0]:7.3f})   "
              f"mu {mu[0]:9.3g} -> {mu[1]:9.3g} ({mu[1] / mu[0]:7.3f})   {name}", flush=True)

    def mean(self, which):
        return float(np.exp(np.mean([np.log(line[which]) for line in self.lines])))

    def summary(self):
        for which, what in ((2, "x"), (3, "mu")):
            lost = [(line[0], line[1], round(line[which], 2)) for line in self.lines if line[which] > 1]
            print(f"{what}: tacit / published, geometric mean {self.mean(which):.4f}, "
                  f"worse on {len(lost)} of {len(self.lines)}: {lost}")


def judge(problems, seeds, rounds, seconds=np.inf, large=None, mechanisms=("laplace", "gaussian"), steps=STEPS):
    table, end = Table(), time.monotonic() + seconds
    for seed in problems:
        problem = random_problems.Random(seed, seed % 8 == 7 if large is None else large)
        with tempfile.TemporaryDirectory() as folder:
            path = write(problem, folder)
            for mechanism in mechanisms:
                old = published(path, seeds, rounds, mechanism, steps)
                new = tacit(path, seeds, rounds, mechanism)
                table.add(seed, problem.name(), mechanism, old, new, problem.length)
        if time.monotonic() > end:
            break
    return table


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=np.inf)
    parser.add_argument("--large", action="store_true", default=None)
    asked = parser.parse_args()
    problems = range(asked.first, asked.first + asked.count)
    table = judge(problems, asked.seeds, asked.rounds, asked.seconds, asked.large)
    table.summary()
    return 0 if table.mean(2) < 0.5 and table.mean(3) < 0.5 else 1


if __name__ == "__main__":
    sys.exit(main())
