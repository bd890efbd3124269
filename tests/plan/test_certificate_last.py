"""Certificates of plans with a last round (--feasible always): proved on the examples and on random problems, and refused
where a number of the last round, or of what it is made of, was forged."""
# labels: not-clang
import copy
import json
import math
import re
import subprocess
import unittest

import test_certificate as C
import test_certificate_distances as D
from certificate_problems import Problem

LAPLACE = ("--mechanism", "laplace", "--epsilon", "1", "--delta", "1e-6", "--rounds", "300", "--feasible", "always")
GAUSSIAN = ("--mechanism", "gaussian", *LAPLACE[2:])
UNITS = ("one:0.5", "ensemble:0.7", "agent", "agent:0.5")
COUPLED = """agents a[i in 1..4] {
  state x[2] in [-1, 3]
  private minimize sum(x)
  slater x = 0.1
}
constraint curved: sum(a: x[1]^2 + exp(x[2] / 4)) <= 30
constraint square: (sum(a: x[1] + 2 * x[2]))^2 / 10 <= 40
constraint named: a[2].x[1]^2 + a[3].x[2] <= 8
constraint still: 1 <= 2
dual radius 10
"""

# By what a number of the last round changes in favour of whoever deceives, and in small steps.
LESS, MORE, HALF = C.LESS, C.MORE, (lambda x: x / 2)
LIES = {
    "share": (LESS, HALF, lambda x: -x, lambda x: 1.5), "mu": (LESS, HALF, lambda x: 0.0, lambda x: -x),
    "epsilon": (LESS, HALF, lambda x: 0.0, lambda x: -x), "delta": (LESS, HALF, lambda x: 0.0, lambda x: 2e-6),
    "cut": (LESS, HALF, MORE, lambda x: 0.5), "allowance": (LESS, HALF, lambda x: 0.0, lambda x: -x),
    "constant": (LESS, HALF), "sensitivity": (LESS, HALF), "scale": (LESS, HALF), "variance": (LESS, MORE),
    "lattice_scale": (LESS, MORE), "step_exponent": (lambda x: x + 1, lambda x: x - 1, lambda x: x + 30),
    "sum_exponents": (lambda x: x + 30, lambda x: x - 60), "bound_steps": (lambda x: x - 1, HALF, lambda x: x + 2, lambda x: x + 0.5),
    "bound": (LESS, MORE, HALF), "entries": (lambda x: x + 1, lambda x: x - 1), "first_entry": (lambda x: x + 1,),
    "first_row": (lambda x: x + 1,), "rows": (lambda x: x + 1, lambda x: x - 1),
}


class LastRound(C.Folder):
    def certificate(self, name, options, unit):
        path = name if isinstance(name, C.pathlib.Path) else C.SOURCE / f"examples/{name}.tacit"
        text, why = self.certify(path, *options, "--adjacency", unit)
        self.assertIsNotNone(text, why)
        return text

    def test_every_unit_and_law_is_proved_and_the_clouds_file_gives_the_same_bytes(self):
        for name in ("num", "paper", "robots", "dispatch", "ev"):
            parts = self.folder / name
            self.assertEqual(C.tacit("split", C.SOURCE / f"examples/{name}.tacit", "-o", parts).returncode, 0)
            for options in (LAPLACE, GAUSSIAN):
                for unit in (*UNITS, *(("data",) if name == "ev" else ())):
                    text = self.certificate(name, options, unit)
                    self.assertEqual(text, self.certificate(parts / "cloud.tacit", options, unit))
                    self.assertTrue(text.startswith('{"format": "tacit certificate 2",\n'))
                    self.assertIsNone(C.verdict(text, self.folder), (name, options, unit))

    def test_placements_shares_and_coalitions_are_proved(self):
        for options in (LAPLACE, GAUSSIAN):
            for placement in ("states", "forms", "outputs"):
                text = self.certificate("num", (*options, "--placement", placement, "--coalition", "video,backup"), "one:1")
                self.assertIsNone(C.verdict(text, self.folder), (options, placement))
            for share in ("always:0.1", "always:0.9"):
                text = self.certificate("paper", (*options[:-1], share), "agent")
                self.assertIsNone(C.verdict(text, self.folder), (options, share))
            for rounds in ("1", "100000"):
                text = self.certificate("num", (*options, "--rounds", rounds), "one:1")
                self.assertIsNone(C.verdict(text, self.folder), (options, rounds))

    def test_curved_named_and_constant_rows_are_proved(self):
        path = self.folder / "coupled.tacit"
        path.write_text(COUPLED)
        for options in (LAPLACE, GAUSSIAN):
            for unit in UNITS:
                text = self.certificate(path, options, unit)
                self.assertEqual(len(json.loads(text)["plan"]["last_round"]["systems"]), 3)
                self.assertIsNone(C.verdict(text, self.folder), (options, unit))

    def test_protected_data_and_public_sets_are_proved(self):
        path = self.folder / "whole.tacit"
        path.write_text(D.WHOLE)
        (self.folder / "homes.csv").write_text(D.HOMES)
        for options in (LAPLACE, GAUSSIAN):
            self.assertIsNone(C.verdict(self.certificate(path, options, "data"), self.folder), options)
        path.write_text("agents home[i in 1..40] {\n state p[24] in [0, 2]\n public set sum(p) <= 0.5\n private minimize sumsq(p - 1)\n"
                        " gap 30\n slater p = 0.01\n}\nconstraint all: sum(home: sum(p)) <= 15\n")
        for options in (LAPLACE, GAUSSIAN):
            text = self.certificate(path, options, "agent")
            self.assertEqual(json.loads(text)["plan"]["public_sets"], ["home"])
            self.assertIsNone(C.verdict(text, self.folder), options)

    def test_random_problems_are_proved(self):
        made, wrong = 0, []
        for seed in range(3000, 3160, C.EIGHTH):
            problem = Problem(seed)
            options = list(problem.options)
            if "published" in options or "--on-late" in options:
                continue
            if "--delta" not in options:
                options += ["--delta", "1e-5"]
            middle = {name: low + (high - low) * 0.3 for name, _, _, low, high, _ in problem.families}
            text = re.sub(r"agents (\w+)(.*?)\n\}\n", lambda m: f"agents {m[1]}{m[2]}\n  slater x = {middle[m[1]]!r}\n}}\n", problem.text,
                          flags=re.S)
            text = re.sub(r"<= (\S+)\ndual", r"<= 99999\ndual", re.sub(r"<= (\S+)\nconstraint g", r"<= 99999\nconstraint g", text))
            text = re.sub(r"constraint balance.*\n", "", text)
            for name, content in {"p.tacit": text, **problem.files}.items():
                (self.folder / name).write_text(content)
            found, why = self.certify(self.folder / "p.tacit", *options, "--feasible", "always")
            if found is None:
                self.assertRegex(why, "convex|Slater|NOT PRIVATE|No plan|delta|finer|proved", text)
                continue
            made += 1
            why = C.verdict(found, self.folder)
            if why is not None:
                wrong.append(f"seed {seed}, {' '.join(options)}: {why}\n{text}")
        self.assertFalse(wrong, "\n".join(wrong))
        self.assertGreater(made, 25 // C.EIGHTH)

    # ---- certificates that were changed ----

    def forged(self, listed, why):
        with self.subTest(why=why):
            self.assertIsNotNone(C.verdict(C.write(listed, honest=True), self.folder))

    @C.of_the_verifier
    def test_every_number_of_a_last_round_that_is_forged_is_refused_though_all_hashes_fit(self):
        path = self.folder / "coupled.tacit"
        path.write_text(COUPLED)
        cases = [(path, LAPLACE, "one:0.5"), (path, GAUSSIAN, "agent"), (path, GAUSSIAN, "ensemble:1"), ("num", LAPLACE, "agent:0.5"),
                 ("num", GAUSSIAN, "one:1"), ("dispatch", LAPLACE, "agent")]
        kinds = set()
        for name, options, unit in cases:
            listed = json.loads(self.certificate(name, options, unit))
            self.assertIsNone(C.verdict(C.write(listed, honest=True), self.folder))
            seen = set()
            for where in C.numbers(listed["plan"]["last_round"], ("plan", "last_round")):
                kind = next(k for k in reversed(where) if isinstance(k, str))
                old = C.at(listed, where)
                if kind in seen or (kind == "allowance" and old == 0):
                    continue  # the first of a kind stands for the others
                seen.add(kind)
                for number, lie in enumerate(LIES[kind]):
                    changed = copy.deepcopy(listed)
                    C.put(changed, where, lie(old))
                    self.forged(changed, (str(name), options[1], unit, where, number))
            kinds |= seen
        self.assertEqual(kinds, set(LIES))

    @C.of_the_verifier
    def test_noise_that_is_forged_throughout_is_refused(self):
        """All that follows from a number fits it, so that only its own proof can refuse it."""
        for options in (LAPLACE, GAUSSIAN):
            for unit in ("one:0.5", "agent"):
                listed = json.loads(self.certificate("num", options, unit))
                gaussian = options is GAUSSIAN

                def rescale(last, factor):
                    for system in last["systems"]:
                        system["scale"] *= factor
                        system["variance"] = system["scale"] ** 2 * (1 if gaussian else 2)
                        system["lattice_scale"] *= factor
                        steps = math.ceil(last["cut"] * system["lattice_scale"])
                        system["bound_steps"] = float(steps)
                        system["bound"] = steps * 2.0 ** system["step_exponent"]

                changed = copy.deepcopy(listed)
                rescale(changed["plan"]["last_round"], 1.0)
                self.assertIsNone(C.verdict(C.write(changed, honest=True), self.folder), "the helper keeps what is honest")
                rescale(changed["plan"]["last_round"], 1 - 1e-6)
                self.forged(changed, "noise too small")
                for factor in (1 - 1e-3, 0.5):  # bounds that are nearer, at the old delta
                    changed = copy.deepcopy(listed)
                    changed["plan"]["last_round"]["cut"] *= factor
                    rescale(changed["plan"]["last_round"], 1.0)
                    self.forged(changed, "bounds too near")
                changed = copy.deepcopy(listed)
                for observer in changed["plan"]["observers"]:  # as if the last round were free
                    price = changed["plan"]["last_round"]["mu" if gaussian else "epsilon"]
                    if gaussian:
                        observer["mu"] = (observer["mu"] ** 2 - price ** 2) ** 0.5
                    else:
                        observer["epsilon"] -= price
                self.forged(changed, "nobody pays for the last round")

    @C.of_the_verifier
    def test_what_a_last_round_rests_on_cannot_be_forged(self):
        for options in (LAPLACE, GAUSSIAN):
            listed = json.loads(self.certificate("num", options, "one:0.5"))

            def change(why, act, listed=listed):
                changed = copy.deepcopy(listed)
                act(changed, changed["plan"], changed["plan"]["last_round"])
                self.forged(changed, (options[1], why))
            change("the first form", lambda c, p, last: c.update(format="tacit certificate 1"))
            change("no last round", lambda c, p, last: p.pop("last_round"))
            change("fewer rounds, larger weights", lambda c, p, last: p.update(rounds=p["rounds"] / 2))
            change("holds", lambda c, p, last: p.update(hold_cap=1.0))
            change("another method", lambda c, p, last: p.update(method="published"))
            change("a system left out", lambda c, p, last: last["systems"].pop())
            change("the same system twice", lambda c, p, last: last["systems"].append(last["systems"][-1]))
            change("no bounds", lambda c, p, last: last["systems"][0].pop("bound_steps"))
            change("an allowance left out", lambda c, p, last: last["allowance"].pop())
            change("a sum's lattice left out", lambda c, p, last: last["sum_exponents"].append(0))
            change("delta less than the bounds'", lambda c, p, last: (p.update(delta=last["delta"] / 2), [
                o.update(delta=last["delta"] / 2) for o in p["observers"]]))
            change("observers without a delta", lambda c, p, last: [o.update(delta=0.0) for o in p["observers"]])

    @C.of_the_verifier
    def test_a_plan_without_a_last_round_keeps_its_form_and_proves_nothing_of_one(self):
        with_last = json.loads(self.certificate("num", GAUSSIAN, "one:1"))
        text, _ = self.certify(C.SOURCE / "examples/num.tacit", *GAUSSIAN[:-2], "--adjacency", "one:1")
        self.assertTrue(text.startswith('{"format": "tacit certificate 1",\n'))
        plain = json.loads(text)
        self.assertIsNone(C.verdict(text, self.folder))
        for form in ("tacit certificate 1", "tacit certificate 2"):
            changed = copy.deepcopy(plain)
            changed["format"], changed["plan"]["last_round"] = form, with_last["plan"]["last_round"]
            self.forged(changed, form)
        changed = copy.deepcopy(plain)
        changed["format"] = "tacit certificate 2"
        self.forged(changed, "the second form without a last round")

    def test_the_command_writes_it_over_another_and_the_verifier_says_yes(self):
        path = self.folder / "num.json"
        words = (C.SOURCE / "examples/num.tacit", "--adjacency", "one:1", "--certificate", path)
        for options in (GAUSSIAN[:-2], GAUSSIAN, GAUSSIAN[:-2]):
            self.assertEqual(C.tacit("plan", *words, *options).returncode, 0)
            said = subprocess.run([*C.COMMAND, str(path)], capture_output=True, text=True, timeout=1200)
            self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
            self.assertTrue(said.stdout.startswith("yes: nobody pays more than epsilon 1, delta 1e-06 in the unit one:1"), said.stdout)
            self.assertEqual("a last one of averages" in said.stdout, "--feasible" in options)


if __name__ == "__main__":
    unittest.main(verbosity=2)
