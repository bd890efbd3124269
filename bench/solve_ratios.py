"""`tacit solve` against Ipopt and cvxopt on the same problems, as ratios in one run: their time over tacit's.

    solve_ratios.py TACIT IPOPT_SOLVE [--quick]      exit code 1 where solutions disagree or a goal is missed

Problems: agents with balls as sets under one curved constraint; agents in boxes under ten curved or ten affine
constraints; electric vehicles with a set each under 24 constraints. 100, 1,000 and 10,000 agents; --quick leaves the last
out. Solvers take turns; the least time of each counts, and whoever is slow has one turn. Tacit's is that of the whole command: reading the files, proving
convexity, solving for the least norm, the certificate, printing. Theirs is that of the solve alone. Ipopt
(bench/ipopt_solve.c) has sparse first and second derivatives, cvxopt sparse matrices; both have their default options, but
for the ordering of Ipopt's linear solver, and their own tolerance (1e-8 and 1e-7). cvxopt factors a dense matrix as wide as the states where a constraint has all of
them, so it is asked up to 2,500 states only. docs/performance.md says more.
"""
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import time

from cvxopt import matrix, solvers, sparse, spdiag, spmatrix

tacit, ipopt_solve = [word for word in sys.argv[1:] if word != "--quick"]
SIZES = [100, 1000] if "--quick" in sys.argv else [100, 1000, 10000]
HOURS, LIMITS, MOST_CVXOPT_STATES = 24, 10, 2500
TURNS, SLOW, PATIENCE = 5, 3, 100  # whoever takes longer than SLOW seconds has one turn; PATIENCE: the longest
GOAL = 1  # of every ratio, at least
solvers.options["show_progress"] = False
folder = tempfile.TemporaryDirectory(prefix="tacit-solve-")  # removed at the end
work = pathlib.Path(folder.name)
over = []


def write_table(path, names, rows):
    path.write_text(",".join(names) + "\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows))


class Units:
    """Two states and two private numbers each."""

    def __init__(self, kind, agents):
        draw = random.Random(12345)
        self.kind, self.agents, self.dim = kind, agents, 2
        self.want = [(round(draw.random(), 6), round(draw.random(), 6)) for _ in range(agents)]
        self.path = work / f"{kind}{agents}.tacit"
        write_table(work / f"{kind}{agents}.csv", ["want_1", "want_2"], self.want)
        body = {"ball": "state x[2] in [-10, 10]; private set norm(x - want) <= 1 + want[1]\n"
                        "private minimize sumsq(x - [4 * want[1], 1])"}.get(
            kind, "state x[2] in [0, 1]; private minimize sumsq(x - want)")
        square = "^2" if kind == "quadratic" else ""
        rows = (f"constraint limit: sum(unit: sumsq(x)) <= 1.5 * {agents}" if kind == "ball" else
                f"constraint limit[j in 1..{LIMITS}]: sum(unit: x[1]{square} + j * x[2]) <= (0.1 + 0.3 * j) * {agents}")
        self.path.write_text(f'data units = csv "{kind}{agents}.csv"\nagents unit over units {{ {body} }}\n{rows}\n')

    def numbers(self):
        return [self.agents] + [number for row in self.want for number in row]

    def wish(self):
        return [[4 * a, 1] if self.kind == "ball" else [a, b] for a, b in self.want]

    def cvxopt(self):
        n = 2 * self.agents
        wish = matrix([float(v) for row in self.wish() for v in row])
        low, high = (-10.0, 10.0) if self.kind == "ball" else (0.0, 1.0)
        box = spmatrix([-1.0] * n + [1.0] * n, range(2 * n), list(range(n)) * 2)
        ends = matrix([-low] * n + [high] * n)
        if self.kind == "affine":
            return qp(2, wish, box, ends, *limit_rows(self.agents))
        return cp_ball(self, wish, box, ends) if self.kind == "ball" else cp_quadratic(self, wish, box, ends)


def limit_rows(agents):
    """The ten affine rows, and their limits."""
    n = 2 * agents
    entries = [(float(1 if v % 2 == 0 else j + 1), j, v) for j in range(LIMITS) for v in range(n)]
    rows = spmatrix(*map(list, zip(*entries)), (LIMITS, n))
    return rows, matrix([(0.1 + 0.3 * (j + 1)) * agents for j in range(LIMITS)])


def qp(weight, wish, box, ends, rows, limits):
    """min sum w (x - wish)^2: the objective without its constant is what qp returns."""
    n = len(wish)
    weights = matrix(float(weight), (n, 1)) if isinstance(weight, (int, float)) else weight
    constant = sum(w / 2 * v * v for w, v in zip(weights, wish))
    linear = matrix([-w * v for w, v in zip(weights, wish)])
    P, G, h = spdiag(weights), sparse([box, rows]), matrix([ends, limits])
    began = time.perf_counter()
    found = solvers.qp(P, linear, G, h)
    took = time.perf_counter() - began
    return took, found["primal objective"] + constant, max(0.0, max(G * found["x"] - h)), found["status"] == "optimal"


def cp(function, box, ends):
    began = time.perf_counter()
    found = solvers.cp(function, box, ends)
    took = time.perf_counter() - began
    values = function(found["x"])[0]
    return took, values[0], max(0.0, *values[1:]), found["status"] == "optimal"


def cp_ball(units, wish, box, ends):
    agents, n = units.agents, 2 * units.agents
    want = matrix([v for row in units.want for v in row])
    radii = [(1 + a) ** 2 for a, _ in units.want]

    def function(x=None, z=None):
        if x is None:
            return agents + 1, +want
        d, own = x - wish, x - want
        f = matrix(0.0, (agents + 2, 1))
        f[0] = sum(d ** 2)
        for i in range(agents):
            f[1 + i] = own[2 * i] ** 2 + own[2 * i + 1] ** 2 - radii[i]
        f[agents + 1] = sum(x ** 2) - 1.5 * agents
        values = [2 * v for v in d] + [2 * v for v in own] + [2 * v for v in x]
        rows = [0] * n + [1 + v // 2 for v in range(n)] + [agents + 1] * n
        Df = spmatrix(values, rows, list(range(n)) * 3, (agents + 2, n))
        if z is None:
            return f, Df
        return f, Df, spdiag(matrix([2 * (z[0] + z[1 + v // 2] + z[agents + 1]) for v in range(n)]))

    return cp(function, box, ends)


def cp_quadratic(units, wish, box, ends):
    agents, n = units.agents, 2 * units.agents
    limits = [(0.1 + 0.3 * (j + 1)) * agents for j in range(LIMITS)]
    places = [j for j in range(LIMITS + 1) for _ in range(n)]

    def function(x=None, z=None):
        if x is None:
            return LIMITS, matrix(0.2, (n, 1))
        d = x - wish
        squares, others = sum(x[::2] ** 2), sum(x[1::2])
        f = matrix([sum(d ** 2)] + [squares + (j + 1) * others - limits[j] for j in range(LIMITS)])
        values = [2 * v for v in d]
        for j in range(LIMITS):
            row = 2 * x
            row[1::2] = float(j + 1)
            values += list(row)
        Df = spmatrix(values, places, list(range(n)) * (LIMITS + 1), (LIMITS + 1, n))
        if z is None:
            return f, Df
        curvature = matrix(2 * z[0], (n, 1))
        curvature[::2] += 2 * sum(z[1:])
        return f, Df, spdiag(curvature)

    return cp(function, box, ends)


class Vehicles:
    """examples/ev.tacit with drawn homes, and its feeder as wide as there are homes."""

    kind, dim = "ev", HOURS
    household = [820, 800, 780, 760, 780, 840, 920, 980, 1000, 960, 900, 820,
                 720, 640, 600, 580, 560, 580, 640, 760, 840, 860, 840, 820]

    def __init__(self, agents):
        draw = random.Random(7)
        self.agents = agents
        self.limits = [(3000 - used) * agents / 1000 for used in self.household]
        self.homes = []
        for _ in range(agents):
            begin, hours = draw.randrange(4, 12), draw.randrange(4, 10)
            self.homes.append([round(draw.uniform(10, 36), 1), round(draw.uniform(0.5, 2), 2)] +
                              [3.7 if begin <= t < begin + hours else 0.0 for t in range(HOURS)])
        self.path = work / f"ev{agents}.tacit"
        write_table(work / f"ev{agents}.csv", ["need", "weight"] + [f"pref_{t + 1}" for t in range(HOURS)], self.homes)
        self.path.write_text(
            f'param limits = {self.limits}\ndata homes = csv "ev{agents}.csv"\n'
            "agents home over homes { state p[24] in [0, 7.4]; private set sum(p) >= need\n"
            "private minimize weight * sumsq(p - pref) }\n"
            "constraint feeder[t in 1..24]: sum(home: p[t]) <= limits[t]\n")

    def numbers(self):
        return [self.agents] + self.limits + [number for home in self.homes for number in home]

    def cvxopt(self):
        n = HOURS * self.agents
        wish = matrix([v for home in self.homes for v in home[2:]])
        weights = matrix([2 * home[1] for home in self.homes for _ in range(HOURS)])
        box = spmatrix([-1.0] * n + [1.0] * n, range(2 * n), list(range(n)) * 2)
        ends = matrix([0.0] * n + [7.4] * n)
        rows = spmatrix([-1.0] * n + [1.0] * n, [v // HOURS for v in range(n)] + [self.agents + v % HOURS for v in range(n)],
                        list(range(n)) * 2)
        return qp(weights, wish, box, ends, rows, matrix([-home[0] for home in self.homes] + self.limits))


def by_tacit(problem, text):
    began = time.perf_counter()
    done = subprocess.run([tacit, "solve", problem.path, "--json"], capture_output=True, text=True)
    took = time.perf_counter() - began
    answer = json.loads(done.stdout)
    return took, answer["objective"], answer["max_violation"], done.returncode == 0


def by_ipopt(problem, text):
    try:
        done = subprocess.run([ipopt_solve, problem.kind], input=text, capture_output=True, text=True, check=True,
                              timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return PATIENCE, None, None, None
    took, objective, violation, status = map(float, done.stdout.split())
    return took, objective, violation, status == 0


def by_cvxopt(problem, text):
    return problem.cvxopt()


def compare(problem):
    solvers_of = {"tacit": by_tacit, "ipopt": by_ipopt}
    if problem.agents * problem.dim <= MOST_CVXOPT_STATES:
        solvers_of["cvxopt"] = by_cvxopt
    text = "\n".join(map(repr, problem.numbers()))
    least, found = dict.fromkeys(solvers_of, math.inf), {}
    for _ in range(TURNS):
        for name, solve in solvers_of.items():
            if least[name] > SLOW and name in found:
                continue
            found[name] = solve(problem, text)
            least[name] = min(least[name], found[name][0])
    show(problem, least, found)


def show(problem, least, found):
    line = f"{problem.kind:10} {problem.agents:6} agents   tacit {1e3 * least['tacit']:9.1f} ms"
    objective = found["tacit"][1]
    for name in "ipopt", "cvxopt":
        if name not in least:
            line += f"   {name} not asked"
            continue
        ratio = least[name] / least["tacit"]
        more = ">" if found[name][1] is None else " "
        line += f"   {name} {more}{1e3 * least[name]:9.1f} ms: {more}{ratio:6.2f}"
        if ratio < GOAL:
            over.append(f"{problem.kind}, {problem.agents} agents: {name} is faster")
    print(line, flush=True)
    for name, (_, value, violation, is_solved) in found.items():
        if value is None:
            continue
        if not is_solved:
            over.append(f"{problem.kind}, {problem.agents} agents: {name} did not solve it")
        if abs(value - objective) > 1e-5 * (1 + abs(objective)) or violation > 1e-5 * (1 + problem.agents):
            over.append(f"{problem.kind}, {problem.agents} agents: {name} has objective {value:.12g} and violation "
                        f"{violation:.3g}, tacit objective {objective:.12g}")


print("times of tacit solve, the whole command, and of the others' solve alone; after the colon, their time over tacit's:")
for agents in SIZES:
    for kind in "ball", "quadratic", "affine":
        compare(Units(kind, agents))
    compare(Vehicles(agents))
for line in over:
    print(f"solve_ratios: {line}", file=sys.stderr)
sys.exit(1 if over else 0)
