#!/usr/bin/env python3
"""examples.py TACIT [--quick]: the method `tacit` against the published scheme, over 40 seeds, both mechanisms.

The published scheme has its own promise where it has one (--calibration published: epsilon for each system by itself,
the constants of the paper's file); the method `tacit` promises the same epsilon for everything together. Where the
unit of privacy is not the published one (num, ev), both have the same joint promise. Medians over the seeds.
Prints a table; fails where a goal is missed. --quick: 4 seeds, for a first look.
"""

import json
import subprocess
import sys
import time

SEEDS = 4 if "--quick" in sys.argv else 40
TACIT = sys.argv[1]
PUBLISHED_PROMISE = ["--calibration", "published"]


def errors(problem, mechanism, rounds, options):
    """Medians of the errors in x and mu after all rounds, and the seconds that it took."""
    command = [TACIT, "run", f"examples/{problem}.tacit", "--mechanism", mechanism, "--rounds", str(rounds),
               "--seed", "1", "--seeds", str(SEEDS), "--json", *options]
    if mechanism == "gaussian" and problem == "num":
        command += ["--delta", "1e-6"]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    summary = json.loads(done.stdout)["summary"]
    return summary["x_error"]["median"], summary["mu_error"]["median"], time.monotonic() - began


met = True


def judge(what, value, limit):
    global met
    good = value <= limit
    met = met and good
    print(f"    {what} {value:.4g} (limit {limit:.4g}){'' if good else '   MISSED'}")


def compare(problem, mechanism, rounds, old_options, x_part, mu_part, both=()):
    old = errors(problem, mechanism, rounds, ["--method", "published", *old_options, *both])
    new = errors(problem, mechanism, rounds, ["--method", "tacit", *both])
    print(f"{problem}, {mechanism}, {rounds} rounds: published {old[0]:.4g} / {old[1]:.4g} ({old[2]:.0f} s), "
          f"tacit {new[0]:.4g} / {new[1]:.4g} ({new[2]:.0f} s)", flush=True)
    judge("x error over the published one", new[0] / old[0], x_part)
    judge("mu error over the published one", new[1] / old[1], mu_part)
    return old


print(f"medians of {SEEDS} seeds, x error / mu error")
for mechanism in "laplace", "gaussian":
    paper = PUBLISHED_PROMISE + ["--constants", "declared"]
    old = compare("paper", mechanism, 100000, paper, 1 / 7, 1 / 20)
    new = errors("paper", mechanism, 1000, ["--method", "tacit"])
    print(f"paper, {mechanism}, 1000 rounds: tacit {new[0]:.4g} / {new[1]:.4g}")
    judge("x error after 1,000 rounds over the published one after 100,000", new[0] / old[0], 1)
    judge("mu error after 1,000 rounds over the published one after 100,000", new[1] / old[1], 1)
    compare("paper", mechanism, 2000, paper, 1, 1)
    for rounds in 2000, 100000:
        compare("num", mechanism, rounds, [], 1, 1)
        compare("robots", mechanism, rounds, PUBLISHED_PROMISE, 1, 1)
    for rounds in 2000, 20000:
        compare("ev", mechanism, rounds, [], 1, 1, both=["--adjacency", "agent"])
sys.exit(0 if met else 1)
