"""Certificates of plans: the same bytes from the whole file and from the cloud's; a verifier that shares no code with the
program proves them, on the examples and on random problems, and refuses those in which a number was changed.

With TACIT_LONG=1 a thousand random problems. Under sanitizers an eighth of them, and nothing that is about the verifier
alone, which is no C."""
# labels: long not-clang
import copy
import hashlib
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

TACIT = os.environ["TACIT"]
SOURCE = pathlib.Path(os.environ["TACIT_SOURCE_DIR"]).resolve()
sys.path.insert(0, str(SOURCE / "examples/verify"))

import interval  # noqa: E402
import verify_plan as V  # noqa: E402
from certificate_problems import Problem  # noqa: E402
from expression import Graph, Malformed, Unprovable  # noqa: E402
from plan import Refused  # noqa: E402

EXAMPLES = ("dispatch", "ev", "num", "paper", "robots")
SANITIZED = bool(os.environ.get("TACIT_SANITIZE"))
EIGHTH = 8 if SANITIZED else 1
PROBLEMS = (1000 if os.environ.get("TACIT_LONG") else 64) // EIGHTH
of_the_verifier = unittest.skipIf(SANITIZED, "of the verifier alone")
COMMAND = [sys.executable, str(SOURCE / "examples/verify/verify_plan.py")]


def tacit(*arguments):
    return subprocess.run([TACIT, *map(str, arguments)], capture_output=True, text=True, timeout=1200)


def verdict(text, folder):
    """None where it is proved, else why not. Under sanitizers it is read alone: the release build's are proved."""
    path = pathlib.Path(folder) / "looked-at.json"
    path.write_text(text)
    try:
        read = V.read(path)
        if not SANITIZED:
            V.verify(*read)
    except Malformed as wrong:
        return f"no certificate: {wrong}"
    except (Refused, Unprovable) as no:
        return f"no: {no}"
    return None


class Folder(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="tacit-certificate-")
        self.folder = pathlib.Path(self.place.name)
        self.addCleanup(self.place.cleanup)

    def certify(self, problem, *options):
        """The certificate's text, or None and why."""
        path = self.folder / "made.json"
        path.unlink(missing_ok=True)
        done = tacit("plan", problem, *options, "--certificate", path)
        return (path.read_text(), None) if path.exists() else (None, done.stdout + done.stderr)


def settings():
    """Mechanisms, calibrations, units, placements and holds."""
    for mechanism in ("laplace", "gaussian"):
        common = ("--mechanism", mechanism, "--rounds", "500", *(("--delta", "1e-6") if mechanism == "gaussian" else ()))
        yield (*common, "--calibration", "published", "--adjacency", "ensemble:1")
        for unit in ("one:0.5", "ensemble:0.7", "agent"):
            for method, placement in (("tacit", "states"), ("tacit", "forms"), ("tacit", "outputs"), ("published", "outputs")):
                yield (*common, "--adjacency", unit, "--method", method, "--placement", placement)
        yield (*common, "--adjacency", "one:2", "--on-late", "hold", "--most-holds", "2")


def some_settings():
    """All of them; under sanitizers every third, so that each placement is among them."""
    return list(settings())[::3 if SANITIZED else 1]


class Examples(Folder):
    def test_the_whole_file_and_the_clouds_give_the_same_bytes_and_every_price_is_proved(self):
        for name in EXAMPLES:
            whole = SOURCE / f"examples/{name}.tacit"
            parts = self.folder / name
            self.assertEqual(tacit("split", whole, "-o", parts).returncode, 0)
            proved = 0
            for options in ((), *some_settings()):
                text, why = self.certify(whole, *options)
                again, _ = self.certify(parts / "cloud.tacit", *options)
                self.assertEqual(text, again, (name, options))
                if text is None:
                    self.assertRegex(why, "not affine|noise on linear forms|NOT PRIVATE|No plan", (name, options))
                    continue
                if not options:
                    self.assertEqual(json.loads(text)["hash"], (parts / "plan.hash").read_text().strip())
                self.assertIsNone(verdict(text, self.folder), (name, options))
                proved += 1
            self.assertGreaterEqual(proved, 5 if SANITIZED else 19, name)

    def test_coalitions_are_proved_and_the_command_says_so(self):
        path = self.folder / "robots.json"
        done = tacit("plan", SOURCE / "examples/robots.tacit", "--method", "published", "--placement", "outputs", "--coalition",
                     "robot[2],robot[1]", "--certificate", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(path.read_text())["hash"]
        for more, code, words in (((), 0, "yes: "), (("--plan", found), 0, "yes: "), (("--plan", "0" * 64), 1, "no: the plan's hash")):
            said = subprocess.run([*COMMAND, str(path), *more], capture_output=True, text=True, timeout=1200)
            self.assertEqual(said.returncode, code, said.stderr)
            self.assertTrue(said.stdout.startswith(words), said.stdout)

    def test_what_is_no_certificate_has_exit_code_2(self):
        path = self.folder / "no.json"
        whole, _ = self.certify(SOURCE / "examples/num.tacit")
        for text in ("", "{}", "hello", whole[:-50], whole.replace('"views"', '"vews"'), whole.replace('"add"', '"ad"'),
                     whole.replace('"members": 10,', '"members": 10.5,'), whole.replace('"laplace"', '"cauchy"'),
                     whole + "more", whole.replace("[0, 0]", "[0, 99]", 1), whole.replace('"epsilon": 1,', '"epsilon": NaN,')):
            path.write_text(text)
            said = subprocess.run([*COMMAND, str(path)], capture_output=True, text=True, timeout=1200)
            self.assertEqual(said.returncode, 2 if text != whole else 0, text[:200] + said.stdout + said.stderr)
        self.assertEqual(subprocess.run([*COMMAND, str(self.folder / "none")], capture_output=True, timeout=1200).returncode, 2)


    def test_equalities_that_are_no_constraints_are_no_certificate(self):
        text, _ = self.certify(SOURCE / "examples/dispatch.tacit")
        listed = json.loads(text)
        self.assertEqual(listed["plan"]["equalities"], ["balance"])
        for wrong in (["balanced"], "balance", [["balance"]]):
            listed["plan"]["equalities"] = wrong
            with self.assertRaises(Malformed):
                V.Plan(listed["plan"], V.Model(listed["model"]))


class Writing(Folder):
    def test_nothing_is_written_for_a_plan_that_promises_nothing(self):
        path = self.folder / "c.json"
        for options in (("--mechanism", "none"), ("--seed", "1"), ("--calibration", "published", "--constants", "declared")):
            done = tacit("plan", SOURCE / "examples/paper.tacit", *options, "--certificate", path)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("was not written", done.stderr)
            self.assertFalse(path.exists())

    def test_it_takes_the_place_of_a_certificate_and_of_nothing_else(self):
        path, problem = self.folder / "c.json", self.folder / "p.tacit"
        problem.write_text((SOURCE / "examples/paper.tacit").read_text())
        before = problem.read_text()
        self.assertEqual(tacit("plan", problem, "--certificate", path).returncode, 0)
        first = path.read_text()
        self.assertEqual(tacit("plan", problem, "--epsilon", "2", "--certificate", path).returncode, 0)
        self.assertNotEqual(path.read_text(), first)
        done = tacit("plan", problem, "--certificate", problem)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(problem.read_text(), before)
        other = self.folder / "notes.json"
        other.write_text('{"mine": 1}\n')
        done = tacit("plan", problem, "--certificate", other)
        self.assertEqual(done.returncode, 2)
        self.assertIn("which is not a certificate", done.stderr)
        self.assertEqual(other.read_text(), '{"mine": 1}\n')
        self.assertEqual(tacit("plan", problem, "--certificate", self.folder / "none/c.json").returncode, 3)


class Random(Folder):
    def test_certificates_of_random_problems_are_proved(self):
        made = seed = 0
        wrong = []
        while made < PROBLEMS:
            problem = Problem(seed)
            seed += 1
            for name, text in {"p.tacit": problem.text, **problem.files}.items():
                (self.folder / name).write_text(text)
            text, _ = self.certify(self.folder / "p.tacit", *problem.options)
            if text is None:
                continue
            made += 1
            why = verdict(text, self.folder)
            if why is not None:
                wrong.append(f"seed {seed - 1}, {' '.join(problem.options)}: {why}\n{problem.text}")
        self.assertFalse(wrong, "\n".join(wrong))
        self.assertLess(seed, 1.3 * PROBLEMS)


class Exponents(Folder):
    def test_exponents_that_differ_between_members_are_proved(self):
        (self.folder / "e.csv").write_text("e,w\n1.5,1\n2.25,0.5\n2,3\n3,1\n")
        rows = {"[0.1, 3]": "sum(a: w * x[1]^e)", "[0, 3]": "sum(a: x[1]^(2 * i) + x[2])",
                "[-2, 3]": "sum(a: (x[1] + x[2])^(2 * i)) / 100 + a[2].x[1]", "[0.5, 2]": "(sum(a: w * x[1]^(e - 1)) + 1)^2"}
        proved = 0
        for box, row in rows.items():
            path = self.folder / "p.tacit"
            path.write_text(f'data d = csv "e.csv" public e, w\nagents a[i] over d {{ state x[2] in {box}; private minimize sum(x) }}\n'
                            f"constraint c: {row} <= 1000\nconstraint other: sum(a: x[1]) <= 4\ndual radius 10\n")
            for options in some_settings():
                text, why = self.certify(path, *options, "--epsilon", "1")
                if text is None:
                    self.assertRegex(why, "not affine|noise on linear forms|NOT PRIVATE|No plan|not proved", (row, options))
                    continue
                self.assertIsNone(verdict(text, self.folder), (row, options))
                proved += '"powd"' in text
        self.assertGreaterEqual(proved, 6 if SANITIZED else 30)


# ---- the verifier's own bounds ----

@of_the_verifier
class Sound(Folder):
    """Where the verifier says "at most", points that are tried never say more."""

    @staticmethod
    def released(s, x):
        """Constraints and slopes at a point: {(family, member): states}; {key: value}."""
        model, inputs = s.model, {}

        def of(graph, roots, box, data=()):
            return [low / 2 + high / 2 for low, high in graph.enclose(roots, box, data)]
        for n, (kind, *place) in enumerate(model.inputs):
            if kind == "sum":
                f, b = model.sums[place[0]]
                family = model.families[f]
                total = sum(of(family.graph, (family.sums[b][1],), {c: (v, v) for c, v in enumerate(x[f, k])}, family.data_of(k))[0]
                            for k in range(family.members))
            else:
                total = x[place[0], place[1]][place[2]]
            inputs[n] = (total, total)
        found = {("g", j): of(s.graph, (s.rows[j],), inputs)[0] for j in s.released}
        for (j, i), e in model.slopes.items():
            p = of(s.graph, (e,), inputs)[0]
            kind, *place = model.inputs[i]
            if kind == "state":
                key = ("J", place[0], j, place[2], place[1])
                found[key] = found.get(key, 0.0) + p
                continue
            f, b = model.sums[place[0]]
            family = model.families[f]
            for (body, c), slope in family.slopes.items():
                for k in range(family.members if body == b else 0):
                    box = {n: (v, v) for n, v in enumerate(x[f, k])}
                    key = ("J", f, j, c, k)
                    found[key] = found.get(key, 0.0) + p * of(family.graph, (slope,), box, family.data_of(k))[0]
        return found

    def test_released_numbers_move_no_more_than_their_columns_say(self):
        moved = 0
        for seed in range(60):
            problem = Problem(seed)
            if sum(members for _, members, *_ in problem.families) > 20:
                continue
            for name, text in {"p.tacit": problem.text, **problem.files}.items():
                (self.folder / name).write_text(text)
            text, _ = self.certify(self.folder / "p.tacit", "--mechanism", "laplace", "--epsilon", "1", "--adjacency", "one:1",
                                   "--rounds", "9", "--method", "published", "--placement", "outputs")
            if text is None:
                continue
            listed = json.loads(text)
            model = V.Model(listed["model"])
            s = V.Sensitivity(model, V.Plan(listed["plan"], model), 0)
            draw = random.Random(seed)
            for group, _, columns in s.blocks(V.View(everything=True), 1):
                x = {(f, k): [draw.choice([low, high, draw.uniform(low, high)]) for low, high in family.box(k)]
                     for f, family in enumerate(model.families) for k in range(family.members)}
                c = draw.randrange(group.family.dim)
                low, high = group.box[c]
                there = {place: list(states) for place, states in x.items()}
                there[group.number, group.member][c] = low if x[group.number, group.member][c] > low / 2 + high / 2 else high
                distance = abs(there[group.number, group.member][c] - x[group.number, group.member][c])
                before, after, sums = self.released(s, x), self.released(s, there), {}
                for key, value in before.items():
                    change, scale = abs(after[key] - value), abs(after[key]) + abs(value) + 1
                    if key[0] == "J" and key[1:4] in s.together:
                        key = ("T", *key[1:4])
                    sums[key] = sums.get(key, 0.0) + max(0.0, change - 1e-11 * scale)
                for key, change in sums.items():
                    most = V.I.magnitude(columns[c].get(key, (0.0, 0.0))) * distance
                    self.assertLessEqual(change, most * (1 + 1e-9), (seed, key, group.number, group.member, c))
                    moved += change > 0.3 * most > 0
        self.assertGreater(moved, 100)

    def test_norms_that_are_proved_are_norms(self):
        from mpmath import mp
        draw = random.Random(5)
        for _ in range(60):
            rows, columns = draw.randint(1, 7), draw.randint(1, 7)
            weights = [draw.choice([1, 1, 3]) for _ in range(columns)]
            spread = draw.choice([0.0, 0.0, 0.3])
            matrix = [(w, {r: (v - spread, v + spread) for r in range(rows) for v in [draw.gauss(0, 1)] if draw.random() < 0.8})
                      for w in weights]
            worst = 0.0
            for _ in range(3 if spread else 1):
                dense = mp.zeros(rows, sum(weights))
                at_column = 0
                for w, entries in matrix:
                    for _ in range(w):
                        for r, (low, high) in entries.items():
                            dense[r, at_column] = draw.choice([low, high])
                        at_column += 1
                worst = max(worst, float(mp.svd_r(dense, compute_uv=False)[0]))
            self.assertFalse(V.norm.at_most(matrix, worst * (1 - 1e-9)))
            if not spread:
                self.assertTrue(V.norm.at_most(matrix, worst * (1 + 1e-9)))


# ---- certificates that were changed ----

def numbers(value, path=()):
    """Where numbers are in a certificate."""
    if isinstance(value, bool):
        return
    if isinstance(value, (int, float)):
        yield path
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers(inner, (*path, key))
    elif isinstance(value, list):
        for key, inner in enumerate(value):
            yield from numbers(inner, (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def put(value, path, new):
    at(value, path[:-1])[path[-1]] = new


def write(listed, honest=False):
    """As text; honest: with hashes that fit what is written, as one who wants to deceive would have them."""
    parts = {key: json.dumps(listed[key]) for key in ("plan", "model")}
    hashes = {"hash": listed["hash"], "model_hash": listed["model_hash"]}
    if honest:
        hashes = {name: hashlib.sha256((parts[key] + "\n").encode()).hexdigest()
                  for key, name in (("plan", "hash"), ("model", "model_hash"))}
    return f'{{"format": {json.dumps(listed["format"])},\n' + "".join(f'"{k}": "{v}",\n' for k, v in hashes.items()) + \
        f'"views": {json.dumps(listed["views"])},\n"plan": {parts["plan"]}\n, "model": {parts["model"]}\n}}\n'


# What a deceiver would lower, raise or move: the path's first and last name, and the new number.
LESS, MORE = (lambda x: x * (1 - 1e-6)), (lambda x: x * (1 + 1e-6))
DECEPTIONS = {
    ("systems", "scale"): LESS, ("systems", "constant"): LESS, ("systems", "sensitivity"): LESS, ("systems", "variance"): LESS,
    ("systems", "lattice_scale"): LESS, ("systems", "step_exponent"): lambda x: x + 30, ("systems", "entries"): lambda x: x + 1,
    ("systems", "first_entry"): lambda x: x + 1, ("systems", "first_row"): lambda x: x + 1, ("systems", "rows"): lambda x: x + 1,
    ("systems", "members"): lambda x: x - 1, ("systems", "first_member"): lambda x: x + 1, ("systems", "family"): lambda x: x + 1,
    ("observers", "epsilon"): LESS, ("observers", "mu"): LESS, ("observers", "delta"): lambda x: x / 2 if x else -1e-9,
    ("observers", "delta_at_asked_epsilon"): LESS, ("lattice", "state_exponent"): lambda x: x + 12,
    ("lattice", "state_step"): MORE, ("lattice", "sum_exponents"): lambda x: x + 30, ("lattice", "overhead"): lambda x: x + 1e-6,
}


def lies(listed):
    """(path, new number) of changes that make a claim larger than the truth; the rest of the file fits them."""
    plan = listed["plan"]
    for path in numbers(plan):
        rule = DECEPTIONS.get((path[0], next((k for k in reversed(path) if isinstance(k, str)), None)))
        if rule is not None and not (path[-1] == "epsilon" and at(plan, path) == 0) and \
                not (path[-1] in ("mu", "delta_at_asked_epsilon", "constant") and at(plan, path) == 0):
            yield ("plan", *path), rule(at(plan, path))
    yield ("plan", "epsilon"), LESS(plan["epsilon"])
    yield ("plan", "entries"), plan["entries"] + 1
    if plan["mechanism"] == "gaussian":
        yield ("plan", "delta"), plan["delta"] / 2
    if "kappa" in plan:
        yield ("plan", "kappa"), plan["kappa"] * (1 - 1e-4)
    if plan["unit"] == "agent":
        yield ("plan", "rounds"), plan["rounds"] + 1
    else:
        yield ("plan", "adjacency"), plan["adjacency"] * 1.001
        yield ("plan", "hold_cap"), plan["hold_cap"] + 1


@of_the_verifier
class Changed(Folder):
    def certificates(self):
        robots, num, paper, ev = (SOURCE / f"examples/{name}.tacit" for name in ("robots", "num", "paper", "ev"))
        curved = ("--method", "published", "--placement", "outputs", "--rounds", "300")
        yield robots, ("--mechanism", "laplace", "--adjacency", "one:1", *curved)
        yield robots, ("--mechanism", "gaussian", "--adjacency", "ensemble:1", *curved)
        yield robots, ("--mechanism", "laplace", "--adjacency", "agent", *curved)
        yield num, ("--mechanism", "gaussian", "--delta", "1e-6", "--adjacency", "one:1", "--placement", "forms")
        yield num, ("--mechanism", "laplace", "--adjacency", "agent", "--rounds", "300", "--placement", "states")
        yield paper, ("--mechanism", "gaussian", "--delta", "1e-3", "--calibration", "published")
        yield ev, ("--mechanism", "gaussian", "--adjacency", "agent", "--rounds", "300")

    def test_every_number_that_is_changed_is_noticed(self):
        """One number is changed, and nothing else."""
        for problem, options in self.certificates():
            text, why = self.certify(problem, *options)
            self.assertIsNotNone(text, why)
            listed = json.loads(text)
            self.assertIsNone(verdict(write(listed, honest=True), self.folder))
            for path in numbers(listed):
                changed = copy.deepcopy(listed)
                value = at(listed, path)
                put(changed, path, value + 1 if isinstance(value, int) else value * (1 + 1e-15) + 1e-300)
                if path[0] == "views":
                    continue  # tested below
                with self.subTest(problem=problem.name, path=path):
                    with self.assertRaises((Refused, Malformed)):
                        V.check_hashes(*self.read(write(changed)), None)

    def read(self, text):
        path = self.folder / "changed.json"
        path.write_text(text)
        return V.read(path)

    def test_claims_that_are_larger_than_the_truth_are_refused_though_all_hashes_fit(self):
        kinds = set()
        for problem, options in self.certificates():
            text, _ = self.certify(problem, *options)
            listed = json.loads(text)
            seen = {}
            for path, new in lies(listed):
                kind = tuple(k for k in path if isinstance(k, str))
                seen[kind] = seen.get(kind, 0) + 1
                if seen[kind] > 1:
                    continue  # the first of a kind stands for the others
                kinds.add(kind)
                changed = copy.deepcopy(listed)
                put(changed, path, new)
                if path == ("plan", "adjacency"):
                    changed["plan"]["unit"] = f"{changed['plan']['unit'].split(':')[0]}:{new!r}"
                with self.subTest(problem=problem.name, options=options, path=path):
                    self.assertIsNotNone(verdict(write(changed, honest=True), self.folder))
        self.assertGreaterEqual(len(kinds), 26, kinds)

    def test_views_of_others_and_observers_left_out_are_refused(self):
        text, _ = self.certify(SOURCE / "examples/num.tacit", "--coalition", "video,backup", "--method", "published")
        listed = json.loads(text)
        for i in range(len(listed["views"])):
            changed = copy.deepcopy(listed)
            changed["views"][i] = {"agents": [[0, 5]]} if listed["views"][i] != {"agents": [[0, 5]]} else {"agents": [[0, 6]]}
            self.assertIsNotNone(verdict(write(changed, honest=True), self.folder), i)
            changed = copy.deepcopy(listed)
            del changed["views"][i], changed["plan"]["observers"][i]
            why = verdict(write(changed, honest=True), self.folder)
            self.assertEqual(why is None, listed["plan"]["observers"][i]["kind"] == "coalition", (i, why))

    def test_a_model_that_moves_more_is_refused_though_all_hashes_fit(self):
        """Wider boxes, larger coefficients, data and powers. Only the hash of the model shows one that moves less."""
        robots = ("robots.tacit", "--method", "published", "--placement", "outputs", "--adjacency", "one:1")
        num = ("num.tacit", "--placement", "outputs")
        cases = []
        for name, *options in (robots, num):
            text, why = self.certify(SOURCE / "examples" / name, *options)
            self.assertIsNotNone(text, why)
            listed = json.loads(text)
            model = listed["model"]
            family = ("model", "families", 0)
            if name == "robots.tacit":
                cases += [(listed, (*family, "upper", 0), 10.001), (listed, (*family, "lower", 1), -10.001)]
            factors = {node[1] for node in model["nodes"] if node[0] == "mul"}
            for n, node in enumerate(model["nodes"]):
                if node[0] == "pow":
                    cases.append((listed, ("model", "nodes", n, 2), node[2] + 1))
                if node[0] == "number" and n in factors:
                    cases.append((listed, ("model", "nodes", n, 1), node[1] * 1.001))
            for n, column in enumerate(model["families"][0]["data"]):
                k = max(range(len(column)), key=lambda i: column[i])
                cases.append((listed, (*family, "data", n, k), column[k] * 1.001))
        self.assertGreater(len(cases), 10)
        for listed, path, new in cases:
            changed = copy.deepcopy(listed)
            put(changed, path, new)
            with self.subTest(path=path, new=new):
                self.assertIsNotNone(verdict(write(changed, honest=True), self.folder))


# ---- certificates that somebody forged ----

CUBE = """agents a[i in 1..4] {{ state x[2] in [0, 1]; private minimize sumsq(x) }}
constraint c: {row} <= 2
dual radius 10
privacy {{ mechanism laplace; epsilon 1; adjacency one 1 }}
schedule {{ rounds 10 }}
"""


def runs(plan, place, starts, members=1):
    """The system at a place, and none of those behind it, once for each start, with that many members; addresses fit."""
    systems = plan["systems"]
    one = systems[place]
    each = one["entries"] // one["members"] * members
    systems[place:] = [{**one, "first_member": k, "members": members, "entries": each} for k in starts]
    at_entry = 0
    for system in systems:
        system["first_entry"] = at_entry
        at_entry += system["entries"]
    plan["entries"] = at_entry


def rehashed(text):
    """With hashes that fit a text that was changed."""
    plan, model = (text.rindex(f'"{key}": {{') + len(key) + 4 for key in ("plan", "model"))
    parts = {"hash": text[plan:text.rindex("}", 0, model - 9) + 1], "model_hash": text[model:text.rindex("}")].rstrip()}
    for name, part in parts.items():
        text = re.sub(f'"{name}": "[0-9a-f]*"', f'"{name}": "{hashlib.sha256((part + chr(10)).encode()).hexdigest()}"', text, count=1)
    return text


@of_the_verifier
class Forged(Folder):
    """All hashes fit, and all numbers that follow from others."""

    def cube(self, row, *options):
        path = self.folder / "cube.tacit"
        path.write_text(CUBE.format(row=row))
        text, why = self.certify(path, *options)
        self.assertIsNotNone(text, why)
        return json.loads(text)

    def refused(self, listed, words):
        self.assertRegex(verdict(write(listed, honest=True), self.folder) or "yes", words)

    def test_each_member_has_noise_once(self):
        states = self.cube("sum(a: x[1])", "--placement", "states")
        slopes = self.cube("sum(a: x[1])^2 + sum(a: x[2]^2)", "--method", "published", "--placement", "outputs")
        place = next(n for n, s in enumerate(slopes["plan"]["systems"]) if s["kind"] == "jacobian")
        every = self.cube("sum(a: x[1])^2 + sum(a: x[2]^2)", "--calibration", "published", "--adjacency", "ensemble:1")
        self.assertTrue(every["plan"]["systems"][1]["every_entry"])
        for listed, at_place in ((states, 0), (slopes, place), (every, 1)):
            for starts, members, right in (((0, 0, 0, 3), 1, False), ((0, 1, 3), 1, False), ((0, 1, 1, 2, 3), 1, False),
                                           ((1, 2, 3), 1, False), ((0, 1, 2), 2, False), ((0, 1, 2), 1, False), ((0,), 1, False),
                                           ((0, 0), 4, False), ((0,), 4, True), ((0, 1, 2, 3), 1, listed is not slopes)):
                forged = copy.deepcopy(listed)
                runs(forged["plan"], at_place, starts, members)
                self.refused(forged, "^yes" if right else "not all released|members|no noise")

    def test_functions_are_bounded_in_their_domain_alone(self):
        """hump and pair are at most 1/4 where their operands are shares; so are softmax's, and no others'."""
        one, ten = (0.0, 1.0), (0.0, 10.0)
        self.assertEqual((interval.hump(one)[1], interval.pair(one, one)[1]), (0.25, 0.25))
        for wide in (interval.hump(ten), interval.pair(one, ten), interval.pair(ten, one)):
            self.assertEqual(wide, interval.WHOLE)
        shares = [["state", 0], ["state", 1], ["softmax", [0, 1], 0], ["softmax", [0, 1], 1]]
        for pair, right in (((2, 3), True), ((3, 2), True), ((2, 2), False), ((0, 0), False), ((0, 3), False)):
            if right:
                Graph([*shares, ["pair", *pair]], "state", 2, 0)
            else:
                with self.assertRaisesRegex(Unprovable, "two shares of one softmax"):
                    Graph([*shares, ["pair", *pair]], "state", 2, 0)

    def test_a_form_is_affine(self):
        """What a member adds to a curved sum moves with the slope at its own state, and forms have noise on sums alone."""
        listed = self.cube("sum(a: 0.25 * x[1])", "--placement", "forms")
        family = listed["model"]["families"][0]
        for node, right in ((["mul", 0, 2], True), (["mul", 0, 0], False)):
            family["nodes"] = [["state", 0], ["state", 1], ["number", 0.25], node]
            family["sums"] = [[family["sums"][0][0], 3]]
            self.refused(listed, "^yes" if right else "^no: form 1 is curved")

    def test_every_text_says_one_thing(self):
        whole, _ = self.certify(SOURCE / "examples/num.tacit", "--adjacency", "one:0.1")
        self.assertIsNone(verdict(rehashed(whole), self.folder))
        plan, twice = json.loads(whole)["plan"], '"first_entry": 0,'
        self.assertIn(twice, whole)
        agent = self.cube("sum(a: x[1])", "--adjacency", "agent")
        texts = [whole.replace(twice, twice + twice), whole.replace('"indexed": true,', '"indexed": false, "indexed": true,'),
                 whole.replace('"views": [', '"views": [], "views": ['), whole.replace('"adjacency": 0.1', f'"adjacency": 1{"0" * 400}'),
                 whole.replace('"scale": ', '"scale": 1e999, "was": '),
                 whole.replace('{"sum": 0}', '{"sum": false}'), whole.replace('{"sum": 0}', '{"sum": [0]}'),
                 whole.replace('"plan": {', '"also": 0, "plan": {')]
        for text in texts:
            self.assertNotIn(text, (whole, ""))
            self.assertRegex(verdict(rehashed(text), self.folder) or "yes", "^no certificate", text[:300])
        for listed, units in ((json.loads(whole), ("one: 0.1", "one:0.1\n", "one:0.1_0", "ensemble:0.1:", "data:0.1", "one")),
                              (agent, ("agent:", "agent:x", "data:5"))):
            for unit in units:
                listed["plan"]["unit"] = unit
                self.refused(listed, "^no")
        self.assertEqual(plan["unit"], "one:0.1")


if __name__ == "__main__":
    unittest.main()
