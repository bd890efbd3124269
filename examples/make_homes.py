#!/usr/bin/env python3
"""Writes homes.csv: a thousand homes that charge a car overnight. `make_homes.py HOMES FILE` writes another number of them.

need    energy the car must have by noon, in kWh
weight  how much the household minds a change of plan
pref_t  the power it would like in hour t, in kW; hour 1 begins at noon

Left alone, a car starts when it comes home and stops when it is full. Every call writes the same file.
"""
import csv
import pathlib
import random
import sys

HOMES, HOURS, CHARGER = 1000, 24, 7.4


def plan(random_source):
    need = round(random_source.triangular(5, 40, 14), 1)
    power = random_source.choice([3.7, 3.7, 5.0, CHARGER])
    hour = min(max(round(random_source.gauss(6.5, 1.8)), 1), HOURS - 10)
    wanted, left = [0.0] * HOURS, need
    while left > 0 and hour <= HOURS:
        wanted[hour - 1] = round(min(power, left), 1)
        left = round(left - wanted[hour - 1], 1)
        hour += 1
    return need, round(random_source.uniform(0.5, 1.5), 2), wanted


def main():
    random_source = random.Random(20)
    homes, path = HOMES, pathlib.Path(__file__).with_name("homes.csv")
    if len(sys.argv) == 3 and sys.argv[1].isdigit():
        homes, path = int(sys.argv[1]), pathlib.Path(sys.argv[2])
    elif len(sys.argv) > 1:
        sys.exit("usage: make_homes.py [HOMES FILE]")
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["need", "weight"] + [f"pref_{t}" for t in range(1, HOURS + 1)])
        for _ in range(homes):
            need, weight, wanted = plan(random_source)
            writer.writerow([need, weight] + [f"{power:g}" for power in wanted])


if __name__ == "__main__":
    main()
