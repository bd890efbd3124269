"""Every field of a certificate changed, dropped, doubled and shifted: what the verifier accepts is harmless. A change is fitted into the
file as a forger would do it: hashes, addresses, variances and steps follow. Worlds that are tried tell what the changed plan costs, by
code of their own (certificate_price.py); no claim may be below that. What the verifier does not read at all is in one table.

A place of each kind and some changes of it; with TACIT_LONG=1 three places and all changes, in all examples, placements, units and
mechanisms (script/soak)."""
# labels: long once
import collections
import copy
import json
import math
import os
import pathlib
import random
import unittest

import certificate_price as price
import test_certificate as certificates
from test_certificate import SOURCE, V, Malformed, Refused, Unprovable

LONG = bool(os.environ.get("TACIT_LONG"))
EACH, CHANGES = (3, 10 ** 9) if LONG else (1, 3)  # places of a kind, and changes of a place, that are tried

# What the verifier does not read, and why no price rests on it.
UNREAD = {
    "plan.method": "which steps follow on what is released; the unit data and a last round ask for tacit",
    "plan.constants": "where the published method has its constants from", "plan.epsilon_is_for": "words for people",
    "plan.assumptions_hold": "whether the method converges", "plan.assumptions_not_proved": "whether the method converges",
    "plan.equalities": "E - F is released either way", "plan.prices": "prices of other distances, for people",
    "plan.placements": "predictions of noise", "plan.row_scales": "predictions of noise", "plan.warnings": "words for people",
    "plan.observers.about": "words for people",
    "plan.distances.data": "how far a datum moves states is proved from objectives, which no certificate has",
}


def kind_of(path):
    return ".".join(k for k in path if isinstance(k, str))


def is_unread(path):
    kind = kind_of(path)
    return any(kind == k or kind.startswith(f"{k}.") for k in UNREAD)


# ---- changes ----

def places(value, path=()):
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield from places(inner, (*path, key))


WORDS = ("laplace", "gaussian", "tight", "published", "outputs", "states", "forms", "constraints", "jacobian", "agent", "agent:1",
         "data", "one:1", "ensemble:1", "eavesdropper", "status", "coalition", "")
OPERATIONS = ("neg", "exp", "log", "sqrt", "hump", "add", "sub", "mul", "div", "pair", "huber", "clamp", "inside", "pow", "power")


def others(value):
    """What may stand in the place of a value."""
    if isinstance(value, bool):
        return [not value, int(value), "true", None]
    if isinstance(value, (int, float)):
        near = [value * (1 - 1e-6), value * (1 + 1e-6)] if isinstance(value, float) else []
        return [0, -value, value + 1, value - 1, value * 2, value / 2, *near, 1e308, -1e308, 5e-324, 10 ** 400, 2 ** 62, True, str(value),
                None, [value]]
    if isinstance(value, str):
        return [value + "x", *(w for w in (OPERATIONS if value in OPERATIONS else WORDS) if w != value), 1, None]
    if isinstance(value, list):
        kept = [value[1:], value[:-1], value + value[-1:], value[:1] + value, value[1:2] + value[:1] + value[2:], value[::-1], []]
        return [other for other in kept if other != value] + [None, {}]
    if value is None:
        return [0, ""]
    return [None, [], {**value, "also": 1}, *({k: v for k, v in value.items() if k != gone} for gone in value)]


def fitted(listed):
    """What follows from other fields does; None where it cannot."""
    try:
        plan, address = listed["plan"], 0
        for s in plan["systems"]:
            s["first_entry"], address = address, address + s["entries"]
            s["variance"] = s["scale"] ** 2 * (1 if plan["mechanism"] == "gaussian" else 2)
            s["lattice_scale"] = math.ldexp(s["scale"], -s["step_exponent"])
        plan["entries"], lattice = address, plan["lattice"]
        lattice["state_step"] = 2.0 ** lattice["state_exponent"]
        lattice["overhead"] = max([s["sensitivity"] / s["constant"] - 1 for s in plan["systems"] if s["constant"] > 0] + [0.0])
        if ":" in plan["unit"]:
            plan["adjacency"] = float(plan["unit"].split(":")[1])
        return listed
    except (TypeError, KeyError, ValueError, ArithmeticError, IndexError):
        return None


def recut(listed):
    """A system of several members as systems of fewer, some of them twice or not at all."""
    for n, system in enumerate(listed["plan"]["systems"]):
        members = system.get("members", 1)
        half = members // 2
        for runs in ([(0, half), (half, members - half)], [(0, half)] * 2, [(0, half), (half - 1, half)], [(0, members)] * 2,
                     [(0, 1)] * (members - 1) + [(members - 1, 1)], [(k, 1) for k in range(members)]):
            if 1 < members < 100:
                changed = copy.deepcopy(listed)
                changed["plan"]["systems"][n:n + 1] = [
                    {**system, "first_member": system["first_member"] + k, "members": count,
                     "entries": system["entries"] // members * count} for k, count in runs if count > 0]
                yield ("plan", "systems", n), fitted(changed)


def mutants(listed, draw):
    """(path, changed certificate)"""
    yield from recut(listed)
    by_kind = collections.defaultdict(list)
    for path in places(listed):
        if path and path[0] not in ("format", "hash", "model_hash"):
            by_kind[kind_of(path), len(path)].append(path)
    for paths in by_kind.values():
        for path in draw.sample(paths, min(EACH, len(paths))):
            found = others(certificates.at(listed, path))
            for other in draw.sample(found, min(CHANGES, len(found))):
                changed = copy.deepcopy(listed)
                certificates.put(changed, path, other)
                yield path, changed
                changed = fitted(copy.deepcopy(changed))
                if changed is not None:
                    yield path, changed


@certificates.of_the_verifier
class Mutants(certificates.Folder):
    def problems(self):
        """(file, options): every setting in turn; short: two or three for each of the examples."""
        examples = [SOURCE / f"examples/{name}.tacit" for name in ("num", "robots", "paper", "dispatch", "lasso")]
        settings = list(certificates.settings())
        data = ("--rounds", "50", "--adjacency", "data")
        last = ("--mechanism", "laplace", "--adjacency", "one:1", "--rounds", "100", "--delta", "1e-6", "--feasible", "always")
        for n, example in enumerate(examples):
            for m, options in enumerate(settings):
                if LONG or m % (2 * len(examples)) == n:
                    yield example, options
        yield SOURCE / "tests/audit/protected.tacit", ()
        yield SOURCE / "tests/audit/protected.tacit", ("--mechanism", "laplace", "--placement", "forms")
        yield SOURCE / "tests/audit/capped.tacit", ()
        yield examples[0], last
        yield examples[0], ("--adjacency", "agent:0.5", "--rounds", "100", "--placement", "states")

    def accepted(self, listed):
        """Whether the verifier says yes; it never stumbles."""
        try:
            path = self.folder / "mutant.json"
            path.write_text(certificates.write(listed, honest=True))
            V.verify(*V.read(path))
        except (Refused, Malformed, Unprovable):
            return False
        return True

    def test_what_the_verifier_accepts_costs_no_more_than_it_says(self):
        draw, tried, passed, harmful = random.Random(3), 0, collections.Counter(), []
        for problem, options in self.problems():
            text, _ = self.certify(problem, *options, "--epsilon", "1")
            if text is None:
                continue
            listed = json.loads(text)
            self.assertEqual(price.shortfalls(listed), [], (problem.name, options))
            for path, changed in mutants(listed, draw):
                tried += 1
                if changed == listed or not self.accepted(changed):
                    continue
                passed[kind_of(path)] += 1
                value = certificates.at(changed, path)
                why = ["nothing reads it"] if value is None and not is_unread(path) and path != ("plan", "rounds") else price.shortfalls(changed, 2)
                if why and not kind_of(path).startswith("plan.distances.data"):
                    harmful.append(f"{problem.name} {' '.join(options)}, {path} = {value!r}: {why[:3]}")
        print(f"{tried} mutants, {sum(passed.values())} accepted: {dict(passed)}")
        self.assertFalse(harmful, "\n".join(harmful[:40]))


if __name__ == "__main__":
    unittest.main()
