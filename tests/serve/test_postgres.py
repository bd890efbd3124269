"""A journal in a PostgreSQL database: the rules of a journal in a folder hold there too, secrets stay out of arguments and
messages, and whatever is wrong with the database is said, and nothing is released."""
# labels: once

import json
import os
import pathlib
import signal
import socket
import sqlite3
import subprocess
import unittest
import unittest.mock

import cluster
import recorders
import town
import wire
from parties import PATIENCE, Parties

ROUNDS = 120

FAULT = """
CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.round > 40 AND NEW.round > OLD.round THEN {what}; END IF; RETURN NEW; END $$;
CREATE {when} FOR EACH ROW EXECUTE FUNCTION fail()
"""
IN_THE_STATEMENT = "TRIGGER fails BEFORE UPDATE ON tacit_journal"
AT_ITS_COMMIT = "CONSTRAINT TRIGGER fails AFTER UPDATE ON tacit_journal DEFERRABLE INITIALLY DEFERRED"


class Postgres(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster, cls.databases = cluster.Cluster(), 0
        cls.key = cls.cluster.make_key()
        cls.parties = Parties(town.problem(2), options=town.options(ROUNDS))

    @classmethod
    def tearDownClass(cls):
        cls.parties.close()
        cls.cluster.close()

    def setUp(self):
        Postgres.databases += 1
        self.database = f"run{Postgres.databases}"
        self.address = self.cluster.new(self.database)
        self.port, self.agents, self.starts = recorders.free_port(), [], 0
        self.addCleanup(self.stop_agents)

    def stop_agents(self):
        for agent in self.agents:
            agent.agent.move.until = ROUNDS
        for agent in self.agents:
            agent.stop()
        self.agents.clear()

    def sql(self, text):
        return self.cluster.sql(text, database=self.database)

    def start(self, *more, address=None, state=None, seed=town.SEED, ready=None, key=True):
        """key: the usual one, another, or None."""
        self.starts += 1
        more = (*(["--journal-key", self.key if key is True else key] if key else []), *more)
        return self.parties.start_cloud("--listen", f"127.0.0.1:{self.port}", "--http", "off", "--log", "json", "--lease", 1,
                                        "--journal", address or self.address, *more, seed=seed, trace=False, ready=ready,
                                        state=state or self.parties.folder / self.database,
                                        name=f"{self.database}.{self.starts}")

    def start_agents(self, until=ROUNDS, book=None, like=None):
        book = book or wire.Book()
        for name in self.parties.names:
            agent = recorders.Recorder([name], self.port, self.parties.key_folders[name], book,
                                       move=recorders.Gate(until, town.move))
            if like is not None:
                agent.agent.answered, agent.agent.epoch, agent.agent.x = like[name]
            self.agents.append(agent)
            agent.start()
        return book

    def await_round(self, k):
        Parties.wait_for(lambda: all(agent.failure or agent.refused or agent.answered >= k for agent in self.agents),
                         what=f"round {k}")
        self.assertEqual([agent.failure or agent.refused for agent in self.agents if agent.failure or agent.refused], [])

    def open_until(self, k):
        for agent in self.agents:
            agent.agent.move.until = k

    def expect_refused(self, cloud, code, *words):
        self.assertEqual(cloud.wait(), code, cloud.err[-2000:])
        for word in words:
            self.assertIn(word, cloud.err)

    # ---- the rules ----

    def test_the_journals_own_tests_hold(self):
        program = pathlib.Path(os.environ["TACIT_BINARY_DIR"], "serve_test_journal")
        done = subprocess.run([program], env={**os.environ, "TACIT_JOURNAL": self.address, "TACIT_JOURNAL_KEY": self.key}, capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr[-3000:])

    def run_in_a_folder(self):
        """The same run with its journal in a folder, until round 61. Its row, by column, and what agents were answered."""
        folder = self.parties.folder / f"{self.database}.folder"
        self.parties.start_cloud("--listen", f"127.0.0.1:{self.port}", "--http", "off", seed=town.SEED, state=folder, trace=False,
                                 name=f"{self.database}.folder")
        book = self.stop_after_61()
        with sqlite3.connect(folder / "journal.db") as database:
            database.row_factory = sqlite3.Row
            return dict(database.execute("SELECT * FROM journal").fetchone()), book

    def stop_after_61(self):
        book = self.start_agents(until=60)
        Parties.wait_for(lambda: len(book.answers) == 61 * len(self.agents), what="round 61")
        self.assertEqual(self.parties.cloud.stop(), 0, self.parties.cloud.err)
        self.stop_agents()
        return book

    def test_a_run_has_the_bits_of_one_in_a_folder(self):
        self.start()
        answers = self.stop_after_61().answers
        self.assertEqual(self.run_in_a_folder()[1].answers, answers)
        self.assertEqual(self.sql("SELECT round FROM tacit_journal"), "61")

    def test_a_run_goes_on_from_its_database_and_ends(self):
        cloud = self.start()
        book = self.start_agents(until=40)
        self.await_round(40)
        self.assertEqual(cloud.stop(), 0, cloud.err)
        self.open_until(ROUNDS)
        cloud = self.start()
        self.assertEqual(cloud.wait(), 0, cloud.err)
        self.assertIn(town.events(cloud, "resumed")[0]["round"], (40, 41))
        self.assertEqual(len(book.answers), ROUNDS * 2)
        again = self.start()  # all is told: it ends at once
        self.assertEqual(again.wait(), 0, again.err)
        self.assertTrue(town.events(again, "all-told") or town.events(again, "over"))

    def test_another_plan_is_refused_and_a_new_run_puts_the_old_row_aside(self):
        cloud = self.start(ready=True)
        self.assertEqual(cloud.stop(), 0)
        self.expect_refused(self.start("--epsilon", 4), 2, "another plan", "--new-run")
        cloud = self.start("--epsilon", 4, "--new-run", ready=True)
        self.assertIn("row 2 of tacit_journal", town.events(cloud, "moved")[0]["file"])
        self.port = recorders.free_port()
        refused = self.start("--epsilon", 4, "--new-run")
        self.expect_refused(refused, 3, "another process has it open")
        self.assertEqual(cloud.stop(), 0)
        self.assertEqual(self.sql("SELECT count(DISTINCT run_id) FROM tacit_journal"), "2")

    def test_a_new_run_that_cannot_begin_leaves_the_old_one_where_it_is(self):
        """Without a key; with an agent that is not there; without the right to insert rows."""
        self.assertEqual(self.start(ready=True).stop(), 0)
        run = "SELECT id, encode(run_id, 'hex') FROM tacit_journal"
        before = self.sql(run)
        self.expect_refused(self.start("--new-run", key=None), 2, "needs a key")
        self.assertEqual(self.sql(run), before)
        self.expect_refused(self.start("--new-run", "--disbelieve", "nobody"), 2, "no agent 'nobody'")
        self.assertEqual(self.sql(run), before)
        self.sql("CREATE ROLE updater LOGIN; GRANT SELECT, UPDATE ON tacit_journal TO updater")
        self.expect_refused(self.start("--new-run", address=self.address.replace("user=tacit", "user=updater")), 3, "may not write")
        self.assertEqual(self.sql(run), before)
        cloud = self.start(ready=True)
        self.assertEqual(town.events(cloud, "begun"), [])
        self.assertEqual(cloud.stop(), 0)

    def test_a_new_run_in_a_folder_that_cannot_begin_leaves_the_old_one_where_it_is(self):
        folder = self.parties.folder / f"{self.database}.folder"

        def start(*more, **how):
            self.starts += 1
            return self.parties.start_cloud("--http", "off", "--log", "json", *more, seed=town.SEED, state=folder, trace=False,
                                            name=f"{self.database}.{self.starts}", **how)

        self.assertEqual(start().stop(), 0)
        self.expect_refused(start("--new-run", "--disbelieve", "nobody", ready=None), 2, "no agent 'nobody'")
        self.assertEqual([path.name for path in folder.glob("journal*.db")], ["journal.db"])
        cloud = start()
        self.assertEqual(town.events(cloud, "begun"), [])
        self.assertEqual(cloud.stop(), 0)

    def test_a_database_that_changes_nothing_is_noticed_before_agents_hear_of_the_epoch(self):
        self.assertEqual(self.start(ready=True).stop(), 0)
        self.sql("CREATE RULE nothing AS ON UPDATE TO tacit_journal DO INSTEAD NOTHING")
        self.expect_refused(self.start(), 3, "keeps its row from being changed")
        self.sql("DROP RULE nothing ON tacit_journal")
        self.assertEqual(self.start(ready=True).stop(), 0)

    def test_a_row_that_is_deleted_under_a_cloud_ends_it_and_the_back_up_is_named(self):
        cloud = self.start(ready=True)
        self.sql("DELETE FROM tacit_journal")
        self.expect_refused(cloud, 3, "its row is gone", "--after-restore")
        self.assertNotIn("goes on there", cloud.err)

    def test_a_server_that_says_nothing_does_not_keep_a_signal_from_ending_the_start(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            cloud = self.start(address=f"postgresql://127.0.0.1:{silent.getsockname()[1]}/x?connect_timeout=0")
            with silent.accept()[0]:
                self.assertEqual(cloud.stop(), 0, cloud.err)

    def test_a_cloud_that_waits_to_renew_its_lease_can_be_stopped(self):
        cloud = self.start(ready=True)
        with self.cluster.locked("tacit_journal", self.database):
            waits = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{self.database}' AND wait_event_type = 'Lock'"
            Parties.wait_for(lambda: self.sql(waits) != "0", what="a renewal that waits")
            before = self.sql("SELECT expires FROM tacit_journal")
            self.assertEqual(cloud.stop(), 0, cloud.err)
            # The server gives statements up by itself after 30 s; the renewal must be gone at once.
            Parties.wait_for(lambda: self.sql(waits) == "0", seconds=15, what="the end of the renewal")
        self.assertEqual(self.sql("SELECT expires FROM tacit_journal"), before)
        self.assertEqual(self.start(ready=True).stop(), 0)

    def test_a_cloud_that_is_stopped_while_it_opens_the_journal_lets_nobody_in(self):
        """It listens already, and a client has come."""
        self.assertEqual(self.start(ready=True).stop(), 0)
        with self.cluster.locked("tacit_journal", self.database):
            cloud = self.start()
            waits = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{self.database}' AND wait_event_type = 'Lock'"
            Parties.wait_for(lambda: self.sql(waits) != "0", what="an opening that waits")
            with socket.create_connection(("127.0.0.1", self.port)):
                self.assertEqual(cloud.stop(), 0, cloud.err)

    def test_a_cloud_that_is_stopped_during_a_slow_commit_gives_the_lease_up(self):
        """The commit and agents that are busy use up the time that the database has after a signal."""
        cloud = self.start("--lease", 3600, ready=True)
        self.start_agents(until=20)
        self.await_round(20)
        self.sql("CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.4); RETURN NEW; END $$; "
                 "CREATE TRIGGER slows BEFORE UPDATE ON tacit_journal FOR EACH ROW EXECUTE FUNCTION slow()")
        sleeps = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{self.database}' AND wait_event = 'PgSleep'"
        Parties.wait_for(lambda: self.sql(sleeps) == "0", what="a pause")
        self.open_until(21)
        Parties.wait_for(lambda: self.sql(sleeps) != "0", what="a commit")
        self.assertEqual(cloud.stop(), 0, cloud.err)
        self.assertEqual(self.sql("SELECT extract(epoch FROM expires) FROM tacit_journal").split(".")[0], "0")

    def test_a_cloud_that_cannot_give_the_lease_up_says_so(self):
        cloud = self.start("--lease", 3600, ready=True)
        with self.cluster.locked("tacit_journal", self.database):
            self.assertEqual(cloud.stop(), 0, cloud.err)
        self.assertIn("the lease could not be given up", town.events(cloud, "note")[0]["why"])

    def test_a_row_that_is_put_back_under_a_cloud_is_not_taken_for_another_cloud(self):
        cloud = self.start(ready=True)
        self.start_agents(until=10)
        self.await_round(10)
        self.sql("CREATE TABLE kept AS TABLE tacit_journal")
        self.open_until(20)
        self.await_round(20)
        self.sql("BEGIN; DELETE FROM tacit_journal; INSERT INTO tacit_journal TABLE kept; COMMIT")
        self.open_until(30)
        self.expect_refused(cloud, 3, "put back to an earlier state", "--after-restore")
        self.assertEqual(town.events(cloud, "fenced"), [])

    def test_where_nobody_can_say_who_has_the_row_no_back_up_is_asked_for(self):
        self.sql("CREATE ROLE shy LOGIN; GRANT CREATE ON SCHEMA public TO shy")
        cloud = self.start(address=self.address.replace("user=tacit", "user=shy"), ready=True)
        self.sql("ALTER TABLE tacit_journal OWNER TO tacit; GRANT UPDATE, SELECT (id, epoch, digest) ON tacit_journal TO shy; "
                 "UPDATE tacit_journal SET epoch = epoch + 1")
        self.expect_refused(cloud, 3, "another cloud may have taken this run over")
        self.assertNotIn("back-up", cloud.err)

    def test_a_changed_row_is_refused(self):
        self.start()
        self.start_agents(until=10)
        self.await_round(10)
        self.assertEqual(self.parties.cloud.stop(), 0)
        changed = "set_byte({0}, {1}, (get_byte({0}, {1}) + 1) % 256)"
        for column, value in (("answers", changed.format("answers", 60)), ("answers", changed.format("answers", "length(answers) - 1")),
                              ("answers", "substring(answers FROM 1 FOR length(answers) - 1)"), ("answers", "''"),
                              ("answers", "substring(answers FROM 1 FOR 90)"), ("round", "round - 1"), ("memory", "'x'"),
                              ("epoch", "epoch + 1"), ("step", "0.5"), ("finished", "1"), ("digest", changed.format("digest", 5)),
                              ("input", changed.format("input", 5)), ("run_id", "'x'")):
            with self.subTest(column):
                before = self.sql(f"SELECT {column} FROM tacit_journal")
                self.sql("CREATE TABLE kept AS TABLE tacit_journal")
                self.sql(f"UPDATE tacit_journal SET {column} = {value}")
                self.assertNotEqual(self.sql(f"SELECT {column} FROM tacit_journal"), before)
                self.expect_refused(self.start(), 3, "it is damaged")
                self.sql("DELETE FROM tacit_journal; INSERT INTO tacit_journal TABLE kept; DROP TABLE kept")
        self.open_until(ROUNDS)
        cloud = self.start()
        self.assertEqual(cloud.wait(), 0, cloud.err)

    # ---- what the database can see and do ----

    def run_past_a_proxy(self):
        """A run until round 61 whose commit of round 30 fails once. All that was sent to the database, and what agents were
        answered."""
        with cluster.Way(self.cluster) as way:
            cloud = self.start(address=way.address(self.database), ready=True)
            book = self.start_agents(until=5)
            self.await_round(5)
            self.sql(FAULT.format(what="RAISE 'no'", when=IN_THE_STATEMENT).replace("> 40", "= 30"))
            self.open_until(60)
            self.expect_refused(cloud, 3, "The round was not answered")
            self.sql("DROP TRIGGER fails ON tacit_journal; DROP FUNCTION fail")
            cloud = self.start(address=way.address(self.database), ready=True)
            Parties.wait_for(lambda: len(book.answers) == 61 * len(self.agents), what="round 61")
            self.assertEqual(cloud.stop(), 0, cloud.err)
            self.stop_agents()
            return bytes(way.sent), book

    @staticmethod
    def found_in(sent, book):
        """The words of answers that stand in the clear in what was sent, in either order of bytes; but no public constants."""
        words = {body[i:i + 8] for body in book.answers.values() for i in range(0, len(body), 8)}
        words = {word for word in words if len(set(word)) > 5}
        return [word for word in words if word in sent or word[::-1] in sent], len(words)

    def test_no_number_of_a_round_reaches_the_database_in_the_clear(self):
        """Also none of a round whose commit failed, which is computed again with other noise."""
        sent, book = self.run_past_a_proxy()
        found, words = self.found_in(sent, book)
        self.assertEqual(found, [])
        self.assertGreater(words, 20)
        self.assertIn(b"UPDATE tacit_journal SET round", sent)
        row, _ = self.run_in_a_folder()
        memory = bytes(row["memory"]).replace(bytes(row["plan_hash"]), b"")  # the hash is public
        windows = [memory[i:i + 16] for i in range(0, len(memory) - 16, 8) if len(set(memory[i:i + 16])) > 8]
        self.assertGreater(len(windows), 3)
        self.assertEqual([window for window in windows if window in sent], [])

    def test_a_cloud_that_forgets_to_encrypt_is_found(self):
        program = pathlib.Path(os.environ["TACIT_BINARY_DIR"], "tacit_with_journal_in_the_clear")
        with unittest.mock.patch("parties.TACIT", program), cluster.Way(self.cluster) as way:
            cloud = self.start(address=way.address(self.database), ready=True)
            book = self.start_agents(until=30)
            self.await_round(30)
            self.assertEqual(cloud.stop(), 0, cloud.err)
        found, words = self.found_in(bytes(way.sent), book)
        self.assertGreater(len(found), words // 4)

    def test_a_round_has_the_same_size_whatever_its_numbers_are(self):
        self.sql("CREATE TABLE sizes (round bigint, size int)")
        cloud = self.start(ready=True)
        self.sql("CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO sizes VALUES "
                 "(NEW.round, length(NEW.answers)); RETURN NEW; END $$; "
                 "CREATE TRIGGER notes BEFORE UPDATE ON tacit_journal FOR EACH ROW EXECUTE FUNCTION note()")
        self.start_agents()
        self.assertEqual(cloud.wait(), 0, cloud.err)
        self.assertEqual(self.sql(f"SELECT count(DISTINCT round) = {ROUNDS}, count(DISTINCT size) FROM sizes WHERE round > 0"), "t|1")

    def test_a_row_of_another_run_or_moment_is_refused_in_its_place(self):
        """Sealed numbers of an earlier round, an earlier epoch and another run under the same key."""
        self.start()
        self.start_agents(until=10)
        self.await_round(10)
        self.sql("CREATE TABLE old AS TABLE tacit_journal")
        self.open_until(20)
        self.await_round(20)
        self.assertEqual(self.parties.cloud.stop(), 0)
        self.stop_agents_but_keep()
        cloud = self.start("--new-run", seed=8, ready=True)
        self.assertEqual(cloud.stop(), 0, cloud.err)
        self.sql("CREATE TABLE other AS SELECT * FROM tacit_journal WHERE id = 1; "
                 "UPDATE tacit_journal SET id = 3 WHERE id = 1; UPDATE tacit_journal SET id = 1 WHERE id = 2")
        self.sql("CREATE TABLE kept AS SELECT * FROM tacit_journal")
        for what in ("answers = old.answers FROM old", "answers = old.answers, round = old.round FROM old",
                     "answers = other.answers, round = 0, run_id = other.run_id, epoch = other.epoch FROM other",
                     "epoch = old.epoch + 7, epoch_id = old.epoch_id FROM old"):
            with self.subTest(what):
                self.sql(f"UPDATE tacit_journal SET {what} WHERE tacit_journal.id = 1")
                self.expect_refused(self.start(), 3, "it is damaged")
                self.sql("DELETE FROM tacit_journal; INSERT INTO tacit_journal TABLE kept")
        self.sql("UPDATE tacit_journal SET answers = other.answers, round = 0 FROM other WHERE tacit_journal.id = 1")
        self.expect_refused(self.start(), 2, "is not the key that its run was begun with (or somebody has changed the row)")

    def test_a_new_journal_needs_a_key_and_an_old_one_its_own(self):
        self.expect_refused(self.start(key=None), 2, "needs a key", "tacit keys journal FILE", "--journal-key FILE")
        self.assertEqual(self.sql("SELECT to_regclass('tacit_journal') IS NULL"), "t")
        self.assertEqual(self.start(ready=True).stop(), 0)
        before = self.sql("SELECT * FROM tacit_journal")
        self.expect_refused(self.start(key=None), 2, "it is sealed: start with --journal-key FILE")
        other = self.cluster.make_key()
        self.expect_refused(self.start(key=other), 2, "--journal-key is not the key that its run was begun with")
        self.expect_refused(self.start(key=self.parties.folder / "nowhere"), 3, "nowhere")
        os.chmod(other, 0o644)
        self.expect_refused(self.start(key=other), 2, "may be read by others: chmod 600")
        pathlib.Path(other).write_text("secret")
        os.chmod(other, 0o600)
        cloud = self.start(key=other)
        self.expect_refused(cloud, 2, "64 hexadecimal digits")
        self.assertNotIn("secret", cloud.err)
        self.assertEqual(self.sql("SELECT * FROM tacit_journal"), before)
        fresh = self.cluster.make_key()
        self.assertEqual(self.start("--new-run", key=fresh, ready=True).stop(), 0)
        self.assertEqual(self.start(key=fresh, ready=True).stop(), 0)

    def test_a_journal_that_was_begun_without_a_key_goes_on_without_one(self):
        """As an earlier version has left it: the row of a folder, whose form is the same."""
        row, book = self.run_in_a_folder()
        self.assertEqual(self.start(ready=True).stop(), 0)
        values = {name: f"'\\x{bytes(value).hex()}'" if isinstance(value, bytes) else repr(value) for name, value in row.items()
                  if name not in ("id", "format")}
        self.sql("UPDATE tacit_journal SET format = 1, " + ", ".join(f"{name} = {value}" for name, value in values.items()))
        self.expect_refused(self.start(), 2, "it is not sealed", "go on without --journal-key")
        cloud = self.start(key=None)
        self.start_agents(book=wire.Book())
        self.assertEqual(cloud.wait(), 0, cloud.err)
        self.assertEqual(town.events(cloud, "readable")[0]["level"], "warning")
        self.assertEqual(town.events(cloud, "resumed")[0]["round"], 61)

    # ---- options ----

    def test_a_password_in_the_address_is_refused_and_not_repeated(self):
        for address in ("postgresql://tacit:secret@localhost/x", "postgres://localhost/x?password=secret",
                        "postgresql://tacit:ge/secret@127.0.0.1:1/x", "postgresql://tacit:1/secret@127.0.0.1/x",
                        "postgresql://tacit:ge?secret@127.0.0.1:1/x"):
            cloud = self.start(address=address)
            self.expect_refused(cloud, 2, *(["password", ".pgpass"] if "ge?" not in address else []))
            self.assertNotIn("secret", cloud.err + cloud.out)

    def test_an_address_that_cannot_be_right_is_refused(self):
        for address, words in (("postgresql://localhost:99999/x", "port"), ("postgresql://localhost:1e3/x", "port"),
                               ("postgresql://a,b:5432,c:x/d", "port"), ("postgresql://localhost/x?sslmode=bogus", "sslmode"),
                               ("postgresql:///x?dbname=postgresql%3A%2F%2Fu%3Asecret%40h%2Fx", "address itself")):
            cloud = self.start(address=address)
            self.expect_refused(cloud, 2, words)
            self.assertNotIn("secret", cloud.err + cloud.out)

    def test_options_that_do_not_fit_are_refused(self):
        for more, words in ((("--durability", "process"), "--durability process"), (("--standby", "--new-run"), "--standby"),
                            (("--standby", "--after-restore"), "--standby")):
            self.expect_refused(self.start(*more), 2, words)
        self.expect_refused(self.start(address="/var/lib/tacit"), 2, "--state DIR")
        for more, words in ((("--standby",), "--standby goes with --journal"), (("--lease", 3), "--lease goes with --journal"),
                            (("--journal-key", self.key), "--journal-key goes with --journal")):
            cloud = self.parties.start_cloud(*more, ready=None, trace=False, name=f"{self.database}.{words[:9]}")
            self.expect_refused(cloud, 2, words)

    def test_a_run_in_a_folder_is_not_begun_again_in_a_database(self):
        folder = self.parties.folder / "moves"
        cloud = self.parties.start_cloud(state=folder, trace=False, name="moves", seed=town.SEED)
        self.assertEqual(cloud.stop(), 0)
        self.expect_refused(self.start(state=folder), 2, "there is a journal in the folder", "without --journal")
        self.assertEqual(self.sql("SELECT to_regclass('tacit_journal') IS NULL"), "t")

    def test_a_server_elsewhere_must_prove_who_it_is(self):
        """Elsewhere by its name; hostaddr leads here. The password is in a file."""
        port, password = recorders.free_port(), self.parties.folder / "pgpass"
        with cluster.Cluster(port=port) as other:
            certificate = other.use_tls("db.example")
            other.sql("ALTER ROLE tacit PASSWORD 'secret'")
            password.write_text("*:*:*:*:secret\n")
            password.chmod(0o600)
            os.environ["PGPASSFILE"] = str(password)
            self.addCleanup(os.environ.pop, "PGPASSFILE")
            address = f"postgresql://tacit@%s:{port}/journals?hostaddr=127.0.0.1"
            known = f"&sslrootcert={certificate}"
            said = ""
            for name, more, words in (("db.example", "", "root certificate"), ("other.example", known, "does not match host name"),
                                      ("db.example", "&sslmode=disable", "no pg_hba.conf entry")):
                cloud = self.start(address=address % name + more)
                self.expect_refused(cloud, 3, words)
                said += cloud.err
            for more in (known, "&sslmode=require"):
                cloud = self.start(address=address % "db.example" + more, ready=True)
                self.assertEqual(cloud.stop(), 0, cloud.err)
                said += cloud.err
            password.write_text("*:*:*:*:wrong-secret\n")
            cloud = self.start(address=address % "db.example" + known)
            self.expect_refused(cloud, 3, "password authentication failed")
            self.assertNotIn("secret", said + cloud.err)

    # ---- a database that fails ----

    def test_a_database_that_is_not_there_is_named(self):
        self.expect_refused(self.start(address=self.cluster.address("nowhere")), 3, "does not exist")
        self.expect_refused(self.start(address="postgresql:///x?host=/nowhere"), 3, "/nowhere")

    def test_a_database_that_can_only_be_read_is_called_that(self):
        read_only = self.cluster.address(self.database, options="-c default_transaction_read_only=on")
        self.expect_refused(self.start(address=read_only), 3, "the database can only be read")
        self.sql("CREATE ROLE reader LOGIN" if self.sql("SELECT count(*) FROM pg_roles WHERE rolname = 'reader'") == "0"
                 else "SELECT 1")
        self.sql("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        self.expect_refused(self.start(address=self.address.replace("user=tacit", "user=reader")), 3,
                            "its user may not write there")

    def test_a_server_without_fsync_is_refused(self):
        self.cluster.sql("ALTER SYSTEM SET fsync = off")
        self.cluster.sql("SELECT pg_reload_conf()")
        try:
            Parties.wait_for(lambda: self.cluster.sql("SHOW fsync") == "off", what="fsync off")
            self.expect_refused(self.start(), 3, "fsync off")
        finally:
            self.cluster.sql("ALTER SYSTEM RESET fsync")
            self.cluster.sql("SELECT pg_reload_conf()")
            Parties.wait_for(lambda: self.cluster.sql("SHOW fsync") == "on", what="fsync on")

    def test_commits_wait_for_the_disk_whatever_the_server_says(self):
        self.sql(f"ALTER DATABASE {self.database} SET synchronous_commit = off")
        self.sql("CREATE TABLE seen (setting text)")
        cloud = self.start(ready=True)
        self.sql("CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen VALUES "
                 "(current_setting('synchronous_commit')); RETURN NEW; END $$; "
                 "CREATE TRIGGER notes BEFORE UPDATE ON tacit_journal FOR EACH ROW EXECUTE FUNCTION note()")
        self.start_agents(until=5)
        self.await_round(5)
        self.assertEqual(cloud.stop(), 0)
        self.assertEqual(self.sql("SELECT DISTINCT setting FROM seen"), "on")

    def fail_at_41(self, what, *words, when=IN_THE_STATEMENT):
        """A fault in round 41: it is not released, and without the fault the run goes on to the bits of an undisturbed one."""
        cloud = self.start(ready=True)
        book = self.start_agents(until=30)
        self.await_round(30)
        self.sql(FAULT.format(what=what, when=when))
        self.open_until(ROUNDS)
        self.expect_refused(cloud, 3, *words, "The round was not answered")
        self.assertEqual([line["round"] for line in town.events(cloud, "journal-failed")], [41])
        failed = town.events(cloud, "failed")
        self.assertEqual(len(failed), 1, failed)
        self.assertIn("The round was not answered", json.dumps(failed[0]))
        self.assertEqual(max(k for _, k in book.answers), 40)
        self.assertEqual(self.sql("SELECT round FROM tacit_journal"), "40")
        self.sql("DROP TRIGGER fails ON tacit_journal; DROP FUNCTION fail")
        cloud = self.start()
        self.assertEqual(cloud.wait(), 0, cloud.err)
        self.assertEqual(cloud.json()["answer"], self.parties.in_process(seed=town.SEED)["mu"])

    def test_a_full_disk_of_the_database_ends_the_cloud_before_the_answer(self):
        self.fail_at_41("RAISE 'no space' USING ERRCODE = 'disk_full'", "the disk of the database is full")

    def test_a_statement_that_is_done_and_not_committed_ends_the_cloud_before_the_answer(self):
        """The server says that a row was changed before it commits."""
        self.fail_at_41("RAISE 'no space' USING ERRCODE = 'disk_full'", "the disk of the database is full", when=AT_ITS_COMMIT)
        self.database += "b"
        self.address = self.cluster.new(self.database)
        self.stop_agents()
        self.fail_at_41("PERFORM pg_terminate_backend(pg_backend_pid())", "the database", when=AT_ITS_COMMIT)

    def test_what_the_database_says_cannot_steer_a_terminal(self):
        cloud = self.start("--log", "text", ready=True)
        self.sql("UPDATE tacit_journal SET epoch = epoch + 1, holder = E'\\x1b[2Jit'")
        self.expect_refused(cloud, 3, "another cloud (?[2Jit) has taken this run over")
        self.assertNotIn("\x1b", cloud.err)

    def test_a_database_that_becomes_read_only_ends_the_cloud_before_the_answer(self):
        self.fail_at_41("RAISE 'no' USING ERRCODE = 'read_only_sql_transaction'", "the database can only be read")

    def test_a_connection_that_the_database_ends_in_a_commit_ends_the_cloud_before_the_answer(self):
        self.fail_at_41("PERFORM pg_terminate_backend(pg_backend_pid())", "the database")

    def test_a_statement_that_takes_too_long_ends_the_cloud_before_the_answer(self):
        self.address = self.cluster.address(self.database, options="-c statement_timeout=200ms")
        self.fail_at_41("PERFORM pg_sleep(60)", "the database took too long")

    def test_pages_answer_while_a_statement_hangs(self):
        """A commit waits for a lock that the test holds. The round is on none of the pages before it is committed."""
        cloud = self.start("--http", "127.0.0.1:0", "--lease", 3600, ready=True)
        http = town.await_event(cloud, "http")["port"]
        book = self.start_agents(until=30)
        Parties.wait_for(lambda: len(book.answers) == 31 * len(self.agents), what="round 31")
        Parties.wait_for(lambda: json.loads(town.page(http, "status"))["round"] == 31, what="round 31 on the page")
        with self.cluster.locked("tacit_journal", self.database):
            self.open_until(ROUNDS)
            Parties.wait_for(lambda: town.page(http, "healthz") == "waiting-for-database\n", what="the page")
            status = json.loads(town.page(http, "status"))
            self.assertEqual((status["phase"], status["round"]), ("waiting-for-database", 31))
            self.assertEqual(max(k for _, k in book.answers), 31)
            self.assertIn('tacit_phase{phase="waiting-for-database"} 1', town.page(http, "metrics"))
        self.assertEqual(cloud.wait(), 0, cloud.err)
        self.assertEqual(cloud.json()["answer"], self.parties.in_process(seed=town.SEED)["mu"])

    def test_a_commit_whose_wait_for_a_replica_was_cancelled_is_not_believed(self):
        """The server reports that commit as done, with a warning: the replica may not have it."""
        cloud = self.start("--lease", 3600, ready=True)  # no renewal comes between
        book = self.start_agents(until=30)
        self.await_round(30)
        self.cluster.sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        try:
            self.cluster.sql("SELECT pg_reload_conf()")
            waiting = f"FROM pg_stat_activity WHERE datname = '{self.database}' AND wait_event = 'SyncRep'"
            Parties.wait_for(lambda: self.step_until(lambda: self.cluster.sql(f"SELECT pid {waiting}")), what="the wait for a replica")
            self.cluster.sql(f"SELECT pg_cancel_backend(pid) {waiting}")
            self.expect_refused(cloud, 3, "synchronous replication", "The round was not answered")
        finally:
            self.cluster.sql("ALTER SYSTEM RESET synchronous_standby_names")
            self.cluster.sql("SELECT pg_reload_conf()")
        self.assertEqual(int(self.sql("SELECT round FROM tacit_journal")) - max(k for _, k in book.answers), 1)
        self.sql("UPDATE tacit_journal SET expires = 'epoch'")  # an hour later
        self.open_until(ROUNDS)
        cloud = self.start()
        self.assertEqual(cloud.wait(), 0, cloud.err)
        self.assertEqual(cloud.json()["answer"], self.parties.in_process(seed=town.SEED)["mu"])

    def step_until(self, is_so):
        """Lets the agents go on by one round, while it is not so."""
        found = is_so()
        if not found:
            self.open_until(min(agent.agent.move.until for agent in self.agents) + 1)
        return found

    def test_a_server_that_crashes_and_comes_back_has_all_that_was_answered(self):
        cloud = self.start(ready=True)
        book = self.start_agents(until=50)
        self.await_round(50)
        self.cluster.stop(signal.SIGQUIT)
        self.open_until(ROUNDS)
        self.expect_refused(cloud, 3, "the database")
        self.cluster.start()
        self.assertIn(int(self.sql("SELECT round FROM tacit_journal")), (50, 51))
        cloud = self.start()
        self.assertEqual(cloud.wait(), 0, cloud.err)
        self.assertEqual(len(book.answers), ROUNDS * 2)
        self.assertEqual(cloud.json()["answer"], self.parties.in_process(seed=town.SEED)["mu"])

    @unittest.skipUnless(os.environ.get("TACIT_LONG") == "1", "waits for a minute")
    def test_a_server_that_hangs_is_given_up(self):
        cloud = self.start(ready=True)
        book = self.start_agents(until=50)
        self.await_round(50)
        self.cluster.pause(signal.SIGSTOP)
        try:
            self.open_until(ROUNDS)
            self.expect_refused(cloud, 3, "the database does not answer")
        finally:
            self.cluster.pause(signal.SIGCONT)
        cloud = self.start()
        self.assertEqual(cloud.wait(), 0, cloud.err)
        self.assertEqual(len(book.answers), ROUNDS * 2)

    # ---- yesterday's database ----

    def test_a_database_of_yesterday_is_noticed_and_nothing_is_released(self):
        cloud = self.start(seed=None)
        book = self.start_agents(until=20)
        self.await_round(20)
        self.assertEqual(cloud.stop(), 0)
        self.sql("CREATE TABLE yesterday AS TABLE tacit_journal")
        cloud = self.start(seed=None)
        self.open_until(60)
        self.await_round(60)
        cloud.kill()
        self.stop_agents_but_keep()
        self.sql("DELETE FROM tacit_journal; INSERT INTO tacit_journal TABLE yesterday")
        most = max(k for _, k in book.answers)
        cloud = self.start(seed=None)
        agents = self.start_again(book)
        self.expect_refused(cloud, 3, "nothing was released", "--after-restore")
        self.assertTrue(town.events(cloud, "rolled-back"))
        self.assertEqual(max(k for _, k in book.answers), most)
        for agent in agents:
            agent.stop()
        self.start_again(book)
        cloud = self.start("--after-restore", seed=None)
        self.assertEqual(cloud.wait(), 0, cloud.err)
        self.assertEqual([agent.failure for agent in self.agents if agent.failure], [])

    def stop_agents_but_keep(self):
        self.kept = {}
        for agent in self.agents:
            agent.agent.move.until = ROUNDS
            agent.stop()
            self.kept[agent.agent.names[0]] = (dict(agent.agent.answered), agent.agent.epoch, dict(agent.agent.x))
        self.agents.clear()

    def start_again(self, book):
        self.agents.clear()
        self.start_agents(book=book, like={name: (dict(a), e, dict(x)) for name, (a, e, x) in self.kept.items()})
        return list(self.agents)


if __name__ == "__main__":
    cluster.main()
