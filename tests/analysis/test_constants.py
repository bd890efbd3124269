#!/usr/bin/env python3
"""K^g_1 and K^g_2 of random affine and quadratic problems, as `tacit check --json` prints them, against numpy."""
import json
import os
import subprocess
import sys
import tempfile

import numpy


def problem(matrix, curvature):
    rows, columns = matrix.shape
    lines = []
    for i in range(columns):
        lines.append(f"agent a{i} {{\n  state x in [0, 1]\n  private minimize 0\n}}")
    for j in range(rows):
        terms = [f"({float(matrix[j, i])!r})*a{i}.x + ({float(curvature[j, i])!r})*a{i}.x^2" for i in range(columns)]
        lines.append(f"constraint c{j}: " + " + ".join(terms) + " <= 1e6")
    return "\n".join(lines) + "\n"


def check(text):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "random.tacit")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        command = [os.environ["TACIT"], "check", path, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            sys.exit(done.stderr)
        return json.loads(done.stdout)


def close(bracket, truth):
    return bracket["lower"] <= truth * (1 + 1e-12) and bracket["upper"] >= truth * (1 - 1e-12) and (
        bracket["upper"] - bracket["lower"] <= 1e-9 * truth)


def main():
    random = numpy.random.default_rng(4)
    for trial in range(12):
        rows, columns = random.integers(1, 9), random.integers(1, 13)
        matrix = random.normal(size=(rows, columns))
        curvature = numpy.zeros_like(matrix)
        if trial % 2 == 1:  # entries grow with x: all are largest at the vertex (1, ..., 1)
            matrix = abs(matrix)
            curvature = abs(random.normal(size=matrix.shape))
        jacobian = matrix + 2 * curvature
        facts = check(problem(matrix, curvature))
        assert facts["agents"] == columns and facts["constraints"] == rows
        assert close(facts["lipschitz"]["g"]["l1"], abs(jacobian).sum(axis=0).max()), (trial, "l1")
        assert close(facts["lipschitz"]["g"]["l2"], numpy.linalg.norm(jacobian, 2)), (trial, "l2")
        for i, row in enumerate(facts["lipschitz"]["jacobian"]):
            assert row["agent"] == f"a{i}"
            truth = 2 * curvature[:, i]
            if truth.any():
                assert close(row["l1"], truth.sum()) and close(row["l2"], numpy.linalg.norm(truth))
            else:
                assert row["l1"]["upper"] == 0 and row["l2"]["upper"] == 0
    print("12 problems agree with numpy")


main()
