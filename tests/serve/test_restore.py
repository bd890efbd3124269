"""A restored back-up of the cloud's state, and a copy of it that runs beside the original, in a private run: noise is not
used again on new data, no agent is given two answers of a round, and whoever operates it is told what to do."""
# labels: not-clang

import unittest

import recorders
import town
import wire
from parties import Parties

ROUNDS = 400
STILL = 3.0  # above what the constraints allow: multipliers and prices are not zero


def stay(name, k, x, message):
    """Data that never change: what differs between two runs is noise."""
    return x


class Restore(unittest.TestCase):
    def setUp(self):
        self.parties = Parties(town.problem(3), options=town.options(ROUNDS))
        self.addCleanup(self.parties.close)
        self.names = list(self.parties.names)
        self.ports, self.open = {}, []
        self.addCleanup(self.stop_recorders)

    def stop_recorders(self):
        for agent in self.open:
            agent.agent.move.until = ROUNDS
        for agent in self.open:
            agent.stop()
        self.open = []

    def start(self, state, *more, ready=True):
        port = self.ports.setdefault(state, recorders.free_port())
        trace = self.parties.folder / f"{state}.csv"
        return self.parties.start_cloud("--listen", f"127.0.0.1:{port}", "--http", "off", "--trace", trace, *more,
                                        state=self.parties.folder / state, trace=False, ready=ready)

    def recorders(self, state, until, names=None, book=None, like=None):
        """Agents of the cloud at this state's port, each with a connection of its own, up to a round."""
        book, made = book or wire.Book(), []
        for name in names or self.names:
            gate = recorders.Gate(until, stay)
            agent = recorders.Recorder([name], self.ports[state], self.parties.key_folders[name], book, move=gate, start=STILL)
            if like is not None:  # restored with the cloud
                agent.agent.answered, agent.agent.epoch = dict(like[name][0]), like[name][1]
            made.append(agent)
            self.open.append(agent)
            agent.start()
        return made, book

    def await_round(self, agents, k):
        Parties.wait_for(lambda: all(agent.failure or agent.refused or agent.answered >= k for agent in agents),
                         what=f"round {k}")
        self.assertEqual([agent.failure for agent in agents if agent.failure], [])

    def open_until(self, agents, k):
        for agent in agents:
            agent.agent.move.until = k

    def expect_refused(self, cloud, *words):
        self.assertEqual(cloud.wait(), 3, cloud.err[-2000:])
        for word in words:
            self.assertIn(word, cloud.err)

    # ---- a back-up ----

    def back_up_and_go_on(self):
        """Agents have seen 90 rounds, the back-up 30."""
        cloud = self.start("state")
        agents, book = self.recorders("state", 30)
        self.await_round(agents, 30)
        cloud.kill()
        self.parties.copy_state("backup", of="state")
        self.open_until(agents, 90)
        cloud = self.start("state")
        self.await_round(agents, 90)
        cloud.kill()
        return agents, book

    def restore(self):
        self.parties.copy_state("state", of="backup")

    def test_a_restored_back_up_releases_nothing_until_told_so_and_then_goes_on_behind_every_agent(self):
        agents, book = self.back_up_and_go_on()
        self.restore()
        known = dict(book.answers)
        self.open_until(agents, ROUNDS)
        cloud = self.start("state", ready=None)
        self.expect_refused(cloud, "nothing was released", "has had the answer of round", "--after-restore",
                            str(self.parties.folder / "state"))
        Parties.wait_for(lambda: any(agent.refused for agent in agents), what="a refusal")
        self.assertEqual(book.answers, known)
        self.stop_recorders()
        heirs = self.heirs(agents, book)
        # The journal may begin again where anybody's last answer was: round 90, or 91 where it was written.
        most = max(agent.answered for agent in agents)
        cloud = self.start("state", "--after-restore")
        self.await_round(heirs, ROUNDS)
        self.assertEqual(cloud.wait(), 0, cloud.err[-2000:])
        summary = cloud.json()
        self.assertEqual((summary["outcome"], summary["rounds"]), ("done", ROUNDS))
        self.assertIsNone(summary["feasibility"])
        fresh = {k for _, k in set(book.answers) - set(known)}
        self.assertEqual(fresh, set(range(most + 2, ROUNDS + 1)))  # most + 1 may have been shown
        self.assertEqual({k: body for k, body in book.answers.items() if k in known}, known)

    def heirs(self, agents, book):
        """The same agents, started again by their owners: a rollback is a refusal for good."""
        made = []
        for agent in agents:
            like = {agent.agent.names[0]: (agent.agent.answered, agent.agent.epoch)}
            more, _ = self.recorders("state", ROUNDS, agent.agent.names, book, like)
            made += more
        return made

    def test_agents_of_the_command_are_told_and_go_on_after_the_restoration(self):
        agents, book = self.back_up_and_go_on()
        self.stop_recorders()
        # From here on a1 is the command, with a state file that the recorder's place in the run is not in: it begins at 1.
        self.restore()
        cloud = self.start("state", ready=None)
        heirs = self.heirs(agents[1:], book)
        self.expect_refused(cloud, "--after-restore")
        for heir in heirs:
            heir.stop()
        heirs = self.heirs(agents[1:], book)
        command = self.parties.start_agent(self.names[0], port=self.ports["state"])
        cloud = self.start("state", "--after-restore")
        self.assertEqual(cloud.wait(), 0, cloud.err[-2000:])
        self.assertEqual(command.wait(), 0, command.err[-2000:])
        self.assertEqual(command.json()["agents"][0]["answered"], ROUNDS)
        self.assertEqual([heir.failure for heir in heirs if heir.failure], [])

    # ---- noise ----

    def test_a_back_up_of_everything_agents_included_uses_no_noise_again(self):
        """Nobody can know that rounds were released before. Still the noise must be new."""
        self.parties.options += ["--method", "published", "--gamma-bar", "0.01", "--alpha-bar", "0.1", "--c1", "0.3", "--c2",
                                 "0.52"]  # steps are known: prices alone can differ
        cloud = self.start("state")
        agents, first = self.recorders("state", 30)
        self.await_round(agents, 30)
        cloud.kill()
        self.parties.copy_state("copy", of="state")
        saved = {a.agent.names[0]: (dict(a.agent.answered), a.agent.epoch) for a in agents}
        self.open_until(agents, 80)
        self.start("state")
        self.await_round(agents, 80)
        self.start("copy")
        others, second = self.recorders("copy", 80, like=saved)
        self.await_round(others, 80)
        # The back-up may have round 31, and the multipliers for round 32 that both begin with.
        both = [key for key in first.answers if key in second.answers and 32 < key[1] <= 80]
        self.assertGreater(len(both), 3 * 40)
        self.assertEqual([key for key in both if first.answers[key] == second.answers[key]], [])
        numbers = {epoch for agent in (*agents, *others) for epoch in agent.epochs}
        self.assertEqual(len({number for number, _ in numbers}), 2)  # the same number, and another id
        self.assertEqual(len(numbers), 3)

    # ---- two at once ----

    def test_agents_serve_one_line_of_epochs_only_when_a_copy_runs_beside_the_original(self):
        mine, others = self.names[:1], self.names[1:]
        cloud = self.start("state")
        pacer, _ = self.recorders("state", 20, mine)
        for name in others:
            self.parties.start_agent(name, port=self.ports["state"])
        self.await_round(pacer, 19)
        cloud.stop()
        self.parties.copy_state("copy", of="state")
        original = self.start("state")  # the second epoch, of this line
        self.open_until(pacer, 40)
        self.await_round(pacer, 39)
        for name in others:
            self.assertEqual(self.parties.agents[name].stop(), 0)
        # The copy: also a second epoch, with another id. It is found out by the first agent that comes.
        copy = self.start("copy")
        agent = self.parties.start_agent(others[0], port=self.ports["copy"])
        self.expect_refused(copy, "nothing was released", "another cloud runs from a copy of it")
        self.assertEqual(agent.wait(), 2, agent.err)
        self.assertIn("--after-restore", agent.err)
        # Its operator insists: agents who go there serve that line from then on, and the original no more.
        copy = self.start("copy", "--after-restore")
        for name in others:
            self.parties.start_agent(name, port=self.ports["copy"])
        moved, _ = self.recorders("copy", 80, mine, like={mine[0]: (pacer[0].agent.answered, pacer[0].agent.epoch)})
        self.await_round(moved, 80)
        for name in others:
            self.assertEqual(self.parties.agents[name].stop(), 0)
        agent = self.parties.start_agent(others[0], port=self.ports["state"])
        self.assertEqual(agent.wait(), 2, agent.err)
        self.assertIn("--after-restore", agent.err)
        self.assertTrue(original.is_running())  # it knows what it released, and waits for agents of its own line
        self.assertLessEqual(pacer[0].answered, 41)
        self.open_until(moved, ROUNDS)
        for name in others:
            self.parties.start_agent(name, port=self.ports["copy"])
        self.assertEqual(copy.wait(), 0, copy.err[-2000:])
        for name in others:
            self.assertEqual(self.parties.agents[name].wait(), 0)


if __name__ == "__main__":
    unittest.main()
