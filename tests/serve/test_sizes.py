"""What is seen of a run without its keys, and what the operator's page counts, is the same whatever the agents' private data
are: the sizes of all messages, and their number."""
# labels: not-clang

import time
import unittest

import proxy
import town
import wire
from parties import Parties

ROUNDS, LOOKED_AT = 40, 30
HANDSHAKE = 8  # records at most: they hold signatures, whose lengths vary
FAREWELL = (23, 19)  # of TLS; whoever closes first may not hear the other's

# No bound is a point of a lattice of powers of two.
PROBLEM = """agent a {{
  state x in [0.1, 0.55];  state y in [0.1, 0.55]
  private minimize (x - {x})^2 + (y - {y})^2
  gap 4000;  slater x = 0.25;  slater y = 0.25
}}
agent b {{ state x in [0, 4]; private minimize (x - 1)^2; gap 4000; slater x = 0.25 }}
constraint total: a.x + a.y + b.x <= 3
schedule {{ alpha 0.1 k^-0.3; gamma 0.01 k^-0.52 }}
"""
INSIDE, AT_BOUNDS = {"x": 0.3, "y": 0.35}, {"x": 50.0, "y": -50.0}


class Sizes(unittest.TestCase):
    def observe(self, method, wishes):
        """The records of TLS by direction, what /metrics counts after some rounds, and what the agent says of itself."""
        with Parties(PROBLEM.format(**wishes), options=[*town.options(ROUNDS), "--method", method]) as p:
            p.start_cloud(seed=town.SEED, trace=False)
            with proxy.Proxy(p.port, listens=True) as road:
                p.start_agent("a", port=road.port)
                other = wire.RawAgent("b")
                other.open(p.port, p.key_folders["b"])
                other.enrol()
                other.run(LOOKED_AT)
                time.sleep(0.2)  # meanwhile the state of the next round comes, which no figure may count yet
                metrics = [line for line in town.page(p.http_port, "metrics").splitlines() if line.startswith("tacit_") and
                           ("frames" in line or "bytes_total" in line or "answers" in line or "refusals" in line)]
                other.run()
                other.close()
                p.finish()
                pair, = road.all
                records = {way: [record for record in proxy.records(data)[HANDSHAKE:] if record != FAREWELL]
                           for way, data in pair.heard.items()}
            return records, metrics, p.results()["a"]["agents"][0]

    def test_states_at_bounds_look_like_states_inside(self):
        for method in ("tacit", "published"):
            with self.subTest(method=method):
                inside, counted, agent = self.observe(method, INSIDE)
                at_bounds, counted_there, there = self.observe(method, AT_BOUNDS)
                self.assertTrue(all(0.1 < v < 0.55 for v in agent["last"]), agent)
                self.assertEqual(there["last"], [0.55, 0.1])
                self.assertGreater(len(inside["down"]), ROUNDS - HANDSHAKE)
                self.assertEqual(at_bounds, inside)
                self.assertGreater(len(counted), 4)
                self.assertEqual(counted_there, counted)
                self.assertEqual((agent["clamped"], there["clamped"]), (0, 0))


if __name__ == "__main__":
    unittest.main()
