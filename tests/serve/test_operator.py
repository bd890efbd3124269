"""What an operator meets: answers that stay out of the log, a log that stops nobody, a service manager that is told, claims
that a person overrules, links on the way to a folder, names by which the pages are asked for."""
import fcntl
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import stat
import subprocess
import tempfile
import threading
import time
import unittest

import recorders
import town
import wire
from parties import PATIENCE, TACIT, Late, Parties

ROUNDS = 60
F_SETPIPE_SZ = 1031  # of Linux


def get(port, path, host="localhost", address="127.0.0.1"):
    connection = http.client.HTTPConnection(address, port, timeout=PATIENCE)
    try:
        connection.putrequest("GET", path, skip_host=True)
        connection.putheader("Host", host)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def metric(port, name):
    return float(re.search(rf"^{name} (\S+)$", get(port, "/metrics")[1], re.MULTILINE).group(1))


class Manager:
    """systemd's end of $NOTIFY_SOCKET."""

    def __init__(self, folder, abstract=False):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.name = f"@tacit-test-{os.getpid()}" if abstract else str(folder / "notify")
        self.socket.bind("\0" + self.name[1:] if abstract else self.name)
        self.socket.settimeout(0.05)
        self.heard = []

    def listen(self):
        try:
            while True:
                self.heard.append(dict(line.split("=", 1) for line in self.socket.recv(4096).decode().splitlines()))
        except socket.timeout:
            return self.heard

    def expect(self, **words):
        def find():
            return next((said for said in self.listen() if all(re.search(v, said.get(k, "")) for k, v in words.items())), None)
        try:
            return Parties.wait_for(find, what=str(words))
        except Late as late:
            raise AssertionError(f"{late}: {self.heard}") from None

    def close(self):
        self.socket.close()


class Environment:
    """Variables of the parties' processes."""

    def __init__(self, **more):
        self.more, self.before = more, {}

    def __enter__(self):
        self.before = {key: os.environ.get(key) for key in self.more}
        os.environ.update(self.more)

    def __exit__(self, *_):
        for key, value in self.before.items():
            os.environ.pop(key) if value is None else os.environ.__setitem__(key, value)


class Place(unittest.TestCase):
    def place(self, agents=2, rounds=ROUNDS, **more):
        place = Parties(town.problem(agents), options=town.options(rounds), **more)
        self.addCleanup(place.close)
        return place


class Answers(Place):
    def test_the_answer_goes_to_a_file_of_its_owner_and_nothing_private_is_printed(self):
        place = self.place()
        place.start_cloud(seed=town.SEED)
        answers = {name: place.folder / f"{name}.answer" for name in place.names}
        place.start_agent("a1", more=["--answer", answers["a1"]], trace=False)
        place.start_agent("a2", more=["--answer", answers["a2"]], trace=False, json=False)
        place.finish()
        expected = place.in_process(seed=town.SEED)["x"]
        for name, path in answers.items():
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
            found = json.loads(path.read_text())
            self.assertEqual((found["tacit_answer"], found["outcome"], found["x"]), (1, "done", {name: expected[name]}))
            said = place.agents[name].out + place.agents[name].err
            for number in expected[name]:
                self.assertNotIn(f"{number:.4g}", said)
            self.assertIn(str(path), said)
        printed = place.agents["a1"].json()
        self.assertEqual((printed["outcome"], printed["answer_file"]), ("done", str(answers["a1"])))
        self.assertFalse({"x", "last"} & (set(printed) | set(printed["agents"][0])))
        self.assertEqual(sorted(path.name for path in place.folder.glob("*.answer*")), ["a1.answer", "a2.answer"])
        # The same command again: the same answer, in place of the same file.
        before = answers["a1"].read_text()
        self.assertEqual(place.start_agent("a1", more=["--answer", answers["a1"]], trace=False).wait(20), 0)
        again, first = json.loads(answers["a1"].read_text()), json.loads(before)
        self.assertEqual((again["x"], again["agents"][0]["was_over"]), (first["x"], True))

    def test_a_gateways_file_has_all_its_agents(self):
        place = self.place(issue=False)
        keys = place.issue(["a1", "a2"], together="site")
        place.start_cloud(seed=town.SEED)
        path = place.states / "a1" / "answer.json"  # in the folder that is made for the state
        place.start_agent("a1", "a2", keys=keys, more=["--answer", path], trace=False)
        place.finish()
        self.assertEqual(json.loads(path.read_text())["x"], place.in_process(seed=town.SEED)["x"])

    def test_without_an_answer_there_is_no_file_and_an_old_one_stays(self):
        place = self.place()
        place.start_cloud()
        path = place.folder / "answer"
        agent = place.start_agent("a1", more=["--answer", path], trace=False)
        place.wait_for(lambda: '"enrolled"' in get(place.http_port, "/status")[1] and
                       json.loads(get(place.http_port, "/status")[1])["enrolled"] == 1, what="a1")
        self.assertEqual(agent.stop(), 0)
        self.assertFalse(path.exists())
        self.assertIsNone(agent.json()["answer_file"])
        # Stopped before the end: it has no answer, and must not replace one of an earlier run.
        path.write_text('{\n  "tacit_answer": 1,\n  "x": {}\n}\n')
        place = self.place(rounds=100000)
        place.start_cloud()
        agents = [place.start_agent(name, more=["--answer", path if name == "a1" else place.folder / "b"], trace=False)
                  for name in place.names]
        place.wait_for(lambda: town.round_of(place) > 3, what="some rounds")
        self.assertEqual([agent.stop() for agent in agents], [0, 0])
        self.assertEqual(json.loads(path.read_text())["x"], {})
        self.assertFalse((place.folder / "b").exists())
        self.assertNotIn('"x"', agents[0].out)

    def test_what_is_no_answer_is_not_written_over(self):
        place = self.place()
        path = place.folder / "notes"
        for what, text in (("text", "my notes\n"), ("json", '{"x": 1}\n'), ("trace", "# tacit states 1\n")):
            path.write_text(text)
            agent = place.start_agent("a1", port=1, more=["--answer", path], trace=False)
            self.assertEqual(agent.wait(), 2, what)
            self.assertIn("not a result of agents", agent.err)
            self.assertEqual(path.read_text(), text)
        for wrong, code in ((place.names["a1"], 2), (place.folder, 2), (place.folder / "none" / "answer", 3), ("-", 2)):
            agent = place.start_agent("a1", port=1, more=["--answer", wrong], trace=False)
            self.assertEqual(agent.wait(), code, f"{wrong} {agent.err}")

    def test_a_folder_that_cannot_be_written_at_the_end_is_exit_3_and_leaves_nothing_half(self):
        place = self.place()
        place.start_cloud()
        folder = place.folder / "answers"
        folder.mkdir()
        agents = [place.start_agent(name, more=["--answer", folder / name], trace=False) for name in place.names]
        place.wait_for(lambda: town.round_of(place) > 0, what="a round")
        folder.rename(place.folder / "moved")
        self.assertEqual([agent.wait() for agent in agents], [3, 3])
        self.assertEqual(list((place.folder / "moved").iterdir()), [])
        for agent in agents:
            self.assertNotIn('"x"', agent.out)
            self.assertIn("answers", agent.err)

    def test_the_journal_of_the_system_gets_no_answer_whatever_was_asked(self):
        place = self.place()
        place.start_cloud(seed=town.SEED)
        reader, writer = os.pipe()
        facts = os.fstat(writer)
        with Environment(JOURNAL_STREAM=f"{facts.st_dev}:{facts.st_ino}"):
            arguments = [TACIT, "agent", place.names["a1"], "--cloud", f"127.0.0.1:{place.port}", "--keys",
                         place.key_folders["a1"], "--state", place.folder / "unit", "--json"]
            agent = subprocess.Popen(list(map(str, arguments)), stdout=writer, stderr=writer)
        self.addCleanup(agent.kill)
        os.close(writer)
        place.start_agent("a2")
        with open(reader, encoding="utf-8") as stream:
            said = stream.read()
        self.assertEqual(agent.wait(PATIENCE), 0)
        printed = json.loads(said[said.index("{"):])
        self.assertEqual((printed["outcome"], printed["answer_file"]), ("done", None))
        self.assertNotIn('"x"', said)


class Logs(Place):
    def refuse(self, *arguments):
        done = subprocess.run([TACIT, "serve", *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE)
        lines = [json.loads(line) for line in done.stderr.splitlines()]
        self.assertTrue(lines)
        for line in lines:
            self.assertLessEqual({"time", "level", "event", "message"}, set(line))
        self.assertEqual((lines[-1]["level"], lines[-1]["event"]), ("error", "failed"))
        return done.returncode, lines[-1]["why"]

    def test_every_line_of_a_json_log_is_an_object_when_nothing_works_too(self):
        place = self.place()
        file, state = place.parts / "cloud.tacit", place.folder / "s"
        broken = place.folder / "broken.tacit"
        broken.write_text("agent {\n  state x in\n")
        usual = ["--keys", place.keys / "cloud", "--state", state, *place.options]
        for code, why, arguments in (
                (2, "rounds", [file, "--log", "json", *usual, "--rounds", "many"]),
                (2, "--nonsense", [file, "--log=json", *usual, "--nonsense"]),
                (2, "CLOUDFILE", ["--log", "json", *usual]),
                (2, "broken.tacit", [broken, *usual, "--log", "json"]),
                (2, "No such file", [place.folder / "none", *usual, "--log", "json"]),
                (2, "--keys DIR is needed", [file, *place.options, "--state", state, "--log", "json"]),
                (2, "give one of them", [file, *usual, "--log", "json", "--new-run", "--after-restore"]),
                (3, "authority.pem", [file, *usual, "--keys", place.folder / "no", "--log", "json"]),
                (2, "cannot listen", [file, *usual, "--log", "json", "--listen", "nonsense"])):
            found, text = self.refuse(*arguments)
            self.assertEqual(found, code, text)
            self.assertIn(why, text)

    def test_every_line_of_a_json_log_is_an_object_in_a_run(self):
        place = self.place()
        cloud = place.start_cloud("--log", "json", "--log-level", "debug", seed=town.SEED)
        place.start_agents()
        place.finish()
        events = [json.loads(line)["event"] for line in cloud.err.splitlines()]
        self.assertLessEqual({"started", "enrolled", "complete", "done"}, set(events))

    def stuck_cloud(self, place, form):
        """A cloud whose log goes into a small pipe that nobody reads."""
        reader, writer = os.pipe()
        fcntl.fcntl(reader, F_SETPIPE_SZ, 4096)
        self.addCleanup(os.close, reader)
        ports = place.folder / "ports"
        arguments = [TACIT, "serve", place.parts / "cloud.tacit", *place.options, "--listen", "127.0.0.1:0", "--http",
                     "127.0.0.1:0", "--state", place.folder / "journal", "--port-file", ports, "--keys",
                     place.keys / "cloud", "--log", form, "--log-level", "debug"]
        cloud = subprocess.Popen(list(map(str, arguments)), stdout=subprocess.DEVNULL, stderr=writer)
        self.addCleanup(cloud.wait, PATIENCE)
        self.addCleanup(cloud.kill)
        os.close(writer)
        place.port, place.http_port = map(int, place.wait_for(lambda: ports.exists() and ports.read_text(), what="its ports").split())
        return cloud, reader

    def test_a_reader_that_is_stuck_stops_no_round_and_lost_lines_are_counted(self):
        place = self.place()
        cloud, reader = self.stuck_cloud(place, "json")
        for _ in range(700):  # each leaves a line: more than the pipe and what is kept
            with socket.create_connection(("127.0.0.1", place.port), timeout=PATIENCE) as knock:
                knock.sendall(b"no TLS\r\n")
        place.wait_for(lambda: metric(place.http_port, "tacit_log_lines_lost_total") > 0, what="lost lines")
        agents = place.start_agents()
        self.assertEqual([agent.wait() for agent in agents], [0, 0])
        self.assertEqual(cloud.wait(PATIENCE), 0)

    def test_a_reader_that_comes_back_is_told_how_much_is_missing(self):
        place = self.place()
        cloud, reader = self.stuck_cloud(place, "json")
        for _ in range(700):
            with socket.create_connection(("127.0.0.1", place.port), timeout=PATIENCE) as knock:
                knock.sendall(b"no TLS\r\n")
        lost = place.wait_for(lambda: metric(place.http_port, "tacit_log_lines_lost_total"), what="lost lines")
        heard = bytearray()

        def read():
            while part := os.read(reader, 65536):
                heard.extend(part)
        thread = threading.Thread(target=read)
        thread.start()
        agents = place.start_agents()
        self.assertEqual([agent.wait() for agent in agents], [0, 0])
        self.assertEqual(cloud.wait(PATIENCE), 0)
        thread.join(PATIENCE)
        lines = [json.loads(line) for line in heard.decode().splitlines()]
        self.assertGreaterEqual(sum(line.get("lost", 0) for line in lines), lost)
        self.assertEqual(lines[-1]["event"], "done")

    def test_an_agent_does_not_wait_for_a_reader_of_what_it_says_either(self):
        place = self.place()
        place.start_cloud()
        place.start_agents(trace=False)
        place.finish()
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        os.set_blocking(writer, False)
        with self.assertRaises(BlockingIOError):
            while True:
                os.write(writer, b"x" * 4096)
        os.set_blocking(writer, True)
        arguments = [TACIT, "agent", place.names["a1"], "--cloud", f"127.0.0.1:{place.port}", "--keys", place.key_folders["a1"],
                     "--state", place.states / "a1"]
        agent = subprocess.Popen(list(map(str, arguments)), stdout=subprocess.PIPE, stderr=writer)
        self.addCleanup(agent.kill)
        os.close(writer)
        said, _ = agent.communicate(timeout=PATIENCE)  # its message that the run ended before is lost
        self.assertEqual(agent.returncode, 0)
        self.assertIn(b"answer", said)

    def test_lines_for_the_systems_journal_have_their_priority(self):
        place = self.place()
        path = place.folder / "stream"
        with open(path, "wb") as stream:
            facts = os.fstat(stream.fileno())
            with Environment(JOURNAL_STREAM=f"{facts.st_dev}:{facts.st_ino}"):
                done = subprocess.run([TACIT, "serve", place.parts / "cloud.tacit", "--state", place.folder / "s", "--keys",
                                       place.keys / "cloud", "--listen", "nonsense"], stderr=stream, timeout=PATIENCE)
        self.assertEqual(done.returncode, 2)
        for line in path.read_text().splitlines():
            self.assertRegex(line, r"^<[34]>")


class Notices(Place):
    def test_the_manager_is_told_of_start_reload_life_and_end(self):
        place = self.place(rounds=100000)
        manager = Manager(place.folder)
        self.addCleanup(manager.close)
        with Environment(NOTIFY_SOCKET=manager.name, WATCHDOG_USEC="30000000"):
            cloud = place.start_cloud()
        ready = manager.expect(READY="^1$")
        self.assertEqual(ready["STATUS"], "waiting for agents")
        manager.expect(WATCHDOG="^1$")
        place.start_agents(trace=False)
        manager.expect(STATUS="^running$")
        manager.heard.clear()
        before = time.monotonic() * 1e6
        cloud.signal(signal.SIGHUP)
        said = manager.expect(RELOADING="^1$")
        self.assertTrue(before <= int(said["MONOTONIC_USEC"]) <= time.monotonic() * 1e6)
        manager.expect(READY="^1$", STATUS="^running$")
        self.assertEqual(metric(place.http_port, "tacit_last_reload_successful"), 1)
        # Certificates that cannot be used: said in the status, the log and the metrics, and by the check before.
        identity = place.keys / "cloud" / "identity.pem"
        good = identity.read_bytes()
        self.assertEqual(place.tacit("keys", "check", place.keys / "cloud").returncode, 0)
        identity.write_text("nonsense\n")
        self.assertIn("holds no certificate", place.tacit("keys", "check", place.keys / "cloud", code=2).stderr)
        cloud.signal(signal.SIGHUP)
        said = manager.expect(READY="^1$", STATUS="not usable")
        self.assertIn("identity.pem", said["STATUS"])
        self.assertEqual(metric(place.http_port, "tacit_last_reload_successful"), 0)
        identity.write_bytes(good)
        manager.heard.clear()
        cloud.signal(signal.SIGHUP)
        manager.expect(READY="^1$", STATUS="^running$")
        self.assertEqual(metric(place.http_port, "tacit_last_reload_successful"), 1)
        manager.heard.clear()
        self.assertEqual(cloud.stop(), 0)
        manager.expect(STOPPING="^1$")
        # What any user of the machine can read has words alone.
        self.assertFalse([said for said in manager.heard if re.search(r"\d", said.get("STATUS", ""))])

    def test_an_agent_tells_its_manager_too_by_an_abstract_name(self):
        place = self.place(rounds=100000)
        place.start_cloud()
        manager = Manager(place.folder, abstract=True)
        self.addCleanup(manager.close)
        with Environment(NOTIFY_SOCKET=manager.name, WATCHDOG_USEC="600000"):
            agent = place.start_agent("a1", trace=False)
        manager.expect(READY="^1$")
        Parties.wait_for(lambda: sum("WATCHDOG" in said for said in manager.listen()) >= 3, what="three signs of life")
        self.assertEqual(agent.stop(), 0)
        manager.expect(STOPPING="^1$")

    def test_a_manager_that_watches_another_process_or_is_gone_does_no_harm(self):
        place = self.place()
        with Environment(NOTIFY_SOCKET=str(place.folder / "nobody"), WATCHDOG_USEC="1000000", WATCHDOG_PID="1"):
            place.start_cloud()
            place.start_agents(trace=False)
        place.finish()

    def test_the_pages_stay_for_a_while_when_all_is_done(self):
        place = self.place()
        cloud = place.start_cloud("--linger", "600")
        agents = place.start_agents(trace=False)
        self.assertEqual([agent.wait() for agent in agents], [0, 0])
        place.wait_for(lambda: json.loads(get(place.http_port, "/status")[1])["phase"] == "done", what="the end")
        self.assertIn('tacit_phase{phase="done"} 1', get(place.http_port, "/metrics")[1])
        place.wait_for(lambda: "info done:" in cloud.err, what="the end in the log")
        place.wait_for(lambda: "\ntacit_last_success_time_seconds" in get(place.http_port, "/metrics")[1], what="its time")
        self.assertEqual(metric(place.http_port, "tacit_last_success_time_seconds"),
                         metric(place.http_port, "tacit_last_round_time_seconds"))
        self.assertTrue(cloud.is_running())
        self.assertEqual(cloud.stop(), 0)
        self.assertEqual(cloud.json()["outcome"], "done")


CLAIMS = ((40, (0, bytes(16))), (ROUNDS, (0, bytes(16))), (0, (2 ** 62, b"x" * 16)))


class Claims(Place):
    def lie(self, place, answered, epoch=(0, bytes(16))):
        agent = wire.RawAgent(["a1"], town.STATES, town.LOW, wire.Book(), town.move)
        agent.open(place.port, keys=place.key_folders["a1"])
        agent.enrol(wait=False, answered=answered, epoch=epoch)
        self.addCleanup(agent.close)
        return agent

    def serve(self, place, *more, ready=True):
        return place.start_cloud("--log", "json", *more, ready=ready)

    def events(self, cloud, name):
        return [line for line in map(json.loads, cloud.err.splitlines()) if line["event"] == name]

    def run_through(self, place, agent):
        """The liar goes on as the cloud asks it to."""
        agent.take(agent.link.receive())
        agent.answered["a1"] = agent.enrolled[0].round - 1
        other = place.start_agent("a2", trace=False)
        agent.run()
        agent.close()
        self.assertEqual(other.wait(), 0)

    def resume(self, place, *more):
        """A cloud that goes on with the run of an earlier one, whose journal might be an old copy."""
        self.assertEqual(self.serve(place).stop(), 0)
        return self.serve(place, *more)

    def test_a_claim_does_not_stop_a_run_that_this_cloud_began(self):
        place = self.place()
        cloud = self.serve(place)
        for answered, epoch in CLAIMS:
            liar = self.lie(place, answered, epoch)
            refused = liar.link.expect(wire.REFUSAL)
            self.assertEqual((refused.code, refused.reason), (wire.ROLLBACK, "the run has no such round or epoch yet"))
            liar.close()
        self.run_through(place, self.lie(place, 0))
        self.assertEqual(cloud.wait(), 0, cloud.err[-2000:])
        told = [(line["agent"], line["level"], line["agent_round"], line["journal_round"], line["agent_epoch"], line["epoch"])
                for line in self.events(cloud, "claim-refused")]
        self.assertEqual(told, [("a1", "warning", answered, 0, epoch[0], 1) for answered, epoch in CLAIMS])
        self.assertEqual(self.events(cloud, "rolled-back"), [])

    def test_one_agents_claim_can_be_overruled(self):
        for answered, epoch in CLAIMS:
            place = self.place()
            cloud = self.resume(place)
            liar = self.lie(place, answered, epoch)
            self.assertEqual(cloud.wait(), 3)
            self.assertIn("--disbelieve", cloud.err + cloud.out)
            liar.close()
            cloud = self.serve(place, "--disbelieve", "a1")
            warned, = self.events(cloud, "disbelieving")
            self.assertEqual((warned["agent"], warned["level"]), ("a1", "warning"))
            self.assertIn("released a second time", warned["why"])
            liar = self.lie(place, answered, epoch)
            self.run_through(place, liar)
            self.assertEqual(cloud.wait(), 0, cloud.err[-2000:])
            told, = self.events(cloud, "disbelieved")
            self.assertEqual((told["agent"], told["agent_round"], told["journal_round"]), ("a1", answered, 0))

    def test_after_a_restore_too(self):
        place = self.place(issue=False)
        keys = place.issue(["a1", "a2"], together="site")
        cloud = self.serve(place)
        site = town.python_agent(["a1", "a2"])
        site.open(place.port, keys=keys)
        site.enrol()
        site.run(10)
        cloud.kill()
        site.close()
        for more, code in (((), 3), (("--disbelieve", "a1"), 0)):
            cloud = self.serve(place, "--after-restore", *more)
            site.answered = {"a1": ROUNDS, "a2": 10}
            site.open(place.port, keys=keys)
            site.enrol(wait=False)
            if code == 0:
                site.answered["a1"] = 0
                while min(site.answered.values()) < 11:  # a note says that 11 is lost
                    site.take(site.link.receive())
                self.assertEqual({said.round for said in site.enrolled.values()}, {12})  # 11 may have been shown
                site.run()
                site.close()  # it sends LEAVE
            self.assertEqual(cloud.wait(), code, cloud.err[-2000:])
            self.assertEqual("none is left" in cloud.err + cloud.out, code == 3)
            site.close()

    def test_another_agents_claim_still_stops_it(self):
        place = self.place()
        cloud = self.resume(place, "--disbelieve", "a2")
        liar = self.lie(place, 40)
        self.assertEqual(cloud.wait(), 3)
        self.assertIn("rolled-back", cloud.err)
        liar.close()

    def test_only_agents_of_the_file_are_disbelieved(self):
        place = self.place()
        cloud = self.serve(place, "--disbelieve", "a7", ready=None)
        self.assertEqual(cloud.wait(), 2)
        self.assertIn("no agent 'a7'", cloud.err)


class Links(Place):
    def test_a_state_folder_behind_the_operators_link_is_used_and_a_planted_one_is_not(self):
        place = self.place()
        os.chmod(place.folder, 0o755)
        disk = place.folder / "disk"
        disk.mkdir(0o700)
        (place.folder / "here").symlink_to("disk")
        cloud = place.start_cloud(state=place.folder / "here" / "journal", seed=town.SEED)
        agents = [place.start_agent(name, trace=False) for name in place.names]
        self.assertEqual([agent.wait() for agent in agents], [0, 0])
        self.assertEqual(cloud.wait(), 0, cloud.err)
        self.assertTrue((disk / "journal" / "journal.db").exists())
        # Others could have put this one there.
        public = place.folder / "public"
        public.mkdir()
        os.chmod(public, 0o777)
        (public / "link").symlink_to(disk)
        for more in ((), ("--new-run",)):
            cloud = place.start_cloud(*more, state=public / "link" / "journal", seed=town.SEED, ready=None)
            self.assertEqual(cloud.wait(), 3)
            self.assertIn(f"{public}/link", cloud.err)
            self.assertIn("others may write", cloud.err)
        self.assertEqual(len(list((disk / "journal").glob("journal-*"))), 0)
        agent = place.start_agent("a1", more=["--state", public / "link"], trace=False)
        self.assertEqual(agent.wait(), 3)
        self.assertIn("others may write", agent.err)

    def test_a_journal_that_is_a_link_itself_is_refused_with_the_reason(self):
        place = self.place()
        state = place.folder / "journal"
        state.mkdir(0o700)
        (state / "journal.db").symlink_to(place.folder / "elsewhere.db")
        cloud = place.start_cloud(ready=None)
        self.assertEqual(cloud.wait(), 3)
        self.assertIn("it is a symbolic link", cloud.err)


class Modes(Place):
    def test_what_others_may_write_is_refused_as_keys_are(self):
        place = self.place()
        cloud = place.start_cloud(trace=False)
        agent = place.start_agent("a1", trace=False)
        place.wait_for(lambda: "agent=a1" in cloud.err, what="an agent")
        self.assertEqual((agent.stop(), cloud.stop()), (0, 0))
        journal, ledger, own = place.folder / "journal", place.folder / "spent", place.states / "a1"
        ledger.touch(0o600)
        starts = {"cloud": lambda: place.start_cloud("--ledger", ledger, trace=False, ready=None),
                  "agent": lambda: place.start_agent("a1", trace=False)}
        for party, path, good, modes in (("cloud", journal, 0o755, (0o777, 0o770, 0o1777)), ("cloud", ledger, 0o644, (0o666, 0o620)),
                                         ("cloud", journal / "journal.db", 0o644, (0o666,)),
                                         ("cloud", journal / "journal.db-wal", 0o644, (0o666,)),
                                         ("agent", own, 0o755, (0o777, 0o770)), ("agent", own / "a1.state", 0o644, (0o666,))):
            for mode in modes:
                with self.subTest(f"{path.name}, {mode:o}"):
                    os.chmod(path, mode)
                    process = starts[party]()
                    self.assertEqual(process.wait(), 2, process.err)
                    self.assertIn(str(path), process.err)
                    self.assertIn("others may write it: chmod ", process.err)
            os.chmod(path, good)
        cloud = place.start_cloud("--ledger", ledger, trace=False)
        place.start_agents(trace=False)
        self.assertEqual(cloud.wait(), 0, cloud.err)


class Manual(Place):
    def test_what_is_to_be_compared_before_an_upgrade_is_there(self):
        """docs/operations.md, Upgrade of the cloud: what a journal's run is known by."""
        place = self.place()
        file = place.parts / "cloud.tacit"
        plan = json.loads(place.tacit("plan", file, *place.options, "--json").stdout)
        check = json.loads(place.tacit("check", file, "--json").stdout)
        self.assertRegex(plan["hash"], "^[0-9a-f]{64}$")
        self.assertGreater(plan["method_facts"]["radius"], 0)
        self.assertGreater(check["dual_radius"], 0)
        published = [*place.options, "--method", "published", "--alpha-bar", "0.1", "--gamma-bar", "0.01", "--c1", "0.3", "--c2", "0.52"]
        self.assertNotIn("method_facts", json.loads(place.tacit("plan", file, *published, "--json").stdout))
        manual = " ".join((pathlib.Path(os.environ["TACIT_SOURCE_DIR"]) / "docs" / "operations.md").read_text().split())
        self.assertIn("`hash` and `method_facts.radius` (method `tacit` alone has it)", manual)

    def test_a_run_of_the_published_method_with_noise_on_states_is_not_continued(self):
        place = self.place()
        state = place.folder / "old"
        state.mkdir(mode=0o700)
        serve = ("serve", place.parts / "cloud.tacit", *place.options, "--method", "published", "--placement", "states", "--alpha-bar", "0.1",
                 "--gamma-bar", "0.01", "--c1", "0.3", "--c2", "0.52", "--keys", place.keys / "cloud", "--state", state, "--listen",
                 "127.0.0.1:0", "--http", "off")
        reason = "the published method releases constraints and their Jacobian, so its noise is on outputs"
        said = " ".join(place.tacit(*serve, code=2).stderr.split())
        self.assertIn(reason, said)
        self.assertNotIn("journal", said)
        (state / "journal.db").write_bytes(b"whatever")
        said = " ".join(place.tacit(*serve, code=2).stderr.split())
        self.assertIn(reason, said)
        self.assertIn(f"there is a journal in '{state}': a run with noise on states by the published method cannot be continued", said)
        self.assertEqual((state / "journal.db").read_bytes(), b"whatever")

    def test_a_file_that_no_run_can_be_made_of_is_exit_1(self):
        place = self.place()
        file = place.folder / "none.tacit"
        text = (place.parts / "cloud.tacit").read_text()
        file.write_text(text.replace("slater x = 0.25", "slater x = 4"))
        done = place.tacit("serve", file, *place.options, "--keys", place.keys / "cloud", "--state", place.folder / "s", "--listen",
                           "127.0.0.1:0", "--http", "off", code=1)
        self.assertIn("no dual radius follows", " ".join(done.stdout.split()))


class Doors(Place):
    def test_names_that_others_can_own_are_not_answered(self):
        place = self.place()
        place.start_cloud("--http-host", "status.example.net", "--http-host", "other.example")
        for host in ("localhost", f"127.0.0.1:{place.http_port}", "status.example.net", "other.example:80",
                     socket.gethostname()):
            self.assertEqual(get(place.http_port, "/status", host)[0], 200, host)
        code, text = get(place.http_port, "/status", "rebound.example")
        self.assertEqual(code, 421)
        self.assertNotIn("phase", text)

    def test_the_version_stands_in_the_pages(self):
        place = self.place()
        place.start_cloud()
        version = place.tacit("--version").stdout.split()[1]
        self.assertEqual(json.loads(get(place.http_port, "/status")[1])["version"], version)
        self.assertIn(f'tacit_build_info{{version="{version}"}} 1\n', get(place.http_port, "/metrics")[1])

    @unittest.skipUnless(pathlib.Path("/proc/net/if_inet6").exists() and
                         "00000000000000000000000000000001" in pathlib.Path("/proc/net/if_inet6").read_text(),
                         "this machine has no IPv6")
    def test_every_address_means_ipv6_too(self):
        place = self.place()
        cloud = place.start_cloud("--listen", ":0", "--http", ":0", "--log", "json", "--log-level", "debug")
        self.assertEqual(get(place.http_port, "/healthz", "[::1]", "::1")[0], 200)
        self.assertEqual(get(place.http_port, "/healthz", "127.0.0.1")[0], 200)
        agents = [place.start_agent("a1", trace=False),
                  place.start_agent("a2", more=["--cloud", f"[::1]:{place.port}"], trace=False)]
        with socket.create_connection(("127.0.0.1", place.port), timeout=PATIENCE) as knock:
            knock.sendall(b"no TLS\r\n")
        self.assertEqual([agent.wait() for agent in agents], [0, 0])
        self.assertEqual(cloud.wait(), 0)
        addresses = {line["address"] for line in map(json.loads, cloud.err.splitlines()) if line["event"] == "connection-failed"}
        self.assertTrue(all(address.startswith("127.0.0.1:") for address in addresses) and addresses, addresses)


if __name__ == "__main__":
    unittest.main()
