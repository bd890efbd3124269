"""script/demo with few rounds: the network's figures are those of one process, the page is left, and nothing else is."""
# labels: long once
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest

SOURCE = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])


def processes_of(place):
    """Those that have this folder in their command line, the shell's own apart."""
    found = []
    for line in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = line.read_bytes().split(b"\0")
        except OSError:
            continue
        if any(word.startswith(os.fsencode(place) + b"/tmp.") for word in words):
            found.append(int(line.parent.name))
    return found


class Demo(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)
        self.page = self.place / "page.html"

    def start(self, rounds):
        environment = {**os.environ, "TACIT": os.path.abspath(os.environ["TACIT"]), "ROUNDS": str(rounds), "SEEDS": "2",
                       "TMPDIR": str(self.place)}
        with open(self.place / "said", "w", encoding="utf-8") as said:
            demo = subprocess.Popen([SOURCE / "script/demo", self.page], env=environment, stdin=subprocess.DEVNULL,
                                    stdout=said, stderr=subprocess.STDOUT)
        self.addCleanup(lambda: demo.poll() is None and (demo.terminate(), demo.wait(30)))
        return demo

    def said(self):
        return (self.place / "said").read_text()

    def test_it_shows_the_same_over_the_network_and_in_one_process(self):
        self.assertEqual(self.start(200).wait(1200), 0, self.said())
        said = self.said()
        self.assertEqual(re.findall(r"^  (laplace|gaussian): (\w+)$", said, re.M), [("laplace", "yes"), ("gaussian", "yes")])
        # The network's run has seed 1, one of the two seeds of the run in one process: its least or its largest error.
        for mechanism in ("laplace", "gaussian"):
            table = re.search(rf"^\$ tacit run .*{mechanism} --calibration.*\n(?:.+\n)+", said, re.M).group()
            for rounds, block in re.findall(r"^after (\d+) rounds.*\n((?: .*\n)+)", table, re.M):
                for error in ("x", "mu"):
                    low, *_, high = re.search(rf"^ +{error} error (.*)$", block, re.M).group(1).split()
                    seen = re.search(rf"^  {mechanism} +{error} +error, +{rounds} rounds +- +(\S+)$", said, re.M).group(1)
                    self.assertIn(seen, (low, high), (mechanism, rounds, error))
        self.assertIn("over the network", self.page.read_text())
        self.assertEqual(sorted(path.name for path in self.place.iterdir()), ["page.html", "said"])

    def test_ctrl_c_leaves_no_process_and_no_file(self):
        demo = self.start(10000000)
        while len(processes_of(self.place)) < 22 and demo.poll() is None:
            time.sleep(0.05)
        self.assertEqual(len(processes_of(self.place)), 22, self.said())
        demo.send_signal(signal.SIGINT)
        self.assertEqual(demo.wait(1200), 130, self.said())
        self.assertEqual(processes_of(self.place), [])
        self.assertEqual([path.name for path in self.place.iterdir()], ["said"])


if __name__ == "__main__":
    unittest.main()
