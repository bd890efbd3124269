#!/usr/bin/env python3
"""suite.py TACIT [SEED] [--quick]: the method `tacit` on random problems (kinds.py), both mechanisms.

For every problem, medians of the errors in x and mu over 9 seeds:

    tacit       the method, with one promise for everything
    default     the published scheme with the paper's steps; where the unit of privacy is the paper's (ensemble) with the
                paper's promise, epsilon for each system by itself, otherwise with the same promise
    hindsight   the same with the best of six steps, chosen by the error itself, for x and mu apart
    oracle      a cloud that knows all data, but sees constraints through averaged noise: it solves the problem with
                g(x + w) <= 0 (with forms: g of the forms + w), w the average of the noise of all rounds with equal
                weights. No method that has to learn g at its result from what is released can expect less.

Medians of 9 seeds are themselves uncertain, and the least of six of them is too small by chance. So a problem that seems to be
lost to hindsight is run once more, by both, with 45 seeds: for information, the goal is about 9.

Errors below 1e-4 of the length of the box (in mu: of the size of mu) count as that: they are as good as none. Fails where
a goal is missed. The method's rules and constants were chosen on SEED 1, the default, to 4, with an eye on single problems
of 5, 6, 7, 9 and 12; nothing was chosen on 8, 10 and 11. --quick: one problem of each kind, 5 seeds, no ablations."""

import concurrent.futures
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

import kinds

STEPS = (0.001, 0.01, 0.1, 1, 10, 100)
DEFAULT = 0.01
DRAWS = 25
LEAST = 1e-4
MORE_SEEDS = 45
HINDSIGHT_LIMIT, MEDIAN_LIMIT, KIND_LIMIT = 1.1, 1.6, 4


def call(tacit, *words):
    done = subprocess.run([tacit, *map(str, words), "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 1) or not done.stdout:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def write(problem, folder, *noise):
    for name, text in problem.files(*noise).items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    return os.path.join(folder, f"{problem.name}.tacit")


def run(tacit, path, mechanism, seeds, *options):
    """Medians of the errors in x and mu. A run that does not end is no better than any other."""
    found = call(tacit, "run", path, "--mechanism", mechanism, "--seed", 1, "--seeds", seeds, "--threads", 1, *options)
    if found["outcome"] != "done":
        return math.inf, math.inf
    return found["final"]["x_error"], found["final"]["mu_error"]


# ---- the oracle ----------------------------------------------------------------------------------------------------

def solve(tacit, path):
    found = call(tacit, "solve", path)
    if found["status"] != "solved":
        raise RuntimeError(f"{path}: {found['status']}")
    x = [v for values in found["x"].values() for v in (values if isinstance(values, list) else [values])]
    return x, multipliers(found)


def multipliers(found):
    return [float(v) for v in (found["mu"].values() if isinstance(found["mu"], dict) else found["mu"])]


def averaged_noise(problem, plan, source):
    """By state and agent, or by row and sum. Averages of thousands of numbers are normal."""
    rounds = problem.rounds
    by_name = {s["name"]: math.sqrt(s["variance"] / rounds) for s in plan["systems"]}
    if plan["placement"] == "states":
        return {s.name: [source.gauss(0, by_name["x[unit]"]) for _ in range(problem.agents)] for s in problem.of}, None
    letter, found = ("g", {}) if plan["placement"] == "outputs" else ("s", {})
    for row in problem.rows:
        if len(row.sums) > 1:
            names = [f"{letter}[{row.name}, {i + 1}]" for i in range(len(row.sums))]
        else:
            names = [f"{letter}[{row.name}]"]
        unit = row.unit if letter == "g" else 1
        if names[0] in by_name:
            found[row.name] = [source.gauss(0, by_name[name]) / unit for name in names]
        else:  # a form that another row has too
            found[row.name] = found[row.same_as.name]
    return None, found


def oracle(tacit, problem, folder, path, mechanism):
    plan = call(tacit, "plan", path, "--mechanism", mechanism)
    x, mu = solve(tacit, path)
    source = random.Random(f"oracle {problem.name} {mechanism}")
    errors = []
    for _ in range(DRAWS):
        inner = os.path.join(folder, "oracle")
        os.makedirs(inner, exist_ok=True)
        try:
            there = solve(tacit, write(problem, inner, *averaged_noise(problem, plan, source)))
        except RuntimeError:  # noise wider than the room of a row: there is no such point
            errors.append((math.inf, math.inf))
            continue
        errors.append((math.dist(x, there[0]), math.dist(mu, there[1])))
    return tuple(statistics.median(e[i] for e in errors) for i in (0, 1)), math.hypot(*mu)


# ---- one problem ---------------------------------------------------------------------------------------------------

def both(tacit, problem, path, mechanism, seeds):
    """The errors of the method tacit, and of the published scheme by step."""
    promise = ["--calibration", "published"] if problem.unit == "ensemble" else []
    return run(tacit, path, mechanism, seeds, "--method", "tacit"), {
        step: run(tacit, path, mechanism, seeds, "--method", "published", "--gamma-bar", step, *promise) for step in STEPS}


def again(tacit, problem, mechanism):
    """x over hindsight with more seeds."""
    with tempfile.TemporaryDirectory() as folder:
        own, old = both(tacit, problem, write(problem, folder), mechanism, MORE_SEEDS)
    least = LEAST * problem.length
    return max(own[0], least) / max(min(e[0] for e in old.values()), least)


def judge(job):
    tacit, problem, mechanism, seeds = job
    with tempfile.TemporaryDirectory() as folder:
        path = write(problem, folder)
        limit, size = oracle(tacit, problem, folder, path, mechanism)
        own, old = both(tacit, problem, path, mechanism, seeds)
    least = LEAST * problem.length, LEAST * max(size, 1e-6)
    clip = lambda pair: tuple(max(v, low) for v, low in zip(pair, least))
    return {"name": problem.name, "kind": problem.kind, "mechanism": mechanism, "tacit": clip(own), "oracle": clip(limit),
            "default": clip(old[DEFAULT]), "hindsight": clip([min(e[i] for e in old.values()) for i in (0, 1)])}


def table(found):
    """Median and worst by kind of the ratios to default, hindsight and oracle."""
    print(f"\n{'':12s}" + "".join(f"{'x / ' + other:>20s}{'mu / ' + other:>20s}" for other in ("default", "hindsight", "oracle")))
    for kind in [*kinds.KINDS, "all"]:
        of = [f for f in found if kind in (f["kind"], "all")]
        cells = []
        for other in ("default", "hindsight", "oracle"):
            for i in (0, 1):
                ratios = [f["tacit"][i] / f[other][i] for f in of]
                cells.append(f"{statistics.median(ratios):10.3g} ({max(ratios):7.3g})")
        print(f"{kind:12s}" + "".join(f"{c:>20s}" for c in cells))
    print("medians (largest)")


def goals(tacit, made, found):
    good = True

    def goal(what, value, limit):
        nonlocal good
        good = good and value <= limit
        print(f"{what}: {value:.3g} (limit {limit}){'' if value <= limit else '   MISSED'}")

    print()
    lost = [f for f in found if f["tacit"][0] > HINDSIGHT_LIMIT * f["hindsight"][0]]
    for f in lost:
        print(f"  {f['name']}, {f['mechanism']}: x {f['tacit'][0]:.3g}, hindsight {f['hindsight'][0]:.3g}, "
              f"oracle {f['oracle'][0]:.3g}; with {MORE_SEEDS} seeds "
              f"{again(tacit, next(p for p in made if p.name == f['name']), f['mechanism']):.2f} times hindsight")
    goal("problems worse than the published scheme in hindsight by more than 10 % in x", len(lost), 0)
    ratio = {kind: statistics.median(f["tacit"][0] / f["oracle"][0] for f in found if f["kind"] == kind)
             for kind in kinds.KINDS}
    goal("x over the oracle, median", statistics.median(f["tacit"][0] / f["oracle"][0] for f in found), MEDIAN_LIMIT)
    worst = max(ratio, key=ratio.get)
    goal(f"x over the oracle, worst kind ({worst})", ratio[worst], KIND_LIMIT)
    return good


def ablations(tacit, made):
    """What each part of the method is worth, on the first problem of each kind (bench_ablation)."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [write(problem, folder) for problem in made[:len(kinds.KINDS)]]
        program = os.path.join(os.path.dirname(tacit), "bench_ablation")
        print(flush=True)
        return subprocess.run([program, *paths], check=False).returncode == 0


def main():
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    quick = "--quick" in sys.argv
    tacit, seed = os.path.abspath(words[0]), int(words[1]) if len(words) > 1 else 1
    each, seeds = (1, 5) if quick else (4, 9)
    made = kinds.problems(seed, each)
    jobs = [(tacit, problem, mechanism, seeds) for problem in made for mechanism in ("laplace", "gaussian")]
    print(f"{len(made)} random problems of {len(kinds.KINDS)} kinds from seed {seed}, both mechanisms, medians of {seeds} seeds",
          flush=True)
    began, found = time.monotonic(), []
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        for result in pool.map(judge, jobs):
            found.append(result)
            numbers = "  ".join(f"{who} {result[who][0]:.3g} / {result[who][1]:.3g}" for who in ("tacit", "oracle", "hindsight"))
            print(f"{len(found):4d} of {len(jobs)}, {time.monotonic() - began:4.0f} s  {result['name']:14s} "
                  f"{result['mechanism']:9s} {numbers}", flush=True)
    table(found)
    good = goals(tacit, made, found)
    good = (quick or ablations(tacit, made)) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
