"""Disks that are full or read-only, and journals that are damaged: the cloud says which file and what to do and ends with 3,
no answer leaves that is not written down, and what is lost is found out before anything is released."""
# labels: not-clang

import contextlib
import hashlib
import json
import os
import random
import shutil
import sqlite3
import struct
import subprocess
import unittest

import parties
import recorders
import rooms
import town
import trajectories
import wire
from parties import PATIENCE, Parties

SEED, ROUNDS = 7, 300
COMMAND = parties.TACIT
LONG = os.environ.get("TACIT_LONG") == "1"


class Disks(unittest.TestCase):
    def setUp(self):
        self.parties = Parties(town.problem(3), options=town.options(ROUNDS))
        self.addCleanup(self.parties.close)
        self.names = list(self.parties.names)
        self.port, self.book, self.agents = recorders.free_port(), wire.Book(), []
        self.trace = self.parties.folder / "cloud.csv"
        self.addCleanup(self.stop_agents)

    def stop_agents(self):
        for agent in self.agents:
            agent.stop()

    def room(self, size):
        """The folder of a small disk; the cloud is then started with it."""
        try:
            room = rooms.Room(self.parties.folder / "disk", size)
        except rooms.NoRoom as error:
            self.skipTest(str(error))
        self.addCleanup(room.close)
        self.program = room.program(self.parties.folder / "tacit-in-room", os.path.abspath(COMMAND))
        return room

    def start(self, state, *more, program=COMMAND, ready=True):
        parties.TACIT, before = str(program), parties.TACIT
        try:
            return self.parties.start_cloud("--listen", f"127.0.0.1:{self.port}", "--http", "off", "--trace", self.trace,
                                            "--threads", 1, *more, seed=SEED, state=state, trace=False, ready=ready)
        finally:
            parties.TACIT = before

    def start_agents(self, names=None):
        self.agents = [recorders.Recorder([name], self.port, self.parties.key_folders[name], self.book)
                       for name in names or self.names]
        for agent in self.agents:
            agent.start()

    def answered(self):
        return max(agent.answered for agent in self.agents)

    def expect_end(self, cloud, *words):
        self.assertEqual(cloud.wait(), 3, cloud.err[-2000:])
        for word in words:
            self.assertIn(word, cloud.err)

    def expect_same_bits(self, cloud):
        self.assertEqual(cloud.wait(), 0, cloud.err[-2000:])
        made = trajectories.Trajectory()
        trajectories.read_cloud(self.trace, made)
        for agent in self.agents:
            self.assertIsNone(agent.failure)
            for (name, k), x in agent.x.items():
                made.write_x(name, k, [f"{v:.17g}" for v in x])
        alone = trajectories.in_process(self.parties.problem, self.parties.folder, self.parties.options, SEED)
        self.assertIsNone(alone.difference(made))

    # ---- full ----

    def test_a_disk_without_room_for_a_journal(self):
        room = self.room("1m")
        state = room.folder / "state"
        cloud = self.start(state, program=self.program, ready=None)
        self.expect_end(cloud, f"'{state}/journal.db'", "the disk is full")
        room.remount("size=20m")
        cloud = self.start(state, program=self.program)
        self.start_agents()
        self.expect_same_bits(cloud)

    def test_a_disk_that_becomes_full_ends_the_cloud_before_the_round_and_with_room_it_goes_on(self):
        """A journal whose log is not there yet, as after a restoration: it grows with every round."""
        cloud = self.start(self.parties.folder / "before", ready=True)
        cloud.stop()
        (self.parties.folder / "before" / "journal.db-wal").unlink()
        room = self.room("20m")
        room.copy_in(self.parties.folder / "before", "state")
        room.remount(f"size={(self.parties.folder / 'before' / 'journal.db').stat().st_size // 1024 + 400}k")
        cloud = self.start(room.folder / "state", program=self.program)
        self.start_agents()
        self.expect_end(cloud, f"'{room.folder}/state", "the disk is full", "The round was not released")
        answered = self.answered()
        self.assertTrue(0 < answered < ROUNDS)
        self.assertIn(f"journal-failed: the journal cannot be written: nothing was released round={answered + 1}", cloud.err)
        # Without room it does not begin again, or not for long; agents are given nothing that is not written.
        cloud = self.start(room.folder / "state", program=self.program, ready=None)
        self.expect_end(cloud, "the disk is full")
        room.remount("size=40m")
        self.expect_same_bits(self.start(room.folder / "state", program=self.program))

    def test_of_a_round_that_could_not_be_written_the_status_page_says_nothing_either(self):
        """It will be released again, with other noise: what is seen of it now would be a second release."""
        room = self.room("20m")
        self.start(self.parties.folder / "before").stop()
        room.run("mkdir", "-m", "700", room.folder / "state")
        room.copy_in(self.parties.folder / "before" / "journal.db", "state")
        room.remount(f"size={(self.parties.folder / 'before' / 'journal.db').stat().st_size // 1024 + 400}k")
        cloud = self.start(room.folder / "state", "--http", "127.0.0.1:0", program=self.program)
        guest = wire.RawAgent("nobody", town.STATES)
        guest.open(self.port, self.parties.key_folders["a1"])  # stays while the cloud takes its leave
        self.addCleanup(guest.close)
        self.start_agents()
        Parties.wait_for(lambda: "journal-failed" in cloud.err, what="a full disk")
        status = json.loads(town.page(self.parties.http_port, "status"))
        self.assertEqual(status["phase"], "failed")
        written = [line for line in self.trace.read_text().splitlines() if line[0].isdigit()][-1].split(",")
        self.assertEqual(status["round"], int(written[0]))
        self.assertEqual((status["multipliers"], status["answer_multipliers"]), (None, None))
        self.assertNotIn("feasibility", status)
        self.expect_end(cloud, "The round was not released")

    def test_a_file_that_may_not_grow_is_a_full_disk_and_no_death_by_a_signal(self):
        state = self.parties.folder / "state"
        limited = self.parties.folder / "limited"
        limited.write_text(f'#!/bin/sh\nulimit -f 2000\nexec "{os.path.abspath(COMMAND)}" "$@"\n')
        limited.chmod(0o700)
        cloud = self.start(state, program=limited, ready=None)
        self.expect_end(cloud, f"'{state}/journal.db'")

    def test_an_agent_whose_disk_is_full_sends_nothing_and_goes_on_when_there_is_room(self):
        room = self.room("2m")
        cloud = self.start(self.parties.folder / "state")
        self.start_agents(["a2", "a3"])
        room.fill()
        command = [COMMAND, "agent", self.parties.names["a1"], "--cloud", f"127.0.0.1:{self.port}", "--keys",
                   self.parties.key_folders["a1"], "--state", room.folder / "own", "--quiet"]
        done = subprocess.run(room.command(*command), capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(f"{room.folder}/own", done.stderr)
        self.assertIn("No space left on device", done.stderr)
        room.remove()
        done = subprocess.run(room.command(*command), capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, cloud.wait()), (0, 0), done.stderr)

    # ---- read-only ----

    def test_a_read_only_disk(self):
        room = self.room("20m")
        state = room.folder / "state"
        room.remount("ro")
        cloud = self.start(state, program=self.program, ready=None)
        self.expect_end(cloud, str(state), "Read-only file system")
        room.remount("rw")
        self.start(state, program=self.program).stop()
        room.remount("ro")
        cloud = self.start(state, program=self.program, ready=None)
        self.expect_end(cloud, f"'{state}/journal.db'", "cannot be written")
        room.remount("rw")
        cloud = self.start(state, program=self.program)
        self.start_agents()
        self.expect_same_bits(cloud)

    # ---- other files ----

    def test_a_ledger_that_cannot_be_written_is_known_before_the_first_answer(self):
        room = self.room("20m")
        self.parties.options += ["--ledger", room.folder / "ledger.tsv"]
        parties.TACIT, before = str(self.program), parties.TACIT
        self.addCleanup(setattr, parties, "TACIT", before)
        cloud = self.parties.start_cloud("--listen", f"127.0.0.1:{self.port}", "--http", "off", trace=False)
        room.fill()
        self.start_agents()
        self.expect_end(cloud, str(room.folder / "ledger.tsv"), "No space left on device")
        self.assertNotIn("the journal in", cloud.err)
        self.assertEqual(self.book.answers, {})
        room.remove()
        cloud = self.parties.start_cloud("--listen", f"127.0.0.1:{self.port}", "--http", "off", trace=False)
        self.assertEqual(cloud.wait(), 0, cloud.err[-2000:])
        self.assertEqual(len(self.book.answers), ROUNDS * len(self.names))

    def test_a_trace_that_cannot_be_written_is_told_at_once_and_at_the_end_and_stops_nothing(self):
        room = self.room("1m")
        parties.TACIT, before = str(self.program), parties.TACIT
        self.addCleanup(setattr, parties, "TACIT", before)
        self.trace = room.folder / "cloud.csv"
        cloud = self.parties.start_cloud("--listen", f"127.0.0.1:{self.port}", "--trace", self.trace, "--log", "json",
                                         trace=False)
        own = self.parties.start_agent("a1", "a2", keys=self.parties.issue(["a1", "a2"], together="both"), port=self.port,
                                       trace=False, more=["--trace", room.folder / "agents.csv"])
        town.await_event(cloud, "enrolled", more_than=1)
        self.assertIn("\ntacit_trace_failed 0\n", town.page(self.parties.http_port, "metrics"))
        room.fill()
        gate = recorders.Gate(ROUNDS - 1)
        self.agents = [recorders.Recorder(["a3"], self.port, self.parties.key_folders["a3"], self.book, move=gate)]
        self.agents[0].start()
        Parties.wait_for(lambda: self.agents[0].answered >= ROUNDS - 1, what="rounds")
        told = town.events(cloud, "trace-failed")
        self.assertEqual([(line["level"], line["file"], line["why"]) for line in told],
                         [("error", str(self.trace), "No space left on device")])
        self.assertEqual(own.err.count("No space left on device: the run goes on without it"), 1, own.err)
        Parties.wait_for(lambda: "\ntacit_trace_failed 1\n" in town.page(self.parties.http_port, "metrics"), what="the metric")
        gate.until = ROUNDS
        self.assertEqual((cloud.wait(), own.wait()), (3, 3), cloud.err + own.err)
        self.assertEqual((cloud.json()["outcome"], own.json()["outcome"]), ("done", "done"))

    def test_a_log_that_nobody_can_write_stops_nothing(self):
        state = self.parties.folder / "state"
        silent = self.parties.folder / "silent"
        silent.write_text(f'#!/bin/sh\nexec "{os.path.abspath(COMMAND)}" "$@" 2>/dev/full\n')
        silent.chmod(0o700)
        cloud = self.start(state, program=silent)
        self.start_agents()
        self.expect_same_bits(cloud)


class Damage(unittest.TestCase):
    """A run that was killed after some rounds; then its journal is harmed in one place."""

    LEAST = 40

    @classmethod
    def setUpClass(cls):
        cls.parties = Parties(town.problem(3), options=town.options(ROUNDS))
        cls.addClassCleanup(cls.parties.close)
        cls.book, cls.port = wire.Book(), recorders.free_port()
        cls.start()
        agents = [recorders.Recorder([name], cls.port, keys, cls.book) for name, keys in cls.parties.key_folders.items()]
        for agent in agents:
            agent.agent.move = recorders.Gate(cls.LEAST + 10)  # the run does not end before it is killed
            agent.start()
        Parties.wait_for(lambda: all(agent.answered > cls.LEAST for agent in agents), what="rounds")
        cls.parties.cloud.kill()
        for agent in agents:
            agent.agent.move.until = ROUNDS
        for agent in agents:
            agent.stop()
        cls.seen = {agent.agent.names[0]: (agent.agent.answered, agent.agent.epoch) for agent in agents}
        cls.good = cls.parties.copy_state("good")
        cls.state = cls.parties.folder / "journal"

    @classmethod
    def start(cls, ready=True):
        return cls.parties.start_cloud("--listen", f"127.0.0.1:{cls.port}", "--http", "off", "--threads", 1, trace=False,
                                       ready=ready)

    def enrol(self, name, keys):
        """What an agent that comes back hears first."""
        answered, epoch = self.seen[name]
        agent = wire.RawAgent(name, town.STATES, book=self.book)
        try:
            agent.open(self.port, keys)
            agent.link.send(wire.enrol(0, name, town.STATES, answered=answered[name], epoch=epoch))
            message = agent.link.receive()
            agent.take(message) if message.type != wire.REFUSAL else None
            return message
        except (wire.Closed, OSError):
            return None
        finally:
            agent.close()

    def judge(self, what):
        """Starts the cloud: "refused" at once, "behind" what agents have seen, or "whole"."""
        cloud = self.start(ready=None)
        ports = self.parties.folder / f"ports.{self.parties.starts}"
        Parties.wait_for(lambda: ports.exists() or not cloud.is_running(), what=what)
        found = "refused"
        if ports.exists():
            heard = [self.enrol(name, keys) for name, keys in self.parties.key_folders.items()]
            if any(message is not None and message.type == wire.REFUSAL for message in heard):
                found = "behind"
            else:
                found = "whole"
                for name, message in zip(self.parties.key_folders, heard):
                    self.assertIsNotNone(message, what)
                    self.assertEqual(message.type, wire.ENROLLED, what)
                    self.assertIn(message.round - self.seen[name][0][name], (1, 2), what)
                cloud.kill()
        if found != "whole":
            self.assertEqual(cloud.wait(), 3, what + cloud.err)
            self.assertIn(str(self.state), cloud.err)
            self.assertIn("--after-restore" if found == "behind" else "--new-run", cloud.err)
            # What SQLite left out without a word is said.
            self.assertEqual("damaged-log: " in cloud.err, found == "behind", what + cloud.err)
        return found

    def harm(self, what, act):
        shutil.rmtree(self.state)
        shutil.copytree(self.good, self.state)
        act()
        return self.judge(what)

    def flip(self, name, offset, bit):
        with open(self.state / name, "r+b") as file:
            file.seek(offset)
            byte = file.read(1)[0]
            file.seek(offset)
            file.write(bytes([byte ^ 1 << bit]))

    def digest(self, row):
        """As the cloud computes it: of the round, then of that and of what the run is."""
        def number(value):
            return struct.pack("<Q", value)
        content = hashlib.sha256(number(row["round"]) + row["input"] + struct.pack("<2d", row["step"], row["regularization"]) +
                                 number(len(row["answers"]) // 8) + row["answers"] + number(len(row["memory"])) + row["memory"])
        return hashlib.sha256(row["run_id"] + row["plan_hash"] + row["terms"] + number(row["epoch"]) + row["epoch_id"] +
                              number(row["finished"]) + content.digest()).digest()

    def change_snapshot(self, change):
        """Another snapshot, in a journal whose digests are right."""
        with contextlib.closing(sqlite3.connect(self.state / "journal.db")) as journal:
            journal.row_factory = sqlite3.Row
            row = dict(journal.execute("SELECT * FROM journal").fetchone())
            self.assertEqual(self.digest(row), row["digest"])
            row["memory"] = change(row["memory"])
            journal.execute("UPDATE journal SET memory = ?, digest = ?", (row["memory"], self.digest(row)))
            journal.commit()
        return row["round"]

    def test_a_snapshot_that_this_cloud_cannot_go_on_from_is_refused(self):
        """A mark and a version, the plan's hash, the round, whether rounds are missing, mu, what the method adds."""
        self.assertEqual(self.harm("the same snapshot", lambda: self.change_snapshot(lambda memory: memory)), "whole")
        nan, far = struct.pack("<d", float("nan")), struct.pack("<Q", 1 << 40)
        for what, change in (("cut short", lambda memory: memory[:-1]), ("none", lambda memory: b""),
                             ("another version", lambda memory: memory[:6] + b"\xff" + memory[7:]),
                             ("another plan", lambda memory: memory[:8] + bytes(32) + memory[40:]),
                             ("a later round", lambda memory: memory[:40] + far + memory[48:]),
                             ("a multiplier that is no number", lambda memory: memory[:56] + nan + memory[64:])):
            with self.subTest(what):
                shutil.rmtree(self.state)
                shutil.copytree(self.good, self.state)
                round_ = self.change_snapshot(change)
                cloud = self.start(ready=None)
                self.assertEqual(cloud.wait(), 3, cloud.err)
                self.assertIn(f"the journal in '{self.state}' cannot be used: its snapshot of round {round_} is not of this plan "
                              "and program", cloud.err)

    def test_nothing_harmed(self):
        self.assertEqual(self.harm("nothing", lambda: None), "whole")
        self.assertNotIn("damaged-log", self.parties.cloud.err)

    def frames(self):
        """The heads of the log's frames, which of them are of this generation, and the size of a page."""
        log = (self.good / "journal.db-wal").read_bytes()
        page = struct.unpack(">I", log[8:12])[0]
        frames = [log[at:at + 24] for at in range(32, len(log) - page, 24 + page)]
        return frames, [i for i, frame in enumerate(frames) if frame[8:16] == log[16:24]], page

    def test_what_of_the_log_was_not_believed_is_said(self):
        """A transaction in the middle: all that come after it are lost with it."""
        frames, used, page = self.frames()
        place = used[len(used) // 2]
        lost = sum(frames[i][4:8] != bytes(4) for i in used if i >= place)
        self.assertEqual(self.harm("a page", lambda: self.flip("journal.db-wal", 32 + place * (24 + page) + 100, 0)), "behind")
        self.assertIn(f"is damaged: its last {lost} changes, mostly a round each, are not believed", self.parties.cloud.err)

    def test_bits_that_have_changed_are_harmless_or_found_out(self):
        chance, found = random.Random(2), {}
        for name, trials in (("journal.db", 12), ("journal.db-wal", 12)):
            used = [i for i, byte in enumerate((self.good / name).read_bytes()) if byte != 0]
            for trial in range(20 * trials if LONG else trials):
                place = chance.choice(used[:2000] if trial % 2 else used)
                what = f"{name}, byte {place}"
                found.setdefault(self.harm(what, lambda: self.flip(name, place, chance.randrange(8))), []).append(what)
        self.assertTrue(found.get("whole") and found.get("behind"), found)

    def test_files_cut_short_are_harmless_or_found_out(self):
        found, (_, used, page) = set(), self.frames()
        for name in ("journal.db", "journal.db-wal"):
            size = (self.good / name).stat().st_size
            for length in (0, 10, 100, 4096, 5000, 32 + len(used) * 3 // 4 * (24 + page), size // 2, size - 1):
                found.add((name, self.harm(f"{name}, {length} bytes",
                                           lambda: os.truncate(self.state / name, min(length, size)))))
        self.assertIn(("journal.db-wal", "behind"), found)

    def test_files_that_are_gone_are_not_taken_for_a_new_run(self):
        """All of this run is in the log so far: without it another run would begin, under another id."""
        self.assertEqual(self.harm("no log", (self.state / "journal.db-wal").unlink), "refused")
        for act in ((self.state / "journal.db").unlink, lambda: os.truncate(self.state / "journal.db", 0)):
            self.assertEqual(self.harm("no journal", act), "refused")
            self.assertIn("its log (journal.db-wal) is there", self.parties.cloud.err)
            kept = (self.state / "journal.db-wal").read_bytes()
            self.assertEqual(kept, (self.good / "journal.db-wal").read_bytes())
        self.start_new_run(kept)

    def start_new_run(self, kept):
        """--new-run puts aside what there is."""
        cloud = self.parties.start_cloud("--listen", f"127.0.0.1:{self.port}", "--http", "off", "--new-run", trace=False)
        aside = [path.read_bytes() for path in self.state.iterdir() if path.name.startswith("journal-")]
        self.assertIn(kept, aside)
        self.assertEqual(cloud.stop(), 0)

    def test_another_file_in_its_place(self):
        for what, text in (("text", b"this is no journal\n" * 300), ("zeros", bytes(8192)), ("sqlite", self.empty_database())):
            def put():
                (self.state / "journal.db").write_bytes(text)
                (self.state / "journal.db-wal").unlink()
            with self.subTest(what=what):
                self.assertIn(self.harm(what, put), ("refused", "behind"))

    def empty_database(self):
        import sqlite3
        path = self.parties.folder / "other.db"
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE IF NOT EXISTS mine (x)")
        database.close()
        return path.read_bytes()


if __name__ == "__main__":
    unittest.main()
