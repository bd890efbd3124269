"""A gateway: several agents on one connection, by one certificate that names them all."""
# labels: not-clang

import re
import unittest

import town
import wire
from parties import Parties

AGENTS = 10
ROUNDS = 40


class Gateway(unittest.TestCase):
    def setUp(self):
        self.parties = p = Parties(town.problem(AGENTS), options=town.options(ROUNDS))
        self.addCleanup(p.close)
        self.names = list(p.names)

    def test_ten_agents_on_one_connection_have_the_bits_of_ten_alone(self):
        p = self.parties
        site = p.issue(self.names, together="site")
        p.start_cloud("--log", "json", seed=town.SEED)
        gateway = p.start_agent(*town.shuffled(self.names, 1), keys=site)
        town.same_bits(self, p, p.finish())
        figures = [agent["answered"] for agent in gateway.json()["agents"]]
        self.assertEqual(figures, [ROUNDS] * AGENTS)
        self.assertEqual(len(town.events(p.cloud, "enrolled")), AGENTS)

    def test_a_certificate_of_nine_does_not_speak_for_a_tenth_and_the_nine_go_on(self):
        """The tenth slot is refused for good. The other nine take part on the same connection; the tenth comes with a
        certificate of its own."""
        p = self.parties
        nine, tenth = self.names[:9], self.names[9]
        alone = p.key_folders[tenth]
        site = p.issue(nine, together="site")
        p.start_cloud("--log", "json", "--log-level", "debug", seed=town.SEED)
        gateway = town.python_agent(nine)
        gateway.open(p.port, site)
        gateway.enrol()
        gateway.link.send(wire.enrol(9, tenth, 2))
        refusal = gateway.link.receive()
        self.assertEqual((refusal.type, refusal.code, refusal.slot), (wire.REFUSAL, wire.IDENTITY, 9))
        self.assertEqual(refusal.reason, "the certificate does not name this agent")
        town.await_event(p.cloud, "refused", agent=tenth, reason="the certificate does not name this agent")
        resident = town.Resident(p, nine, site, pace=0)
        resident.agent = gateway
        gateway.move = resident.step
        p.start_agent(tenth, keys=alone)
        resident.start()
        answers = resident.finish()
        town.same_bits(self, p, p.finish(), answers)
        self.assertEqual(town.events(p.cloud, "left"), [])  # they have their last answer
        self.assertEqual(len(town.events(p.cloud, "told")), AGENTS)

    def test_a_gateway_in_c_goes_on_for_nine_and_says_at_the_end_who_was_refused(self):
        p = self.parties
        nine, tenth = self.names[:9], self.names[9]
        alone = p.key_folders[tenth]
        site = p.issue(nine, together="site")
        p.start_cloud("--log", "json", seed=town.SEED)
        gateway = p.start_agent(*self.names, keys=site, trace=False)
        town.await_event(p.cloud, "refused", agent=tenth)
        p.wait_for(lambda: f"agent: {tenth}: the cloud refused agent {tenth}: " in gateway.err, what="the refusal")
        self.assertIn("; tacit keys issue makes a certificate that does; the others go on\n", gateway.err)
        self.assertTrue(gateway.is_running())
        own = p.start_agent(tenth, keys=alone)
        self.assertEqual((p.cloud.wait(), gateway.wait(), own.wait()), (0, 2, 0))
        self.assertIn(f"the cloud refused agent {tenth}: the certificate does not name this agent", gateway.err)
        outcomes = {agent["name"]: agent["outcome"] for agent in gateway.json()["agents"]}
        self.assertEqual(outcomes, {**dict.fromkeys(nine, "done"), tenth: "refused"})
        answers = {name: gateway.json()["x"][name] for name in nine}
        town.same_bits(self, p, p.cloud.json(), {**answers, **own.json()["x"]}, only_these=True)

    def test_a_gateway_that_is_stopped_shows_that_one_was_refused(self):
        p = self.parties
        nine, tenth = self.names[:9], self.names[9]
        site = p.issue(nine, together="site")
        p.start_cloud("--log", "json", seed=town.SEED)
        gateway = p.start_agent(*self.names, keys=site, trace=False, json=False)
        p.wait_for(lambda: "the others go on" in gateway.err, what="the refusal")
        self.assertEqual(gateway.stop(), 2)
        self.assertRegex(gateway.out, rf"(?m)^{re.escape(tenth)}: refused, .*\n  the cloud refused agent .* does not name")
        self.assertIn(f"{nine[0]}: stopped, ", gateway.out)


if __name__ == "__main__":
    unittest.main()
