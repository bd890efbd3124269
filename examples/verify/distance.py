"""How far the states of one agent may differ in a round in the units agent:D and data: docs/proofs/composition.md, section 7."""

import interval as I
from expression import Malformed, number
from model import take

STEP_ERROR = 1e-9  # of an agent's step, as a share of the l2 diameter of its box
SLACK = 2.0 ** -40


def diameter(family, euclidean):
    """Of the box of any member."""
    worst = 0.0
    for k in range(family.members if family.varies() else 1):
        total = 0.0
        for side in family.box(k):
            width = I.width_up(side)
            total = I.add_up(total, I.mul_up(width, width) if euclidean else width)
        worst = max(worst, I.sqrt_up(total) if euclidean else total)
    return worst


def step_errors(family, rounds, euclidean):
    """2 T e in l2; sqrt(n) times that in l1."""
    both = I.mul_up(I.mul_up(2.0, rounds), I.mul_up(STEP_ERROR, diameter(family, True)))
    return both if euclidean else I.mul_up(I.sqrt_up(float(family.dim)), both)


class Distances:
    """exact[f]: D of a family, within its box; reach[f]: D' on the lattice. 0: its agents are the same in both worlds."""

    def __init__(self, plan, model):
        listed = take(plan.listed, "distances", list)
        if len(listed) != len(model.families):
            raise Malformed("'distances' has not one entry for each family")
        self.exact, self.reach = [], []
        for family, one in zip(model.families, listed):
            plan.demand(take(one, "family", str) == family.name, "distances: a family is called otherwise")
            far = self.read(plan, family, one)
            claimed, reach = number(one.get("distance")), number(one.get("reach"))
            across = diameter(family, plan.gaussian)
            if far is None:
                plan.demand(claimed == reach == 0, f"distances: '{family.name}' protects nothing, and has a distance")
                self.exact.append(0.0)
                self.reach.append(0.0)
                continue
            n = I.sqrt_up(float(family.dim)) if plan.gaussian else float(family.dim)
            own = min(I.add_up(far, I.mul_up(plan.state_step, n)), across)
            plan.demand(far <= I.mul_up(claimed, 1 + SLACK), f"the distance of '{family.name}': {claimed!r}, and it is {far!r}")
            plan.demand(own <= I.mul_up(reach, 1 + SLACK), f"the reach of '{family.name}': {reach!r}, and it is {own!r}")
            self.exact.append(min(far, across))
            self.reach.append(own)
        plan.demand(any(self.reach), "distances: nothing is protected")

    @staticmethod
    def read(plan, family, one):
        """D of what is sent; None where nothing is protected."""
        if plan.unit == "within":
            return plan.bound
        far, found = 0.0, False
        for datum in take(one, "data", list):
            take(datum, "name", str)
            plan.demand(number(datum.get("by")) >= 0, f"distances: a datum of '{family.name}' is protected by less than nothing")
            far, found = I.add_up(far, number(datum.get("distance"))), True
            plan.demand(number(datum["distance"]) >= 0, f"distances: one of '{family.name}' is below 0")
        if not found:
            return None
        steps, claimed = step_errors(family, plan.rounds, plan.gaussian), number(one.get("steps"))
        plan.demand(steps <= I.mul_up(claimed, 1 + SLACK), f"steps of '{family.name}': {claimed!r}, and they are {steps!r}")
        return I.add_up(far, steps)
