"""A network that delays, cuts into pieces, stalls, resets and lets connections pass one another: the run ends with the bits
that it has in one process. All that the proxy does is drawn from a seed; with TACIT_LONG=1 there are many."""
# labels: long not-asan not-clang

import os
import random
import time
import unittest

import town
from parties import Parties
from proxy import Proxy, Weather

LONG = os.environ.get("TACIT_LONG") == "1"
SEEDS = range(1, 9) if LONG else (1,)
ROUNDS = 60 if LONG else 25


class Weathers(unittest.TestCase):
    def through(self, weather, seed, rounds=ROUNDS, script=None):
        """A run of four agents through such a proxy; what it did."""
        with Parties(town.problem(4), options=town.options(rounds)) as p:
            # An agent that has failed some times in a row comes back after as many seconds, at the end too.
            p.start_cloud("--log", "json", "--deadline", "60", seed=town.SEED, trace=False)
            with Proxy(p.port, seed, weather) as proxy:
                p.start_agents(town.shuffled(p.names, seed), port=proxy.port, trace=False)
                if script is not None:
                    script(p, proxy)
                town.same_bits(self, p, p.finish())
                return proxy

    def each_seed(self, weather, **more):
        for seed in SEEDS:
            with self.subTest(seed=seed):
                yield self.through(weather, seed, **more)

    def test_delays(self):
        for proxy in self.each_seed(Weather(delay=0.01)):
            self.assertEqual(proxy.connections, 4)

    def test_one_byte_at_a_time(self):
        """No piece is longer than a few bytes, of the handshake neither."""
        for proxy in self.each_seed(Weather(piece=7), rounds=8):
            self.assertEqual(proxy.connections, 4)

    def test_stalls(self):
        for _ in self.each_seed(Weather(piece=200, stall=0.02, stall_seconds=0.15)):
            pass

    def test_resets(self):
        """In the handshake, in the greeting, between a state and its answer. Agents come back, and nothing is lost."""
        for proxy in self.each_seed(Weather(piece=300, reset=0.03, most_resets=30 if LONG else 12)):
            self.assertGreater(proxy.resets, 4)
            self.assertGreater(proxy.connections, 8)

    def test_connections_that_pass_one_another(self):
        """Four are held until all are there, and let through in another order; again after each reset."""
        for proxy in self.each_seed(Weather(piece=400, hold=4, hold_seconds=0.3, reset=0.01, most_resets=6)):
            self.assertGreater(proxy.connections, 4)

    def test_everything_at_once(self):
        weather = Weather(delay=0.004, piece=90, stall=0.005, stall_seconds=0.1, reset=0.004, hold=2, hold_seconds=0.1,
                          most_resets=40 if LONG else 8)
        for _ in self.each_seed(weather):
            pass

    def test_the_whole_network_is_gone_for_a_while(self):
        """Everything is reset at once, or nothing passes: the round goes on afterwards."""
        def script(p, proxy):
            chance = random.Random(5)
            for _ in range(6 if LONG else 2):
                time.sleep(chance.uniform(0.05, 0.2))
                proxy.pause()
                time.sleep(0.2)
                if chance.random() < 0.5:
                    proxy.reset_all()
                proxy.resume()
                time.sleep(chance.uniform(0.05, 0.2))
                proxy.reset_all()
        for seed in SEEDS:
            with self.subTest(seed=seed):
                self.through(Weather(delay=0.01), seed, rounds=ROUNDS, script=script)


if __name__ == "__main__":
    unittest.main()
