"""A cloud and one of its agents are both restored from back-ups: the answers that the agent lacks exist nowhere any more.
The run goes on after all rounds that anybody has seen, and no round is answered twice."""
# labels: not-clang

import shutil
import unittest

import parties
import wire

PROBLEM = """agent a { state x in [-10, 10]; private minimize (x - 3)^2; gap 100; slater x = -1 }
agent b { state x in [-10, 10]; private minimize (x - 2)^2; gap 100; slater x = -1 }
constraint c: a.x + b.x <= 1
privacy { mechanism laplace; epsilon 1; adjacency one 1 }
schedule { rounds 60 }
"""


class LostAnswers(unittest.TestCase):
    def go(self, place, b, until=None, *options):
        place.start_cloud(*options, trace=False)
        place.start_agent("a", trace=False)
        b.open(place.port, place.key_folders["b"])
        b.enrol()
        b.run(until)

    def stop(self, place, b):
        b.close()
        place.agents["a"].stop()
        place.cloud.stop()

    def test_the_run_goes_on_behind_what_is_lost(self):
        b = wire.RawAgent("b", move=lambda name, k, x, message: [x[0] + 0.01])
        with parties.Parties(PROBLEM) as place:
            self.go(place, b, 20)
            self.stop(place, b)
            place.copy_state("journal.backup")
            shutil.copytree(place.states / "a", place.folder / "a.backup")
            self.go(place, b, 40)
            self.stop(place, b)
            for kept, used in (("journal.backup", place.folder / "journal"), ("a.backup", place.states / "a")):
                shutil.rmtree(used)
                shutil.copytree(place.folder / kept, used)
            self.go(place, b, None, "--after-restore")
            b.close()
            summary = place.finish()
            self.assertEqual((summary["rounds"], place.results()["a"]["outcome"]), (60, "done"))
            answered = sorted(k for _, k in b.book.answers)  # none with other bytes; a round that may have been shown
            lost = sorted(set(range(1, 61)) - set(answered))  # is left out
            self.assertEqual(len(lost), 1)
            self.assertIn(lost[0], (41, 42))


if __name__ == "__main__":
    unittest.main()
