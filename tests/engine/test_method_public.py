"""Steps, windows and weights of the method `tacit` come from the cloud's file and from released data alone."""
# labels: once

import os
import re
import subprocess
import tempfile
import unittest

import numpy as np

import method_dump
import method_problems

TACIT = os.environ.get("TACIT", "build/dev/tacit")
ROUNDS = 60
WORDS = ("gains", "columns", "scalars", "p", "mu", "answer_mu")


def other_private_data(text, files):
    """The same public file, with other wishes, other sets and other private columns."""
    public = set(re.findall(r"public (\w+)", text)) | {"name"}
    text = re.sub(r"private minimize (.*)", r"private minimize 0.5 * (\1)", text)
    text = re.sub(r"\n *private set .*", "", text)
    changed = {}
    for name, content in files.items():
        header, *rows = content.strip().split("\n")
        if not re.search(r"[a-z]", header):  # a parameter, not data: public
            changed[name] = content
            continue
        columns = header.split(",")
        lines = [header]
        for row in rows:
            values = [v if c in public else repr(0.8 * float(v)) for c, v in zip(columns, row.split(","))]
            lines.append(",".join(values))
        changed[name] = "\n".join(lines) + "\n"
    return text, changed


def plan(path, *options):
    done = subprocess.run([TACIT, "plan", path, "--method", "tacit", "--json", *options], capture_output=True)
    assert done.returncode in (0, 1) and done.stdout, done.stderr
    return done.stdout


class Plans(unittest.TestCase):
    def test_are_the_same_from_the_cloud_s_file_and_whatever_is_private(self):
        for name, make in method_problems.ALL.items():
            problem = make()
            for mechanism in ("laplace", "gaussian"):
                options = ("--mechanism", mechanism, "--epsilon", "1", "--adjacency", "ensemble:0.5",
                           *(("--delta", "1e-5") if mechanism == "gaussian" else ()))
                with self.subTest(name, mechanism=mechanism), tempfile.TemporaryDirectory() as folder:
                    path = method_dump.write_problem(folder, problem.text, problem.files)
                    whole = plan(path, *options)
                    parties = os.path.join(folder, "parties")
                    done = subprocess.run([TACIT, "split", path, "-o", parties], capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(plan(os.path.join(parties, "cloud.tacit"), *options), whole)
                    text, files = other_private_data(problem.text, problem.files)
                    self.assertNotEqual((text, files), (problem.text, problem.files))
                    path = method_dump.write_problem(folder, text, files)
                    self.assertEqual(plan(path, *options), whole)


class Runs(unittest.TestCase):
    """Two runs with different private data, whose cloud is shown the same numbers."""

    def go_through(self, name, placement, mechanism):
        problem = method_problems.ALL[name]()
        changed = other_private_data(problem.text, problem.files)
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            path = method_dump.write_problem(one, problem.text, problem.files)
            first = method_dump.run(path, ROUNDS, mechanism, placement, bound=0.2)
            shown = os.path.join(other, "observations")
            with open(shown, "w") as file:
                for at in first.rounds:
                    file.write(" ".join(v.hex() for v in at["observed"].tolist()) + "\n")
            path = method_dump.write_problem(other, *changed)
            second = method_dump.run(path, ROUNDS, mechanism, placement, bound=0.2, seed=2, observations=shown)
        moved = 0
        for k, (a, b) in enumerate(zip(first.rounds, second.rounds), 1):
            for word in WORDS:
                self.assertEqual(a[word].tobytes(), b[word].tobytes(), f"{name}: {word} in round {k}")
            moved = max(moved, np.max(np.abs(a["x"] - b["x"])))
        self.assertGreater(moved, 1e-3, "the agents' steps are different, or nothing was tested")
        self.assertEqual(len(second.rounds), ROUNDS)

    def test_with_the_same_observations_send_the_same_bits(self):
        for name, make in method_problems.ALL.items():
            problem = make()
            for placement in ("states", "forms", "outputs"):
                if placement == "states" or problem.is_affine(placement):
                    with self.subTest(name, placement=placement):
                        self.go_through(name, placement, "laplace" if placement == "states" else "gaussian")


if __name__ == "__main__":
    unittest.main()
