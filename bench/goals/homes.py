#!/usr/bin/env python3
"""homes.py TACIT [--quick]: homes that charge cars on one feeder, each hidden entirely (unit agent, epsilon 1, delta 1e-6,
Gaussian noise), as examples/ev.tacit with 200, 1,000 and 5,000 homes and as much of the feeder for each.

Beside the error stands its floor: what averaged noise leaves to a cloud that knows all data (suite.py, oracle). Medians of
9 seeds (3 with --quick, and no 5,000 homes)."""

import importlib.util
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
ROUNDS, DRAWS = 1000, 9
QUICK = "--quick" in sys.argv
SEEDS = 3 if QUICK else 9
TACIT = sys.argv[1]


def call(*words):
    done = subprocess.run([TACIT, *map(str, words), "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 1) or not done.stdout:
        sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def write(folder, homes, noise=None):
    """noise: by hour, added to the feeder's load."""
    text = (EXAMPLES / "ev.tacit").read_text()
    text = text.replace("param T = 24", f"param noise = [{', '.join(repr(v) for v in noise or [0.0] * 24)}]\nparam T = 24")
    text = text.replace("sum(home: p[t]) <= feeder_limit - household[t]",
                        f"sum(home: p[t]) + noise[t] <= {homes / 1000!r} * (feeder_limit - household[t])")
    path = os.path.join(folder, "ev.tacit")
    pathlib.Path(path).write_text(text)
    return path


def write_homes(folder, homes):
    spec = importlib.util.spec_from_file_location("make_homes", EXAMPLES / "make_homes.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    source = random.Random(20)
    with open(os.path.join(folder, "homes.csv"), "w") as file:
        file.write("need,weight," + ",".join(f"pref_{t}" for t in range(1, 25)) + "\n")
        for _ in range(homes):
            need, weight, wanted = make.plan(source)
            file.write(",".join(f"{v:g}" for v in [need, weight, *wanted]) + "\n")


def solution(path):
    found = call("solve", path)
    return [v for values in found["x"].values() for v in values], found["mu"]


def floor(folder, homes):
    plan = call("plan", write(folder, homes), "--adjacency", "agent", "--rounds", ROUNDS)
    deviations = [math.sqrt(s["variance"] / ROUNDS) for s in plan["systems"] for _ in range(s["rows"])]
    (x, mu), source, errors = solution(write(folder, homes)), random.Random(1), []
    for _ in range(DRAWS):
        there = solution(write(folder, homes, [source.gauss(0, d) for d in deviations]))
        errors.append((math.dist(x, there[0]), math.dist(mu, there[1])))
    return [statistics.median(e[i] for e in errors) for i in (0, 1)], math.hypot(*mu)


def errors(path, *options):
    found = call("run", path, "--adjacency", "agent", "--rounds", ROUNDS, "--seed", 1, "--seeds", SEEDS, *options)
    return found["final"]["x_error"], found["final"]["mu_error"]


print(f"homes, each hidden entirely: x error / mu error, medians of {SEEDS} seeds, {ROUNDS} rounds")
for homes in (200, 1000) if QUICK else (200, 1000, 5000):
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        write_homes(folder, homes)
        least, size = floor(folder, homes)
        path = write(folder, homes)
        own, old = errors(path), errors(path, "--method", "published")
    print(f"{homes:6d}: tacit {own[0]:.3g} / {own[1]:.3g}, floor {least[0]:.3g} / {least[1]:.3g}, "
          f"published {old[0]:.3g} / {old[1]:.3g}; |mu| {size:.3g}; {time.monotonic() - began:.0f} s", flush=True)
