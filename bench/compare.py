#!/usr/bin/env python3
"""compare.py BEFORE AFTER PROBLEMS [TURNS]: two builds of tacit take turns, and their times are compared.

BEFORE and AFTER are source trees with a release build each. PROBLEMS is a folder with the problems that `script/bench`
generates. Each turn runs one figure's command in one build, then in the other. The table has the least time of each,
the ratio of these, and the median of the turns' ratios: the two ratios differ where the machine was not quiet.

Before the clock runs, seeded runs of both builds are compared: the exit code is 1 where a number differs.
"""
import json
import pathlib
import re
import statistics
import subprocess
import sys
import time

before, after, problems = map(pathlib.Path, sys.argv[1:4])
turns = int(sys.argv[4]) if len(sys.argv) > 4 else 5
trees = (before, after)
examples = after / "examples"
MOST_SECONDS = 60  # for one command; a dear one has fewer turns

# What a bench program prints of itself: (what, program, arguments, [(figure, pattern, unit)]). A rate becomes a time.
PRINTED = [
    ("bench_sampler", [], [
        ("exact Laplace, one draw", r"^exact Laplace +([\d.]+) million", "rate"),
        ("exact Gaussian, one draw", r"^exact Gaussian +([\d.]+) million", "rate"),
        ("opening a round", r"^opening a round: ([\d.]+) ns", "ns"),
    ]),
    ("bench_paper", [examples / "paper.tacit"], [
        ("paper, Laplace, a round", r"^laplace: engine ([\d.]+) ns", "ns"),
        ("paper, Gaussian, a round", r"^gaussian: engine ([\d.]+) ns", "ns"),
        ("paper, Laplace, method tacit", r"^laplace: method tacit ([\d.]+) ns", "ns"),
        ("paper, Gaussian, method tacit", r"^gaussian: method tacit ([\d.]+) ns", "ns"),
    ]),
    ("bench_large", [problems / "units1000000^2.tacit"], [
        ("10^6 agents, noise on states, two threads", r"^\d+ agents, 2 threads: a round ([\d.]+) ms", "ms"),
        ("10^6 agents, noise on states, one thread", r"^\d+ agents, one thread: a round ([\d.]+) ms", "ms"),
    ]),
    ("bench_large", [problems / "units1000000.tacit"], [
        ("10^6 agents, affine, two threads", r"^\d+ agents, 2 threads: a round ([\d.]+) ms", "ms"),
        ("10^6 agents, affine, one thread", r"^\d+ agents, one thread: a round ([\d.]+) ms", "ms"),
    ]),
]
# Whole commands, by the wall clock.
COMMANDS = [
    ("check, 10^5 agents", ["check", problems / "units100000^2.tacit"]),
    ("solve, 10^5 agents", ["solve", problems / "units100000^2.tacit"]),
    ("solve, 10^5 agents with ball sets", ["solve", problems / "ball.tacit"]),
    ("check, examples/ev", ["check", examples / "ev.tacit"]),
    ("solve, examples/ev", ["solve", examples / "ev.tacit"]),
]
RUNS = [[name, *mechanism.split(), "--seed", "1", "--rounds", "200", *more]
        for name in ("paper", "num", "robots", "ev", "lasso", "dispatch")
        for mechanism in ("--mechanism laplace", "--mechanism gaussian --delta 1e-6")
        for more in ([], ["--adjacency", "agent"], ["--method", "published"], ["--placement", "outputs"])]


def call(tree, program, arguments):
    command = [tree / "build/release" / program, *arguments]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


def without_times(value):
    """What must not differ: all but times."""
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if key not in ("seconds", "times")}
    if isinstance(value, list):
        return [without_times(inner) for inner in value]
    return value


def compare_results():
    differ = equal = refused = 0
    for name, *options in RUNS:
        done = [call(tree, "tacit", ["run", examples / f"{name}.tacit", "--json", *options]) for tree in trees]
        what = " ".join([name, *options])
        if done[0].returncode != done[1].returncode:
            print(f"run {what}: exit {done[0].returncode} before, {done[1].returncode} after")
            differ += 1
        elif done[0].returncode not in (0, 1):
            refused += 1
        else:
            pair = [without_times(json.loads(one.stdout)) for one in done]
            names = [key for key in pair[0] if key in pair[1] and pair[0][key] != pair[1][key]]
            if names:
                print(f"run {what}: before and after differ in {', '.join(names)}")
            differ += bool(names)
            equal += not names
    print(f"seeded runs: {equal} with the same numbers, {differ} with others, {refused} refused by both")
    return differ == 0


def figures_printed(tree, program, arguments, figures):
    text = call(tree, program, arguments).stdout
    for name, pattern, unit in figures:
        found = re.search(pattern, text, re.MULTILINE)
        if found:
            value = float(found[1])
            yield (name, 1e3 / value, "ns") if unit == "rate" else (name, value, unit)


def seconds_of(tree, arguments):
    began = time.monotonic()
    done = call(tree, "tacit", arguments)
    seconds = time.monotonic() - began
    return seconds if done.returncode in (0, 1) else None


def show(name, unit, pairs):
    least = [min(pair[side] for pair in pairs) for side in (0, 1)]
    median = statistics.median(pair[1] / pair[0] for pair in pairs)
    print(f"{name:44} {least[0]:10.4g} {least[1]:10.4g} {unit:2} {least[1] / least[0]:7.2f} {median:7.2f}", flush=True)


def main():
    same = compare_results()
    print(f"\n{'':44} {'before':>10} {'after':>10}    {'ratio':>7} {'median':>7}")
    for program, arguments, figures in PRINTED:
        seen = {}
        for _ in range(turns):
            sides = [{name: (value, unit) for name, value, unit in figures_printed(tree, program, arguments, figures)}
                     for tree in trees]
            for name in sides[0].keys() & sides[1].keys():
                seen.setdefault((name, sides[0][name][1]), []).append((sides[0][name][0], sides[1][name][0]))
        for name, _, _ in figures:
            for (named, unit), pairs in seen.items():
                if named == name:
                    show(name, unit, pairs)
    for name, arguments in COMMANDS:
        pairs = []
        began = time.monotonic()
        while len(pairs) < turns and (not pairs or time.monotonic() - began < MOST_SECONDS):
            pair = [seconds_of(tree, arguments) for tree in trees]
            if None in pair:
                break
            pairs.append(pair)
        if pairs:
            show(name, "s", pairs)
        else:
            print(f"{name:44} not by both")
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
