#!/usr/bin/env python3
"""predictions.py TACIT [SEED] [--quick] [--save FILE.json]: what `tacit plan` says of accuracy beside what runs show.

Over random problems (kinds.py), families with a curved constraint of 50, 1,000 and 20,000 members, and the examples; 20 seeds
each. A row with a multiplier at the exact solution would end at its limit, if there were no noise and rounds enough. So what
runs show is the root mean square of its values at the results. The noise in what the cloud knows of it there is the spread of
the bounds that a run gives, less these values. A row has settled where the one is at most twice the other.

Fails where more than one in twenty of the rows that have settled is said not to, or more than one in twenty of these has a root
mean square of more than twice, or less than half, of the doubt. --quick: one problem of each kind, one mechanism in turn.
--save: all figures."""

import concurrent.futures
import csv
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile

import kinds

SEEDS = 20
ALLOWED = 1 / 20


def call(tacit, *words):
    done = subprocess.run([tacit, *map(str, words), "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 1) or not done.stdout:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


# ---- curved families ------------------------------------------------------------------------------------------------

class Curved:
    """One family of `agents` members with a state x in [-3, 3], and a limit on a sum of curved functions of these."""

    BODIES = {"square": "x^2", "quartic": "x^4", "exponential": "exp(x)", "hill": "weight * x^2 + x"}
    OBJECTIVES = {"wish": "a * (x - t)^2", "far": "a * (x - t)^2 / 20", "steep": "a * (x - t)^4"}

    def __init__(self, body, objective, agents, rounds, epsilon, part):
        self.name = f"{body}_{objective}_{agents}_{rounds}_{epsilon:g}_{part:.3f}"
        self.kind, self.rounds = f"curved {agents}", rounds
        r = random.Random(self.name)
        f = {"square": lambda x, w: x * x, "quartic": lambda x, w: x**4, "exponential": lambda x, w: math.exp(x),
             "hill": lambda x, w: w * x * x + x}[body]
        rows = [(r.uniform(0.5, 2), r.uniform(-2, 3), r.uniform(0.3, 1)) for _ in range(agents)]
        inside, wished = sum(f(0, w) for _, _, w in rows), sum(f(t, w) for _, t, w in rows)
        bound = inside + part * (wished - inside)
        gap = 2.5 * max({"wish": a * t * t, "far": a * t * t / 20, "steep": a * t**4}[objective] for a, t, _ in rows)
        self.csv = "a,t,weight\n" + "".join(f"{a!r},{t!r},{w!r}\n" for a, t, w in rows)
        self.text = (f'data rows = csv "{self.name}.csv" public weight\nagents unit over rows {{\n  state x in [-3, 3]\n'
                     f"  private minimize {self.OBJECTIVES[objective]}\n  gap {gap!r}\n  slater x = 0\n}}\n"
                     f"constraint loss: sum(unit: {self.BODIES[body]}) <= {bound!r}\n"
                     f"privacy {{ mechanism laplace; epsilon {epsilon!r}; delta 1e-6; adjacency one 1 }}\n"
                     f"schedule {{ alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds {rounds} }}\n")

    def files(self):
        return {f"{self.name}.tacit": self.text, f"{self.name}.csv": self.csv}


def curved_families(seed, quick):
    r, made = random.Random(f"curved {seed}"), []
    for agents, count in ((50, 24), (1000, 24), (20000, 8)):
        for i in range(count // 4 if quick else count):
            made.append(Curved(list(Curved.BODIES)[i % 4], r.choice(list(Curved.OBJECTIVES)), agents, r.choice([500, 2000]),
                               r.choice([0.3, 1, 3, 10]), r.uniform(0.2, 0.8)))
    return made


# ---- one case -------------------------------------------------------------------------------------------------------

def active_rows(found):
    """Names of rows that have a multiplier at the solution."""
    mu = found["mu"]
    pairs = list(mu.items() if isinstance(mu, dict) else zip(found["constraints"], mu))
    size = math.hypot(*(float(v) for _, v in pairs))
    return {name for name, v in pairs if abs(float(v)) > 1e-3 * size}


def last_values(trace):
    """By row, its values at the results of all seeds."""
    with open(trace) as file:
        lines = list(csv.reader(line for line in file if not line.startswith("#")))
    head = lines[0]
    k = head.index("k")
    last = max(int(line[k]) for line in lines[1:])
    ends = [line for line in lines[1:] if int(line[k]) == last]
    return {head[i][2:-1]: [float(line[i]) for line in ends] for i in range(len(head)) if head[i].startswith("g[")}


def judge(job):
    tacit, kind, name, path, options = job
    plan = call(tacit, "plan", path, *options)
    solved = call(tacit, "solve", path)
    active = active_rows(solved)
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace.csv")
        ran = call(tacit, "run", path, "--seed", 1, "--seeds", SEEDS, "--threads", 1, "--trace", trace, "--no-reference", *options)
        values = last_values(trace) if ran["outcome"] == "done" else {}
        bounds = {name: [one["feasibility"]["bounds"][j] for one in ran["runs"]] for j, name in enumerate(ran["constraints"])}
    rows = [{"row": c["name"], "active": c["name"] in active, "said": c, "values": values.get(c["name"], []), "bounds": bounds[c["name"]]}
            for c in plan["constraints"]]
    return {"kind": kind, "name": name, "options": options, "method_facts": plan["method_facts"], "placement": plan["placement"],
            "systems": plan["systems"], "rounds": plan["rounds"], "rows": rows, "mu": solved["mu"], "constraints": solved.get("constraints")}


def write(place, problem):
    folder = os.path.join(place, problem.name)
    os.makedirs(folder)
    for name, text in problem.files().items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    return os.path.join(folder, f"{problem.name}.tacit")


def jobs_of(tacit, seed, quick, place):
    laws = ("laplace", "gaussian")
    for i, problem in enumerate(kinds.problems(seed, 1 if quick else 4)):
        path = write(place, problem)
        for law in laws[i % 2:i % 2 + 1] if quick else laws:
            yield tacit, problem.kind, problem.name, path, ("--mechanism", law)
    for i, problem in enumerate(curved_families(seed, quick)):
        yield tacit, problem.kind, problem.name, write(place, problem), ("--mechanism", laws[(i // 4) % 2])
    for name, rounds in (("paper", 1000), ("paper", 10000), ("num", 2000), ("robots", 2000), ("ev", 2000), ("dispatch", 2000), ("lasso", 2000)):
        for law in laws:
            yield tacit, "examples", name, f"examples/{name}.tacit", ("--mechanism", law, "--rounds", rounds, *(("--delta", "1e-6") if law == "gaussian" else ()))


class Shown:
    """A row beside what was said of it."""

    def __init__(self, case, row):
        said, values = row["said"], row["values"]
        self.kind, self.name, self.law, self.row = case["kind"], case["name"], case["options"][1], row["row"]
        self.doubt, self.missing = said["doubt"], said["missing"] or 0
        self.rounds, self.reached = said["rounds_needed"], said["reached"]
        self.mean = statistics.mean(values)
        self.size = math.sqrt(statistics.mean(v * v for v in values))
        sides = [-1, 1] if said["equality"] else [1]  # the bound of an equality is one of its size
        self.noise = min(statistics.stdev(b - side * v for b, v in zip(row["bounds"], values)) for side in sides)
        self.settled = self.size <= 2 * self.noise
        self.ratio = self.size / self.doubt
        self.whole = self.size / math.hypot(self.doubt, self.missing)

    def __str__(self):
        rounds = "unknown" if self.rounds is None else f"{self.rounds:.3g}"
        return (f"{self.kind:12s} {self.name[:34]:34s} {self.law:9s} {self.row[:10]:10s} doubt {self.doubt:9.3g} missing {self.missing:9.3g} "
                f"rounds {rounds:>8s}   shown {self.size:9.3g} mean {self.mean:9.3g} noise {self.noise:9.3g}  "
                f"ratio {self.ratio:6.2f} {self.whole:6.2f}  {'settled' if self.settled else 'not settled'}"
                f"{'' if self.reached else ', said not to'}")


def goal(what, bad, count):
    met = bad <= ALLOWED * count
    print(f"{what}: {bad} of {count}{'' if met else '   MISSED'}")
    return met


def sum_up(found):
    print(f"\n{'':12s}{'rows':>6s}{'settled':>9s}{'said not to':>13s}{'ratio within 2':>16s}{'with missing within 2':>23s}")
    for kind in [*dict.fromkeys(s.kind for s in found), "all"]:
        of = [s for s in found if kind in (s.kind, "all")]
        settled = [s for s in of if s.settled]
        print(f"{kind:12s}{len(of):6d}{len(settled):9d}{sum(not s.reached for s in settled):13d}"
              f"{sum(0.5 <= s.ratio <= 2 for s in settled):16d}{sum(0.5 <= s.whole <= 2 for s in of):23d}")
    settled = [s for s in found if s.settled]
    good = goal("settled, and said not to", sum(not s.reached for s in settled), len(settled))
    good = goal("settled, and the doubt wrong by more than 2", sum(not 0.5 <= s.ratio <= 2 for s in settled), len(settled)) and good
    late = [s for s in found if not s.settled]
    print(f"not settled, and said to be: {sum(s.reached for s in late)} of {len(late)}")
    return good


def main():
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    quick, save = "--quick" in sys.argv, None
    if "--save" in sys.argv:
        save = sys.argv[sys.argv.index("--save") + 1]
        words.remove(save)
    tacit, seed = os.path.abspath(words[0]), int(words[1]) if len(words) > 1 else 1
    cases, rows = [], []
    with tempfile.TemporaryDirectory() as place, concurrent.futures.ProcessPoolExecutor(int(os.environ.get("WORKERS", os.cpu_count()))) as pool:
        for case in pool.map(judge, jobs_of(tacit, seed, quick, place)):
            cases.append(case)
            for row in case["rows"]:
                if row["active"] and row["values"]:
                    rows.append(Shown(case, row))
                    print(rows[-1], flush=True)
    if save:
        with open(save, "w") as file:
            json.dump(cases, file)
    return 0 if sum_up(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
