"""Two clouds and one journal in a database: one serves, the other stands by and goes on when the first stops, dies or hangs.
Nothing is released twice, nothing is lost, and under a seed the run has the bits of an undisturbed one."""
# labels: long once

import os
import random
import signal
import socket
import time
import unittest

import cluster
import recorders
import town
import trajectories
import wire
from parties import Parties

ROUNDS = 300
LONG = os.environ.get("TACIT_LONG") == "1"


def digits(numbers):
    return [f"{v:.17g}" for v in numbers]


class Standby(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster, cls.databases = cluster.Cluster(), 0
        cls.key = cls.cluster.make_key()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def setUp(self):
        self.parties = Parties(town.problem(3), options=town.options(ROUNDS))
        self.addCleanup(self.parties.close)
        Standby.databases += 1
        self.address = self.cluster.new(f"run{Standby.databases}")
        self.chance, self.agents, self.clouds = random.Random(1), [], 0
        self.addCleanup(self.stop_agents)

    def stop_agents(self):
        for agent in self.agents:
            agent.agent.move.until = ROUNDS
        for agent in self.agents:
            agent.stop()

    def start(self, port, *more, lease=1, seed=town.SEED, address=None, ready=None, key=None):
        """Each cloud has a folder, a trace and a log of its own, as on a machine of its own."""
        self.clouds += 1
        folder = self.parties.folder / f"machine.{self.clouds}"
        return self.parties.start_cloud("--listen", f"127.0.0.1:{port}", "--threads", 1, "--log", "json", "--deadline", 30,
                                           "--journal", address or self.address, "--journal-key", key or self.key, "--lease", lease, *more, seed=seed,
                                           state=folder, trace=False, ready=ready, name=f"cloud.{self.clouds}")

    def start_agents(self, port, until=ROUNDS, deaths=0.0):
        book = wire.Book()
        for i, name in enumerate(self.parties.names):
            self.agents.append(recorders.Recorder([name], port, self.parties.key_folders[name], book, seed=i, deaths=deaths,
                                                  move=recorders.Gate(until, town.move)))
            self.agents[-1].start()
        return book

    def open_until(self, k):
        for agent in self.agents:
            agent.agent.move.until = k

    def move_agents(self, port):
        """Agents ask another address from now on."""
        for agent in self.agents:
            agent.port = port

    def await_round(self, k):
        Parties.wait_for(lambda: all(agent.failure or agent.refused or agent.answered >= k for agent in self.agents),
                         what=f"round {k}")
        self.expect_content()

    def expect_content(self):
        self.assertEqual([agent.failure or agent.refused for agent in self.agents if agent.failure or agent.refused], [])

    def expect_same_bits(self, book, rounds=ROUNDS):
        """Every state before every round is that of the run in one process, and every agent has had every answer."""
        alone = trajectories.in_process(self.parties.problem, self.parties.folder, self.parties.options, town.SEED)
        for agent in self.agents:
            for (name, k), x in agent.x.items():
                if k <= rounds:  # nobody is asked for the one after the last
                    self.assertEqual(digits(x), alone.x[name, k], (name, k))
        self.assertEqual(len(book.answers), rounds * len(self.agents))

    # ---- taking over ----

    def test_a_clean_stop_hands_the_run_over_at_once(self):
        """At once: the lease of an hour would not end."""
        ports = recorders.free_port(), recorders.free_port()
        first = self.start(ports[0], lease=3600, ready=True)
        second = self.start(ports[1], "--standby", lease=3600)
        town.await_event(second, "standby")
        http = town.await_event(second, "http")
        self.assertEqual(town.page(http["port"], "healthz"), "standby\n")
        self.assertIn('"phase": "standby"', town.page(http["port"], "status"))
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", ports[1]))
        book = self.start_agents(ports[0], until=40)
        self.await_round(40)
        self.assertEqual(first.stop(), 0, first.err[-2000:])
        town.await_event(second, "listening")
        self.assertEqual([line["event"] for line in town.events(second) if line["event"] in ("taken-over", "resumed", "begun")],
                         ["taken-over", "resumed"])
        self.move_agents(ports[1])
        self.open_until(ROUNDS)
        self.assertEqual(second.wait(), 0, second.err[-2000:])
        self.expect_same_bits(book)

    def test_a_standby_that_is_stopped_ends_with_0_and_the_other_goes_on(self):
        port = recorders.free_port()
        first = self.start(port, ready=True)
        second = self.start(recorders.free_port(), "--standby")
        town.await_event(second, "standby")
        self.assertEqual(second.stop(), 0, second.err[-2000:])
        self.assertEqual(second.json()["outcome"], "stopped")
        book = self.start_agents(port)
        self.assertEqual(first.wait(), 0, first.err[-2000:])
        self.expect_same_bits(book)

    def test_killed_at_any_moment_the_run_goes_on_elsewhere_with_the_same_bits(self):
        """A cloud and a standby at the port of the same machine; whichever serves is killed, and comes back as a standby."""
        port, kills = recorders.free_port(), 40 if LONG else 6
        clouds = [self.start(port, "--standby"), self.start(port, "--standby")]
        book = self.start_agents(port, deaths=0.01)
        for _ in range(kills):
            active = Parties.wait_for(lambda: next((c for c in clouds if town.events(c, "listening") and c.is_running()), None) or
                                      all(a.is_done() for a in self.agents), what="a cloud that serves")
            self.expect_content()
            if active is True:
                break
            k = max(agent.answered for agent in self.agents)
            Parties.wait_for(lambda: not active.is_running() or max(a.answered for a in self.agents) > k, what="another round")
            time.sleep(self.chance.expovariate(1 / 0.03))
            active.kill()
            clouds.remove(active)
            clouds.append(self.start(port, "--standby"))
        Parties.wait_for(lambda: all(a.failure or a.refused or a.is_done() for a in self.agents), what="the end")
        self.expect_content()
        self.expect_same_bits(book)
        self.assertGreater(len({epoch for agent in self.agents for epoch in agent.epochs}), 2)
        for cloud in clouds:  # the one that stands by finds that all is done
            self.assertEqual(cloud.wait(), 0, cloud.err[-2000:])

    def test_agents_that_know_both_addresses_follow_the_run_by_themselves(self):
        """Agents of the command. The cloud that serves is killed in the middle, then the other one, which has come back."""
        ports = [recorders.free_port(), recorders.free_port()]
        addresses = ",".join(f"127.0.0.1:{port}" for port in ports)
        self.parties.options = town.options(4 * ROUNDS)
        clouds = [self.start(port, "--standby") for port in ports]
        for name in self.parties.names:
            self.parties.start_agent(name, more=["--cloud", addresses], port=ports[0], trace=False)
        for _ in range(2):
            active = Parties.wait_for(lambda: next((c for c in clouds if town.events(c, "complete")), None), what="rounds")
            place = clouds.index(active)
            active.kill()
            clouds[place] = self.start(ports[place], "--standby")
        last = Parties.wait_for(lambda: next((c for c in clouds if not c.is_running()), None), what="the end")
        self.assertEqual(last.wait(), 0, last.err[-2000:])
        for agent in self.parties.agents.values():
            self.assertEqual(agent.wait(), 0, agent.err[-2000:])
        town.same_bits(self, self.parties, last.json())

    def test_noise_is_new_after_a_take_over_and_no_round_is_answered_twice(self):
        port = recorders.free_port()
        first, second = self.start(port, seed=None), None
        book = self.start_agents(port, until=60, deaths=0.02)
        self.await_round(59)
        second = self.start(port, "--standby", seed=None)
        town.await_event(second, "standby")
        self.open_until(ROUNDS)
        first.kill()
        self.assertEqual(second.wait(), 0, second.err[-2000:])
        self.expect_content()
        self.assertEqual(len(book.answers), ROUNDS * len(self.agents))

    def test_a_cloud_that_hung_and_wakes_releases_nothing_more(self):
        ports = recorders.free_port(), recorders.free_port()
        first = self.start(ports[0], ready=True)
        book = self.start_agents(ports[0], until=50)
        self.await_round(50)
        second = self.start(ports[1], "--standby")
        town.await_event(second, "standby")
        first.signal(signal.SIGSTOP)
        town.await_event(second, "listening")
        epoch = town.events(second, "started")[0]["epoch"]
        # The old cloud has all states of the next round when it wakes, and cannot commit it.
        self.open_until(51)  # the answer of round 51 may have come; states of round 52 go out
        time.sleep(0.05)
        first.signal(signal.SIGCONT)
        self.assertEqual(first.wait(), 3, first.err[-2000:])
        fenced = town.events(first, "fenced")[0]
        self.assertIn(f"has taken this run over, in epoch {epoch}", fenced["why"])
        self.assertIn("releases nothing more", first.err)
        self.assertLessEqual(max(k for _, k in book.answers), 51)
        self.move_agents(ports[1])
        self.open_until(ROUNDS)
        self.assertEqual(second.wait(), 0, second.err[-2000:])
        self.expect_content()
        self.expect_same_bits(book)

    def test_of_two_that_stand_by_one_goes_on_and_the_other_waits(self):
        port = recorders.free_port()
        first = self.start(port, ready=True)
        others = [self.start(port, "--standby") for _ in range(2)]
        for other in others:
            town.await_event(other, "standby")
        book = self.start_agents(port, until=80)
        self.await_round(20)
        first.kill()
        winner = Parties.wait_for(lambda: next((c for c in others if town.events(c, "listening")), None), what="a winner")
        loser = others[1 - others.index(winner)]
        self.await_round(80)
        self.assertTrue(loser.is_running())
        self.assertEqual(town.events(loser, "listening"), [])
        holder = f"process {winner.pid}"
        Parties.wait_for(lambda: any(line["holder"].endswith(holder) for line in town.events(loser, "standby")),
                         what="the loser knows the winner")
        winner.kill()
        self.open_until(ROUNDS)
        self.assertEqual(loser.wait(), 0, loser.err[-2000:])
        self.expect_content()
        self.expect_same_bits(book)

    # ---- without --standby ----

    def test_a_second_cloud_is_refused_and_a_dead_one_is_waited_for(self):
        port = recorders.free_port()
        first = self.start(port, ready=True)
        second = self.start(recorders.free_port())
        self.assertEqual(second.wait(), 3, second.err[-2000:])
        self.assertIn("another process has it open", second.err)
        self.assertIn(f"process {first.pid}", second.err)
        book = self.start_agents(port, until=30)
        self.await_round(30)
        first.kill()
        third = self.start(port)
        self.open_until(ROUNDS)
        self.assertEqual(third.wait(), 0, third.err[-2000:])
        self.expect_content()
        self.expect_same_bits(book)

    def test_two_that_begin_at_once_have_one_run(self):
        port = recorders.free_port()
        clouds = [self.start(port, "--standby") for _ in range(3)]
        book = self.start_agents(port)
        for cloud in clouds:
            self.assertEqual(cloud.wait(), 0, cloud.err[-2000:])
        self.expect_content()
        self.expect_same_bits(book)
        self.assertEqual(sum(bool(town.events(cloud, "begun")) for cloud in clouds), 1)

    def test_of_several_that_begin_at_once_one_begins_and_the_others_hear_that_it_has(self):
        for _ in range(3):
            Standby.databases += 1
            address = self.cluster.new(f"run{Standby.databases}")
            clouds = [self.start(recorders.free_port(), address=address, lease=3600) for _ in range(5)]
            first = Parties.wait_for(lambda: next((c for c in clouds if town.events(c, "listening")), None), what="a winner")
            for cloud in clouds:
                if cloud is first:
                    continue
                Parties.wait_for(lambda c=cloud: not c.is_running() or town.events(c, "standby"), what="a word of a loser")
                self.assertNotIn("already exists", cloud.err)
                cloud.kill()
            self.assertEqual(first.stop(), 0, first.err[-2000:])

    # ---- a standby that cannot go on ----

    def test_one_that_could_never_take_over_is_refused_at_its_start(self):
        """With other options, another key, or an address that leads nowhere: better now than when it is needed."""
        self.start(recorders.free_port(), ready=True)
        other = self.start(recorders.free_port(), "--standby", "--epsilon", 3)
        self.assertEqual(other.wait(), 2, other.err[-2000:])
        self.assertIn("belongs to a run of another plan", other.err)
        locked_out = self.start(recorders.free_port(), "--standby", key=self.cluster.make_key())
        self.assertEqual(locked_out.wait(), 2, locked_out.err[-2000:])
        self.assertIn("--journal-key is not the key that its run was begun with", locked_out.err)
        for more, seed in (((), 8), (("--margin", "auto"), town.SEED)):
            stranger = self.start(recorders.free_port(), "--standby", *more, seed=seed)
            self.assertEqual(stranger.wait(), 2, stranger.err[-2000:])
            self.assertIn("a run of another", stranger.err)
        name = f"run{Standby.databases}"
        self.cluster.sql("CREATE ROLE looker LOGIN; GRANT SELECT ON tacit_journal TO looker", database=name)
        looker = self.start(recorders.free_port(), "--standby", address=self.address.replace("user=tacit", "user=looker"))
        self.assertEqual(looker.wait(), 2, looker.err[-2000:])
        self.assertIn("its user may not write there", looker.err)
        lost = self.start(recorders.free_port(), "--standby", address=self.cluster.address("nowhere"))
        self.assertEqual(lost.wait(), 3, lost.err[-2000:])
        self.assertIn("nowhere", lost.err)

    def epoch(self):
        return self.cluster.sql("SELECT epoch FROM tacit_journal", database=f"run{Standby.databases}")

    def test_one_whose_run_vanishes_begins_no_other_and_goes_on_when_it_is_back(self):
        name = f"run{Standby.databases}"
        for gone, back in (("ALTER TABLE tacit_journal RENAME TO elsewhere", "ALTER TABLE elsewhere RENAME TO tacit_journal"),
                           ("UPDATE tacit_journal SET id = 7", "UPDATE tacit_journal SET id = 1")):
            with self.subTest(gone):
                first = self.start(recorders.free_port(), ready=True)
                second = self.start(recorders.free_port(), "--standby")
                town.await_event(second, "standby")
                self.cluster.sql(gone, database=name)
                self.assertEqual(first.wait(), 3, first.err[-2000:])
                self.assertIn("its row is gone", town.await_event(second, "not-taken-over")["why"])
                Parties.wait_for(lambda http=town.await_event(second, "http")["port"]: town.page(http, "healthz") == "standby\n", what="a page")
                self.cluster.sql(back, database=name)
                town.await_event(second, "taken-over")
                self.assertEqual(town.events(second, "begun"), [])
                self.assertEqual(second.stop(), 0, second.err[-2000:])

    def test_one_that_has_seen_a_run_that_was_free_begins_no_other_either(self):
        self.assertEqual(self.start(recorders.free_port(), ready=True).stop(), 0)
        with socket.create_server(("127.0.0.1", 0)) as busy:
            cloud = self.start(busy.getsockname()[1], "--standby")
            self.assertIn("in use", town.await_event(cloud, "not-taken-over")["why"])
            self.cluster.sql("DELETE FROM tacit_journal", database=f"run{Standby.databases}")
        Parties.wait_for(lambda: any("its row is gone" in line["why"] for line in town.events(cloud, "not-taken-over")), what="a word of it")
        self.assertEqual(cloud.stop(), 0, cloud.err[-2000:])

    def test_one_that_cannot_take_over_at_its_start_is_seen_to_stand_by(self):
        with socket.create_server(("127.0.0.1", 0)) as busy:
            cloud = self.start(busy.getsockname()[1], "--standby")
            self.assertIn("in use", town.await_event(cloud, "not-taken-over")["why"])
            http = town.await_event(cloud, "http")
            Parties.wait_for(lambda: town.page(http["port"], "healthz") == "standby\n", what="a page that says so")
        town.await_event(cloud, "listening")
        self.assertEqual(len(town.events(cloud, "http")), 1)
        self.assertEqual(cloud.stop(), 0, cloud.err[-2000:])

    def test_one_that_is_stopped_while_its_port_is_in_use_ends_and_takes_nothing(self):
        with socket.create_server(("127.0.0.1", 0)) as busy:
            first = self.start(recorders.free_port(), ready=True)
            second = self.start(busy.getsockname()[1], "--standby")
            town.await_event(second, "standby")
            first.kill()
            self.assertIn("in use", town.await_event(second, "not-taken-over")["why"])
            epoch = self.epoch()
            self.assertEqual(second.stop(), 0, second.err[-2000:])
            self.assertEqual(second.json()["outcome"], "stopped")
            self.assertEqual(self.epoch(), epoch)

    def test_one_that_could_not_take_over_at_first_says_whose_run_it_took(self):
        with socket.create_server(("127.0.0.1", 0)) as busy:
            port = busy.getsockname()[1]
            first = self.start(recorders.free_port(), ready=True)
            second = self.start(port, "--standby")
            town.await_event(second, "standby")
            first.kill()
            town.await_event(second, "not-taken-over")
        self.assertIn(f"process {first.pid}", town.await_event(second, "taken-over")["holder"])
        self.assertEqual(second.stop(), 0, second.err[-2000:])

    def test_one_that_is_stopped_while_the_row_is_locked_ends_and_takes_nothing(self):
        first = self.start(recorders.free_port(), ready=True)
        second = self.start(recorders.free_port(), "--standby")
        town.await_event(second, "standby")
        epoch = self.epoch()
        name = f"run{Standby.databases}"
        with self.cluster.locked("tacit_journal", name):
            first.kill()
            waits = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}' AND wait_event_type = 'Lock'"
            Parties.wait_for(lambda: self.cluster.sql(waits) != "0", what="a statement that waits")
            self.assertEqual(second.stop(), 0, second.err[-2000:])
        self.assertEqual(self.epoch(), epoch)

    def test_while_the_database_hangs_a_standby_shows_its_pages_and_can_be_stopped(self):
        """It connects, and nobody answers: libpq would wait for ever."""
        port = recorders.free_port()
        with cluster.Way(self.cluster) as way:
            address = way.address(f"run{Standby.databases}") + "?connect_timeout=0"
            self.start(port, ready=True)
            second = self.start(port, "--standby", address=address)
            town.await_event(second, "standby")
            http = town.await_event(second, "http")["port"]
            way.hang()
            Parties.wait_for(lambda: town.page(http, "healthz") == "waiting-for-database\n", what="a page that says so")
            self.assertEqual(second.stop(), 0, second.err[-2000:])

    def test_one_that_cannot_read_its_ledger_says_so_and_does_not_keep_the_lease(self):
        port = recorders.free_port()
        first = self.start(port, ready=True)
        bad = self.parties.folder / "ledger.bad"
        bad.symlink_to(bad)  # nobody can open it
        second = self.start(recorders.free_port(), "--standby", "--ledger", bad, lease=3600)
        town.await_event(second, "standby")
        self.assertEqual(first.stop(), 0, first.err[-2000:])
        self.assertEqual(second.wait(), 3, second.err[-2000:])
        self.assertIn("ledger.bad", second.err)
        third = self.start(port, ready=True)  # at once: the lease of an hour was given up
        self.assertEqual(third.stop(), 0, third.err[-2000:])

    def test_one_that_vanishes_while_it_opens_the_journal_does_not_stop_the_other(self):
        """It has locked the row, and nothing more comes from it: the server cannot tell that from a slow one."""
        name, port = f"run{Standby.databases}", recorders.free_port()
        first = self.start(port, ready=True)
        book = self.start_agents(port, until=30)
        self.await_round(30)
        with cluster.Way(self.cluster, "nothing", silent_after=b"FOR UPDATE") as way:
            self.start(recorders.free_port(), address=way.address(name))
            idle = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}' AND state = 'idle in transaction'"
            Parties.wait_for(lambda: self.cluster.sql(idle) == "1", what="a locked row")
            self.open_until(ROUNDS)
            self.assertEqual(first.wait(), 0, first.err[-2000:])
        self.expect_content()
        self.expect_same_bits(book)

    # ---- the database ----

    def test_while_the_database_can_only_be_read_a_standby_waits(self):
        """As a replica before it is promoted: its row can be read, and the lease in it ends."""
        name, port = f"run{Standby.databases}", recorders.free_port()
        first = self.start(port, ready=True)
        second = self.start(port, "--standby")
        town.await_event(second, "standby")
        book = self.start_agents(port, until=30)
        self.await_round(30)
        self.cluster.sql(f"ALTER DATABASE {name} SET default_transaction_read_only = on", database="postgres")
        first.kill()
        self.assertIn("can only be read", town.await_event(second, "not-taken-over")["why"])
        Parties.wait_for(lambda: self.cluster.sql("SELECT expires < clock_timestamp() - interval '1 s' FROM tacit_journal",
                                                  database=name) == "t", what="the end of the lease")
        self.assertTrue(second.is_running(), second.err[-2000:])
        self.cluster.sql(f"ALTER DATABASE {name} RESET default_transaction_read_only", database="postgres")
        self.open_until(ROUNDS)
        self.assertEqual(second.wait(), 0, second.err[-2000:])
        self.expect_content()
        self.expect_same_bits(book)

    def test_where_the_answer_of_a_commit_is_lost_the_next_cloud_goes_on_from_what_is_there(self):
        """A way to the database that is cut when the statement is on its way, or when its answer is: the round is not there,
        or it is, and nobody was told. The next cloud finds one or the other."""
        for what in ("statement", "answer"):
            with self.subTest(what), cluster.Way(self.cluster, what) as way:
                Standby.databases += 1
                name = f"cut{Standby.databases}"
                self.address = self.cluster.new(name)
                port = recorders.free_port()
                first = self.start(port, address=way.address(name), ready=True, lease=3600)  # no renewal comes between
                book = self.start_agents(port, until=30)
                Parties.wait_for(lambda: len(book.answers) == 31 * len(self.agents), what="round 31")
                way.cut_next()
                self.open_until(ROUNDS)
                self.assertEqual(first.wait(), 3, first.err[-2000:])
                self.assertIn("the connection to the database is lost", first.err)
                self.assertIn("when the database is back", first.err)
                stored = int(self.cluster.sql("SELECT round FROM tacit_journal", database=name))
                self.assertEqual(stored - max(k for _, k in book.answers), 1 if what == "answer" else 0)
                self.cluster.sql("UPDATE tacit_journal SET expires = 'epoch'", database=name)  # an hour later
                second = self.start(port)
                self.assertEqual(second.wait(), 0, second.err[-2000:])
                self.expect_content()
                self.expect_same_bits(book)
                self.stop_agents()
                self.agents.clear()
                self.parties.others = [p for p in self.parties.others if p.is_running()]


if __name__ == "__main__":
    cluster.main()
