#!/usr/bin/env python3
"""A household's battery as an agent of tacit, whose rounds are solved by another library: cvxopt.

    proximal_agent.py NAME --cloud HOST:PORT --keys FOLDER --state FOLDER [--capacity KWH] [--level KWH]

NAME is the agent's name in the problem file, and `tacit keys issue` makes its folder of keys. In that file it is

    agent battery {
      state b[24] in [-3, 3]      # kW into the battery in each hour, out of it where negative
      private minimize 0          # the household's own affair: this program knows it, the file does not
      gap 20;  slater b = 0       # doing nothing is always possible
    }

The battery loses energy whenever it is charged and discharged. So what a plan b costs, and whether it can be done, is a
small optimisation problem of its own: b = c - d with charging c and discharging d. The problem language has no word for
that. A round needs the minimiser over c and d of

    tariff . b + wear (|c|^2 + |d|^2) + p . b + (regularization/2) |b|^2 + |b - previous|^2 / (2 step)

where the level of the battery stays between empty and full. It is a quadratic program, and cvxopt solves it.

It needs cvxopt: apt install python3-cvxopt. Started again with the same state folder, it goes on. Exit codes: 0 the run
is done, 1 it is not, 2 the arguments are wrong."""

import argparse
import json
import sys

import cvxopt
import cvxopt.solvers
import numpy as np

import tacit

HOURS, POWER = 24, 3.0  # as in the problem file; kW
TARIFF = np.array([0.22] * 6 + [0.30] * 4 + [0.18] * 6 + [0.38] * 5 + [0.22] * 3)  # of a kWh, from midnight
EFFICIENCY, WEAR = 0.95, 0.01  # each way; of a kW squared
EXACT = {"show_progress": False, "abstol": 1e-11, "reltol": 1e-11, "feastol": 1e-11}


class Battery:
    """Plans for one battery. capacity and level (what is in it at midnight) are kWh."""

    def __init__(self, capacity, level):
        same, sums = np.eye(HOURS), np.tril(np.ones((HOURS, HOURS)))
        stored = np.hstack([EFFICIENCY * sums, -sums / EFFICIENCY])  # the level after each hour, less that at midnight
        limits = [
            (np.hstack([-same, 0 * same]), np.zeros(HOURS)),  # c >= 0
            (np.hstack([0 * same, -same]), np.zeros(HOURS)),  # d >= 0
            (np.hstack([same, same]), np.full(HOURS, POWER)),  # c + d <= POWER, so that b is within the box
            (stored, np.full(HOURS, capacity - level)),  # not above full
            (-stored, np.full(HOURS, level)),  # not below empty
            (-stored[-1:], np.zeros(1)),  # at the end of the day as full as before
        ]
        self.within = cvxopt.matrix(np.vstack([rows for rows, _ in limits]))
        self.limit = cvxopt.matrix(np.concatenate([limit for _, limit in limits]))
        self.plan = np.hstack([same, -same])  # b = plan (c, d)

    def proximal(self, p, step, regularization, previous):
        weight = regularization + 1 / step
        curved = weight * self.plan.T @ self.plan + 2 * WEAR * np.eye(2 * HOURS)
        slope = self.plan.T @ (TARIFF + p - previous / step)
        # In units of the weight, so that the tolerances mean the same in every round.
        solved = cvxopt.solvers.qp(
            cvxopt.matrix(curved / weight), cvxopt.matrix(slope / weight), self.within, self.limit, options=EXACT
        )
        if solved["status"] != "optimal" and solved["gap"] > 1e-8:
            raise ArithmeticError(f"cvxopt finds no plan: {solved['status']}")
        return (self.plan @ np.array(solved["x"]).ravel()).clip(-POWER, POWER)

    def cost(self, plan):
        """What a plan costs, in energy and wear."""
        return float(TARIFF @ plan + WEAR * plan @ plan)


def main():
    about = "a household's battery as an agent of tacit; its rounds are solved by cvxopt"
    options = argparse.ArgumentParser(description=about)
    options.add_argument("name", help="of the agent, as in the problem file")
    options.add_argument("--cloud", required=True, metavar="HOST:PORT", help="where the cloud listens")
    options.add_argument("--keys", required=True, metavar="FOLDER", help="the agent's keys, from tacit keys issue")
    options.add_argument("--state", required=True, metavar="FOLDER", help="for the agent's state file; private")
    options.add_argument("--plan", metavar="HASH", help="take part in this plan only")
    options.add_argument("--capacity", type=float, default=10, metavar="KWH", help="of the battery; 10 unless given")
    options.add_argument("--level", type=float, default=4, metavar="KWH", help="at midnight; 4 unless given")
    given = options.parse_args()
    if not 0 <= given.level <= given.capacity:
        options.error("the level is between 0 and the capacity")
    battery = Battery(given.capacity, given.level)
    # Doing nothing, the public Slater point, is in every battery's set.
    agent = tacit.Agent(given.name, states=HOURS, lower=-POWER, upper=POWER, proximal=battery.proximal, slater=True)
    try:
        result = agent.run(cloud=given.cloud, keys=given.keys, state=given.state, plan=given.plan)
    except tacit.Error as error:
        print(error, file=sys.stderr)
        return 1
    cost = battery.cost(result.x)
    print(json.dumps({"agent": result.name, "rounds": result.rounds, "cost": cost, "x": list(result.x)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
