"""Traces like those of real runs, made of a formula and a fixed seed: enough to see every part of a page."""
import math
import random

CARD = """--------------------------------------------------------------------------------
GUARANTEE: NOT PRIVATE
--------------------------------------------------------------------------------
NOT PRIVATE     the noise comes from a seed: whoever knows the seed knows the
                noise
Mechanism       Laplace noise, drawn exactly and added to integers
--------------------------------------------------------------------------------"""


def grid(rounds, per_decade=40):
    steps = {0, rounds // 2, rounds}
    steps.update(min(rounds, round(10 ** (i / per_decade))) for i in range(int(per_decade * math.log10(rounds)) + 1))
    return sorted(steps)


def field(value):
    return "" if value is None else repr(value)


def head(kind, **keys):
    lines = ["# tacit trace 1", f"# kind: {kind}"]
    for key, value in keys.items():
        values = value if isinstance(value, list) else [value]
        lines += [f"# {key}: {one}" for one in values if one is not None]
    return lines


def run(noise=1.0, seeds=40, rounds=100000, names=("g1", "g2", "g3", "g4", "g5", "g6"), label="laplace, published",
        problem="paper.tacit", ks=None, errors=True, facts=("mechanism = laplace", "epsilon = 0.693147 for each system",
        "hides = ensemble:1", "calibration = published", "constants = declared", "noise on = outputs",
        "problem = 10 agents, 20 states, 6 constraints", "rounds = 100000", "gamma = 0.01 k^-0.52",
        "alpha = 0.1 k^-0.3"), note=None, card=CARD,
        command="tacit run examples/paper.tacit --calibration published --constants declared --seeds 40"):
    lines = head("run", problem=problem, label=label, command=command, fact=list(facts), note=note,
                 reference_objective="4321.5", card=card.split("\n") if card else None)
    quoted = [name if not set(name) & set(',"') else None for name in names]
    columns = ["seed", "k", "x_error", "mu_error", "objective", "max_violation"]
    for what in ("g", "mu"):
        for name, plain in zip(names, quoted):
            columns.append(f"{what}[{name}]" if plain else '"%s[%s]"' % (what, name.replace('"', '""')))
    lines.append(",".join(columns))
    draw = random.Random(4711)
    for seed in range(1, seeds + 1):
        wander = [0.0] * (2 + 2 * len(names))
        for k in ks or grid(rounds):
            wander = [0.93 * w + 0.35 * draw.gauss(0, 1) for w in wander]
            fade = math.exp(-(k / rounds) * 6)
            x = abs(13.19 * fade + noise * (0.25 + 0.35 * abs(wander[0])) * min(1, k / 100))
            mu = abs(2.169 * fade + noise * (0.15 + 0.3 * abs(wander[1])) * min(1, k / 100))
            g = [-(6 * j + 1) * fade - 3 * j * (1 - fade) + noise * wander[2 + j] * min(1, k / 10)
                 for j in range(len(names))]
            prices = [max(0, 1.5 * (1 - fade) / (1 + j) + 0.2 * noise * wander[2 + len(names) + j] * min(1, k / 50))
                      for j in range(len(names))]
            row = [x if errors else None, mu if errors else None, 4321.5 + 900 * fade + 5 * noise * wander[0],
                   max(0, *g) if g else 0.0, *g, *prices]
            lines.append(f"{seed},{k}," + ",".join(map(field, row)))
    return "\n".join(lines) + "\n"


def single(**options):
    """One run with fresh noise and every round: no seed."""
    options.setdefault("label", "laplace, tight")
    text = run(seeds=1, **options)
    return "\n".join(line[1:] if line.startswith("1,") else line for line in text.split("\n"))


def marks(label="published, Fig. 1"):
    return "\n".join(head("marks", label=label) + ["k,x_error,mu_error", "0,13.19,2.169", "50000,0.7658,0.2225",
                                                     "100000,0.2706,0.2842"]) + "\n"


def sweep(seeds=20, label="laplace, tight"):
    lines = head("sweep", problem="paper.tacit", label=label, command="tacit sweep examples/paper.tacit --seeds 20",
                 fact=["mechanism = laplace", "epsilon = 9, from 0.01 to 100", "seeds = 20 for each epsilon"],
                 penalty="mean over seeds of |z - z_free|^2 after the last round", slope="-1.87", slope_low="-1.93",
                 slope_high="-1.8", intercept="-0.9", fit_from="0.01", fit_to="100", free_x_error="0.11",
                 free_mu_error="0.02", note=["Below epsilon 0.1 the sets bend it: the penalty falls more slowly."])
    lines.append("epsilon,seed,x_error,mu_error,objective,max_violation,penalty")
    draw = random.Random(17)
    for e in range(9):
        epsilon = 10 ** (e / 2 - 2)
        for seed in range(1, seeds + 1):
            penalty = 0.2 / (epsilon ** 2 + 4e-4) * math.exp(draw.gauss(0, 0.6))
            x = math.sqrt(0.11 ** 2 + 0.8 * penalty)
            row = [x, math.sqrt(0.02 ** 2 + 0.2 * penalty), 4300.0 + x, 0.3 * x, penalty]
            lines.append(f"{epsilon!r},{seed}," + ",".join(map(field, row)))
    return "\n".join(lines) + "\n"
