#!/usr/bin/env python3
"""Writes the data files of the examples. Always the same numbers: the seed is fixed."""
import csv
import math
import os
import random

HERE = os.path.dirname(os.path.abspath(__file__))


def write(name, rows):
    with open(os.path.join(HERE, name), "w", newline="") as f:
        csv.writer(f, lineterminator="\n").writerows(rows)


def homes(random, count=1000, hours=24, charger=7.4):
    """Cars come home around six in the evening and would like to charge at once, at full power, until full."""
    rows = [["need"] + [f"pref_{t}" for t in range(1, hours + 1)]]
    for _ in range(count):
        need = round(min(30.0, max(5.0, random.lognormvariate(math.log(11), 0.45))), 1)
        arrival = min(16, max(2, round(random.gauss(6.5, 1.8))))  # hour 1 is noon to one
        wish, left = [0.0] * hours, need
        for t in range(arrival, hours):
            wish[t] = round(min(charger, left), 2)
            left -= wish[t]
        rows.append([need] + wish)
    return rows


def flows(random, count=30, links=10):
    uses = [[0] * count for _ in range(links)]
    for r in range(count):
        for link in random.sample(range(links), random.randint(1, 4)):
            uses[link][r] = 1
    weights = [["weight"]] + [[round(random.uniform(0.5, 2.0), 2)] for _ in range(count)]
    return uses, weights


def robots(random):
    names = "ada bo cleo dan eve finn gil hana ivo june kit lou".split()
    rows = [["name", "base_1", "base_2", "range", "goal_1", "goal_2"]]
    for name in names:
        base = [round(random.uniform(-3, 5), 1), round(random.uniform(-4, 4), 1)]
        span = round(math.hypot(base[0] - 1, base[1]) + random.uniform(1.5, 4), 1)
        rows.append([name] + base + [span, round(random.uniform(-8, 8), 1), round(random.uniform(-8, 8), 1)])
    return rows


write("homes.csv", homes(random.Random(1)))
uses, weights = flows(random.Random(2))
write("num_links.csv", uses)
write("num_flows.csv", weights)
write("robots.csv", robots(random.Random(3)))
