"""Agents whose cloud has two addresses: a cloud that is killed and started again at the other one, from the same journal,
and an old copy of it that still listens. One agent is driven by the test, which so decides when rounds go on."""
# labels: once

import contextlib
import socket
import unittest

import recorders
import town
import trajectories
from parties import Parties, Process


class Addresses(unittest.TestCase):
    def setUp(self):
        self.ports = [recorders.free_port(), recorders.free_port()]
        self.list = ",".join(f"127.0.0.1:{port}" for port in self.ports)

    def start(self, parties, number, *more, **others):
        """A cloud at the first address or the second."""
        return parties.start_cloud("--listen", f"127.0.0.1:{self.ports[number]}", "--trace", parties.folder / "cloud.csv",
                                   "--http", "off", "--deadline", 30, *more, seed=town.SEED, trace=False, **others)

    def begin(self, parties, *groups):
        """A process for each group; the last agent is the test's own, and its states are written down."""
        for group in groups:
            parties.start_agent(*group, more=["--cloud", self.list])
        own, self.made = list(parties.names)[-1], trajectories.Trajectory()
        self.write(own, 1, [town.LOW] * town.STATES)
        self.pacer = town.python_agent([own])
        self.pacer.move = lambda name, k, x, message: self.write(name, k + 1, town.move(name, k, x, message))

    def write(self, name, k, x):
        self.made.write_x(name, k, [f"{v:.17g}" for v in x])
        return x

    def run_rounds(self, parties, until=None):
        self.pacer.open(self.port, parties.key_folders[self.pacer.names[0]])
        self.pacer.enrol()
        self.pacer.run(until)

    @contextlib.contextmanager
    def dead_machine(self, port):
        """Drops what comes: the queue of its listener is full, and nobody takes anything from it."""
        with contextlib.ExitStack() as stack:
            listener = stack.enter_context(socket.socket())
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", port))
            listener.listen(0)
            for _ in range(8):
                filler = stack.enter_context(socket.socket())
                filler.setblocking(False)
                filler.connect_ex(("127.0.0.1", port))
            yield

    @property
    def port(self):
        return self.ports[self.number]

    def expect_same_bits(self, parties):
        trajectories.read_cloud(parties.folder / "cloud.csv", self.made)
        for name in parties.agents:
            trajectories.read_agents(parties.trace_of(name), town.STATES, self.made)
        alone = trajectories.in_process(parties.problem, parties.folder, parties.options, town.SEED)
        self.assertIsNone(alone.difference(self.made))

    def test_a_cloud_that_dies_and_comes_back_at_the_other_address_ends_with_the_same_bits(self):
        """At first nobody is at the first address. In the end the second one is that of a dead machine."""
        with Parties(town.problem(5), options=town.options(300)) as parties:
            gateway, others = list(parties.names)[:2], list(parties.names)[2:-1]
            parties.issue(gateway, together="gateway")
            self.number = 1
            self.start(parties, self.number)
            self.begin(parties, gateway, *([name] for name in others))
            for until in (50, 100):
                self.run_rounds(parties, until)
                parties.cloud.kill()
                self.number = 1 - self.number
                self.start(parties, self.number)
            self.run_rounds(parties, 150)
            parties.cloud.kill()
            with self.dead_machine(self.port):
                self.number = 0
                self.start(parties, 0)
                self.run_rounds(parties)
                self.pacer.close()
                parties.finish()
            self.expect_same_bits(parties)

    def test_an_old_copy_at_one_address_gets_no_state_and_stops_nobody(self):
        with Parties(town.problem(3), options=town.options(90)) as parties:
            self.number = 0
            self.start(parties, 0)
            self.begin(parties, *([name] for name in list(parties.names)[:-1]))
            self.run_rounds(parties, 30)
            parties.cloud.kill()
            copy = parties.copy_state("copy")
            self.number = 1
            self.start(parties, 1)
            self.run_rounds(parties, 60)
            parties.cloud.kill()
            old = self.start(parties, 0, "--trace", parties.folder / "copy.csv", state=copy)
            self.assertEqual(old.wait(), 3)  # the first agent that comes has seen more
            self.assertIn("rolled-back", old.err)
            self.assertTrue(all(agent.is_running() for agent in parties.agents.values()))
            self.start(parties, 1)
            self.run_rounds(parties)
            self.pacer.close()
            parties.finish()
            self.expect_same_bits(parties)

    def test_a_cloud_of_another_run_at_one_address_stops_nobody(self):
        """An agent that finds one tries the next address first, and ends only where no address has its run."""
        with Parties(town.problem(3), options=town.options(60)) as parties:
            self.number = 1
            self.start(parties, 1)
            names = list(parties.names)[:-1]
            parties.issue(names, together="gateway")
            self.begin(parties, names)
            self.run_rounds(parties, 30)
            parties.cloud.kill()
            self.start(parties, 0, "--trace", parties.folder / "other.csv", state=parties.folder / "other", name="other")
            other = parties.cloud
            parties.wait_for(lambda: "turned-away" in other.err, what="an agent that is turned away")
            self.assertTrue(all(agent.is_running() for agent in parties.agents.values()))
            self.start(parties, 1)
            self.run_rounds(parties)
            self.pacer.close()
            parties.finish()
            self.expect_same_bits(parties)

    def test_where_all_addresses_have_another_run_an_agent_ends_and_names_one(self):
        with Parties(town.problem(2), options=town.options(20)) as parties:
            self.number = 0
            self.start(parties, 0)
            self.begin(parties, list(parties.names)[:1])
            self.run_rounds(parties, 5)
            parties.cloud.kill()
            for number in (0, 1):
                self.start(parties, number, "--trace", parties.folder / f"o{number}.csv", state=parties.folder / f"o{number}",
                           name=f"other{number}")
            for agent in parties.agents.values():
                self.assertEqual(agent.wait(), 2, agent.err)
                self.assertIn("another run or plan", agent.err + agent.out)
                self.assertRegex(agent.err + agent.out, r"\(cloud 127\.0\.0\.1:\d+\)")

    def test_what_is_told_names_the_address_and_is_told_once(self):
        with Parties(town.problem(1), options=town.options(20)) as parties:
            name = next(iter(parties.names))
            parties.port = self.ports[0]
            quiet = parties.start_agent(name, more=["--cloud", self.list])
            quiet.kill()
            loud = parties.agents[name] = Process("loud", parties.folder, [a for a in quiet.arguments if a != "--quiet"])
            parties.others.append(loud)
            first, second = (f"cannot connect to 127.0.0.1:{port}: Connection refused; trying 127.0.0.1:{other}\n"
                             for port, other in (self.ports, self.ports[::-1]))
            parties.wait_for(lambda: second in loud.err, what="both messages")
            self.start(parties, 1)
            parties.finish()
            self.assertEqual((loud.err.count(first), loud.err.count(second)), (1, 1))


if __name__ == "__main__":
    unittest.main()
