"""`tacit serve --tick`: the same bits, no sooner than the ticks allow, through a restart and to the end."""

import json
import unittest

import town
import wire
from parties import Parties


class Tick(unittest.TestCase):
    def test_a_run_with_ticks_has_the_bits_of_one_without(self):
        with Parties(town.problem(3), options=town.options(12)) as p:
            p.start_cloud("--tick", "0.05", "--log", "json", seed=town.SEED, trace=False)
            p.start_agents()
            summary = p.finish()
            town.same_bits(self, p, summary)
            self.assertGreaterEqual(summary["seconds"], 10 * 0.05)  # from the first round to the last: ten whole ticks between

    def test_nothing_is_answered_before_a_tick(self):
        """A tick of ten days: all states are there, and neither agents nor readers of the pages see that."""
        with Parties(town.problem(3), options=town.options(5)) as p:
            p.start_cloud("--tick", "864000", "--log", "json", seed=town.SEED, trace=False)
            p.start_agents()
            town.await_event(p.cloud, "complete")
            third = lambda: json.loads(town.page(p.http_port, "status"))
            Parties.wait_for(lambda: third()["enrolled"] == 3, what="all agents")
            self.assertEqual((third()["round"], third()["answers"], third()["phase"]), (0, 0, "enrolling"))
            self.assertEqual(p.cloud.stop(), 0)  # no tick is waited for
            again = ["--tick", "0.02", "--listen", f"127.0.0.1:{p.port}"]
            p.start_cloud(*again, seed=town.SEED, trace=False)  # the same run goes on, with another tick
            town.same_bits(self, p, p.finish())

    def test_late_agents_are_held_at_ticks(self):
        with Parties(town.problem(3), options=town.options(8)) as p:
            p.start_cloud("--tick", "0.1", "--on-late", "hold", "--deadline", "0.05", "--log", "json", seed=town.SEED, trace=False)
            for name in ("a1", "a2"):
                p.start_agent(name, trace=False)
            third = town.Resident(p, ["a3"], p.key_folders["a3"], pace=0)
            third.connect()
            self.addCleanup(lambda: third.agent.close())
            for _ in range(2):
                third.round()
            message = third.agent.link.receive()  # it is silent, and rounds go on
            third.agent.take(message)
            self.assertEqual((message.type, message.flags), (wire.ANSWER, wire.HELD))
            third.start()
            third.finish()
            summary = p.finish()
            self.assertEqual(summary["outcome"], "done")
            self.assertGreaterEqual(summary["held"], 1)

    def test_what_is_no_time_is_refused(self):
        with Parties(town.problem(2), issue=False) as p:
            for wrong in ("0", "-1", "soon"):
                done = p.tacit("serve", p.parts / "cloud.tacit", "--state", p.folder / "s", "--insecure-plaintext", "--tick", wrong,
                               code=2)
                self.assertIn("tick", done.stderr)


if __name__ == "__main__":
    unittest.main()
