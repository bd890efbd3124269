#!/usr/bin/env python3
"""margins.py TACIT [SEED] [--quick] [--beside NAME=TACIT ...]: what keeps results within the constraints, and what it costs.

Over random problems (kinds.py), both mechanisms, and over homes that are each hidden entirely (homes.py), runs without a margin, with
`--margin auto` and with `--feasible always`: how many violate a constraint, how many are shown to satisfy all, how many of these do not;
the error in x over that without a margin (geometric means of medians over seeds), and for homes what the result costs more than the solution.
--beside: `--margin auto` of another program too, such as an earlier version. Fails where more results are wrongly shown than the
probability allows for (with certainty: one), or where a run that ends with a move shows nothing. --quick: one problem of each kind, 4 seeds."""

import concurrent.futures
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import kinds

PROBABILITY = 0.95
CERTAIN = "always"
LEAST = 1e-4  # of the length of the box: smaller errors count as that


def call(tacit, *words):
    done = subprocess.run([tacit, *map(str, words), "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 1) or not done.stdout:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


class Runs:
    """Of one problem: medians of the error in x and of the cost, and counts."""

    def __init__(self, found, optimum):
        runs = [one for one in found["runs"] if one["outcome"] == "done"]
        judged = [one["feasibility"] for one in runs]
        violated = [one["final"]["max_violation"] > max([0, *bounds_of_equalities(one, found)]) + 1e-9 for one in runs]
        self.count = len(runs)
        self.x = statistics.median(one["final"]["x_error"] for one in runs)
        self.cost = statistics.median(one["final"]["objective"] - optimum for one in runs)
        self.violation = statistics.median(one["final"]["max_violation"] for one in runs)
        self.violated = sum(violated)
        self.shown = sum(j["shown"] for j in judged)
        self.wrong = sum(j["shown"] and v for j, v in zip(judged, violated))
        moves = [j.get("move") for j in judged if j.get("move") is not None]
        self.move = statistics.median(moves) if moves else math.nan
        self.unshown = sum(not j["shown"] for j in judged if j.get("move") is not None)


def bounds_of_equalities(one, found):
    """Equalities are never met exactly: they may be as far off as their tolerance."""
    names = found["plan"].get("equalities") or []
    return [b for b, name in zip(one["feasibility"]["bounds"], found["constraints"]) if name in names]


def ways(tacit, beside):
    return {"no margin": (tacit, ()), **{name: (other, ("--margin", "auto")) for name, other in beside.items()},
            "auto": (tacit, ("--margin", "auto")), CERTAIN: (tacit, ("--feasible", "always"))}


def run(tacit, words, way, optimum):
    """None where certainty is refused: a family without a Slater point, a constraint not proved to be convex."""
    try:
        return Runs(call(tacit, *words), optimum)
    except RuntimeError:
        if way != CERTAIN:
            raise
        return None


def judge(job):
    name, folder, mechanism, seeds, options, tried, length = job
    path = os.path.join(folder, name)
    optimum = call(tried["no margin"][0], "solve", path)["objective"]
    words = ("run", path, "--seed", 1, "--seeds", seeds, "--threads", 1, "--mechanism", mechanism, *options)
    return length, {way: run(tacit, (*words, *more), way, optimum) for way, (tacit, more) in tried.items()}


# ---- problems ------------------------------------------------------------------------------------------------------

def write(folder, files):
    os.makedirs(folder)
    for name, text in files.items():
        pathlib.Path(folder, name).write_text(text)
    return folder


def of_kinds(place, seed, each, seeds, tried):
    for problem in kinds.problems(seed, each):
        folder = write(os.path.join(place, problem.name), problem.files())
        for mechanism in ("laplace", "gaussian"):
            yield f"{problem.name}.tacit", folder, mechanism, seeds, (), tried, problem.length


# ---- tables --------------------------------------------------------------------------------------------------------

def sum_up(title, found, tried):
    print(f"\n{title}: {len(found)} problems and mechanisms")
    print(f"{'':16s}{'violated':>14s}{'shown':>8s}{'wrongly':>9s}{'x / no margin':>15s}{'median move':>13s}")
    good = True
    for way in tried:
        took = [(length, by_way) for length, by_way in found if by_way[way] is not None]
        runs = [by_way[way] for _, by_way in took]
        ratios = [max(by_way[way].x, LEAST * length) / max(by_way["no margin"].x, LEAST * length) for length, by_way in took]
        mean = math.exp(statistics.mean(map(math.log, ratios)))
        moves = [r.move for r in runs if not math.isnan(r.move)]
        shown, wrong = sum(r.shown for r in runs), sum(r.wrong for r in runs)
        count = f"{sum(r.violated for r in runs)} of {sum(r.count for r in runs)}"
        print(f"{way:16s}{count:>14s}{shown:8d}{wrong:9d}{mean:15.3f}{statistics.median(moves) if moves else math.nan:13.3g}")
        most = 0 if way == CERTAIN else (1 - PROBABILITY) * shown + 3 * math.sqrt((1 - PROBABILITY) * shown + 1)
        good = good and wrong <= most
        good = good and sum(r.unshown for r in runs) == 0
    return good


def homes(tacit, quick, tried):
    """A function of homes.py: they are made there."""
    sys.argv = ["homes.py", tacit]
    text = pathlib.Path(__file__).with_name("homes.py").read_text().split("\nprint(")[0]
    made = {"__file__": str(pathlib.Path(__file__).with_name("homes.py")), "__name__": "homes"}
    exec(compile(text, "homes.py", "exec"), made)
    seeds = 3 if quick else 9
    for count in (200, 1000):
        with tempfile.TemporaryDirectory() as folder:
            made["write_homes"](folder, count)
            made["write"](folder, count)
            job = ("ev.tacit", folder, "gaussian", seeds, ("--adjacency", "agent", "--rounds", 1000), tried, 1.0)
            _, found = judge(job)
        print(f"\n{count} homes, each hidden entirely, medians of {seeds} seeds")
        for way, runs in found.items():
            if runs is None:
                print(f"{way:16s} refused")
                continue
            print(f"{way:16s} x error {runs.x:7.4g}, cost over the solution's {runs.cost:9.4g}, violation {runs.violation:6.4g} kW, "
                  f"move {runs.move:.3g}, shown {runs.shown} of {runs.count}", flush=True)


def main():
    words, beside, quick, seed = sys.argv[2:], {}, "--quick" in sys.argv, 1
    while words:
        word = words.pop(0)
        if word == "--beside":
            name, _, program = words.pop(0).partition("=")
            beside[name] = program
        elif word != "--quick":
            seed = int(word)
    tried = ways(sys.argv[1], beside)
    seeds = 4 if quick else 8
    with tempfile.TemporaryDirectory() as place, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(judge, of_kinds(place, seed, 1 if quick else 4, seeds, tried)))
    good = sum_up(f"random problems of kinds.py, seed {seed}", found, tried)
    homes(sys.argv[1], quick, tried)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
