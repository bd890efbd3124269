"""Bad input, item by item. Each is refused with the code and the words of docs/protocol.md, or of TLS before there is a
protocol; the operator's log says so; and the run of the honest agents goes on meanwhile, to the bits that it has in one
process."""
# labels: not-clang

import contextlib
import os
import resource
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time
import unittest
from unittest import mock

import town
import wire
from parties import PATIENCE, Parties, Process

ROUNDS = 1200
LONG = os.environ.get("TACIT_LONG") == "1"
OPEN_SECONDS = 10  # of a handshake, docs/protocol.md

EXTENSIONS = """[ca]
default_ca = all
[all]
database = {folder}/index.txt
new_certs_dir = {folder}
default_md = sha256
rand_serial = yes
policy = any
x509_extensions = agent
[any]
organizationName = optional
commonName = optional
[agent]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
extendedKeyUsage = {usage}
subjectAltName = {names}
"""


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=PATIENCE)


def dated(keys, folder, name, start, end):
    """A folder of keys for an agent, or for the cloud (name: None), by the same authority, from start to end (seconds from
    now)."""
    folder.mkdir()
    (folder / "index.txt").touch()
    usage, names = ("clientAuth", f"URI:tacit:agent:{name}") if name else ("serverAuth", "DNS:cloud.tacit.internal")
    (folder / "ca.cnf").write_text(EXTENSIONS.format(folder=folder, usage=usage, names=names))
    form, now = "%Y%m%d%H%M%SZ", time.time()
    authority = keys / "authority/identity.pem"
    openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/O=tacit/CN={name}",
            "-keyout", folder / "key.pem", "-out", folder / "request.pem")
    openssl("ca", "-batch", "-notext", "-config", folder / "ca.cnf", "-in", folder / "request.pem", "-out",
            folder / "certificate.pem", "-keyfile", authority, "-cert", authority, "-startdate",
            time.strftime(form, time.gmtime(now + start)), "-enddate", time.strftime(form, time.gmtime(now + end)))
    joined = (folder / "certificate.pem").read_text() + (folder / "key.pem").read_text()
    (folder / "identity.pem").write_text(joined)
    (folder / "identity.pem").chmod(0o600)
    shutil.copy(keys / "cloud/authority.pem", folder)
    return folder


class SlowLoris(threading.Thread):
    """Many handshakes of which one byte comes each second. Each must be ended by the cloud."""

    def __init__(self, port, count, hello):
        super().__init__(daemon=True)
        self.streams = [socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) for _ in range(count)]
        self.hello, self.lives, self.began = hello, {}, time.monotonic()

    def run(self):
        for at in range(PATIENCE):
            for stream in self.streams:
                if stream in self.lives:
                    continue
                try:
                    stream.send(self.hello[at:at + 1])
                    stream.setblocking(False)
                    if stream.recv(1) == b"":
                        raise ConnectionResetError
                except (BlockingIOError, InterruptedError):
                    pass
                except OSError:
                    self.lives[stream] = time.monotonic() - self.began
            if len(self.lives) == len(self.streams):
                return
            time.sleep(1)

    def close(self):
        for stream in self.streams:
            stream.close()


def first_flight(context):
    """The bytes of a ClientHello."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname="cloud.tacit.internal").do_handshake()
    return outgoing.read()


class Hostile(unittest.TestCase):
    """One run for all of them: five agents, the fifth driven from here. Bad input comes between its honest states, and from
    connections beside it."""

    @classmethod
    def setUpClass(cls):
        files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        cls.files = most
        cls.parties = p = Parties(town.problem(5), options=town.options(ROUNDS))
        cls.addClassCleanup(p.close)
        site = p.issue(["a1", "a2"], together="site")
        p.start_cloud("--log", "json", "--log-level", "debug", "--deadline", 0.2, seed=town.SEED, trace=False)
        p.start_agent("a1", "a2", keys=site, trace=False)
        p.start_agents(["a3", "a4"], trace=False)
        cls.keys = p.key_folders["a5"]
        cls.good = wire.client_context(cls.keys)
        cls.resident = town.Resident(p, ["a5"], cls.keys, rounds=ROUNDS)
        cls.resident.connect()
        cls.resident.start()
        cls.resident.await_rounds()
        cls.loris = SlowLoris(p.port, 40, first_flight(cls.good))
        cls.addClassCleanup(cls.loris.close)
        cls.loris.start()

    @classmethod
    def tearDownClass(cls):
        """Nobody but the fifth agent has been away, and the run ends as if nothing had been."""
        p, test = cls.parties, cls("run")
        test.assertEqual({line["agent"] for line in town.events(p.cloud, "left")} - {"a5"}, set())
        answers = cls.resident.finish()
        town.same_bits(test, p, p.finish(), answers)
        for result in p.results().values():
            test.assertEqual([(agent["clamped"], agent["held"]) for agent in result["agents"]],
                             [(0, 0)] * len(result["agents"]))
        test.assertNotIn("runtime error", p.cloud.err)  # of a sanitizer

    def run(self, result=None):
        return super().run(result) if result is not None else None

    def setUp(self):
        self.before = len(town.events(self.parties.cloud))

    def tearDown(self):
        """The others go on."""
        self.resident.await_rounds(2)

    # ---- helpers ----

    def logged(self, kind, **fields):
        """A line that has come since the test began."""
        def find():
            lines = town.events(self.parties.cloud)[self.before:]
            return [n for n in lines if n["event"] == kind and all(n.get(k) == v for k, v in fields.items())]
        return Parties.wait_for(find, what=f"'{kind}' {fields} in the log")

    def link(self, keys=None, context=None, greet=True):
        link = wire.Link(wire.connect(self.parties.port, keys, context=context or (None if keys else self.good)))
        self.addCleanup(link.close)
        if greet:
            link.send(wire.hello())
            link.expect(wire.WELCOME)
        return link

    def refused(self, link, code, reason=None, slot=wire.NO_SLOT, round_=0):
        """The next message is this refusal; of a connection it is the last."""
        found = link.receive()
        self.assertEqual(found.type, wire.REFUSAL, found)
        self.assertEqual((found.code, found.slot, found.round), (code, slot, round_), found)
        if reason is not None:
            self.assertEqual(found.reason, reason)
        if slot == wire.NO_SLOT:
            self.assertTrue(link.is_closed())
        return found

    def alert(self, context, words):
        """The handshake, or the first thing after it, fails with this alert."""
        with self.assertRaises((ssl.SSLError, wire.Closed)) as caught:
            with wire.Link(wire.connect(self.parties.port, context=context)) as link:
                link.send(wire.hello())
                link.receive()
        self.assertRegex(str(caught.exception).lower().replace("_", " "), words)

    # ---- certificates ----

    def test_a_certificate_of_another_authority(self):
        other = self.parties.folder / "other"
        self.parties.tacit("keys", "init", other)
        self.parties.tacit("keys", "issue", other, "a5")
        mixed = self.parties.folder / "mixed"
        mixed.mkdir()
        shutil.copy(other / "agents/a5/identity.pem", mixed)
        shutil.copy(self.keys / "authority.pem", mixed)
        self.alert(wire.client_context(mixed), "unknown ca")
        self.logged("connection-failed", end="broken", why="unable to get local issuer certificate")

    def test_a_certificate_that_is_not_of_today(self):
        day = 86400
        for label, start, end, alert, why in (
                ("expired", -2 * day, -day, "certificate expired", "certificate has expired"),
                ("early", day, 2 * day, "certificate (bad|expired|unknown)|bad certificate", "certificate is not yet valid")):
            with self.subTest(label):
                keys = dated(self.parties.keys, self.parties.folder / label, "a5", start, end)
                self.alert(wire.client_context(keys), alert)
                self.logged("connection-failed", why=why)
                agent = Process(f"agent.{label}", self.parties.folder, [
                    os.environ["TACIT"], "agent", self.parties.names["a5"], "--cloud", f"127.0.0.1:{self.parties.port}",
                    "--keys", keys, "--state", self.parties.folder / f"state.{label}"])
                self.addCleanup(agent.kill)
                Parties.wait_for(lambda: why in agent.err, what=why)  # the clock may be wrong: it waits, or the unit does
                if label == "expired":
                    self.assertEqual(agent.wait(), 3, agent.err)
                else:
                    self.assertIn("trying again", agent.err)
                    self.assertTrue(agent.is_running())
                    self.assertEqual(agent.stop(), 0)

    def test_a_clouds_certificate_that_is_not_of_today(self):
        """Its start fails for a reason of the environment: the unit tries again."""
        day = 86400
        for label, start, end, why in (("late", -2 * day, -day, "certificate has expired"),
                                       ("soon", day, 2 * day, "certificate is not yet valid")):
            with self.subTest(label):
                keys = dated(self.parties.keys, self.parties.folder / f"cloud.{label}", None, start, end)
                done = subprocess.run([os.environ["TACIT"], "serve", self.parties.parts / "cloud.tacit",
                                       *map(str, self.parties.options), "--listen", "127.0.0.1:0", "--keys", keys, "--state",
                                       self.parties.folder / f"journal.{label}"], capture_output=True, text=True, timeout=PATIENCE)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn(why, done.stderr)
                self.assertFalse((self.parties.folder / f"journal.{label}").exists())

    def test_the_clouds_certificate_in_an_agents_place(self):
        self.alert(wire.client_context(self.parties.keys / "cloud"), "unsupported certificate|bad certificate|unknown ca")
        self.logged("connection-failed", why="unsuitable certificate purpose")

    def test_no_certificate_at_all(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(self.keys / "authority.pem")
        context.set_alpn_protocols(["tacit/1"])
        self.alert(context, "certificate required")
        self.logged("connection-failed", why="peer did not return a certificate")

    # ---- names ----

    def test_another_agents_name_and_one_that_the_file_does_not_have(self):
        self.parties.issue(["stranger"])
        link = self.link()
        for slot, name in enumerate(("a1", "nobody", "a5\u200b")):
            link.send(wire.enrol(slot, name, 2))
            self.refused(link, wire.IDENTITY, "the certificate does not name this agent", slot)
        self.logged("refused", agent="a1", reason="the certificate does not name this agent", why=None)
        stranger = self.link(self.parties.key_folders["stranger"])
        stranger.send(wire.enrol(3, "stranger", 2))
        self.refused(stranger, wire.UNKNOWN, "no such agent", 3)
        self.logged("refused", agent="stranger", reason="no such agent", why=None)

    def test_a_second_connection_takes_over_and_a_third_at_once_does_not(self):
        with self.resident.lock:
            agent, old, third = self.resident.agent, self.resident.agent.link, self.link()
            agent.link = None
            agent.open(self.parties.port, self.keys)
            before = time.monotonic()
            agent.enrol()
            third.send(wire.enrol(0, "a5", 2, agent.answered["a5"]))
            found, after = third.receive(), time.monotonic()
            self.refused(old, wire.REPLACED, "a newer connection speaks for this agent", 0)
            self.logged("replaced", agent="a5")
            if found.type == wire.ENROLLED:  # a moment is a second
                self.assertGreater(after - before, 1)
                third.close()
                time.sleep(1)
                agent.open(self.parties.port, self.keys)
                agent.enrol()
            else:
                self.assertEqual((found.type, found.code, found.reason), (
                    wire.REFUSAL, wire.CROWD, "another connection took over this agent a moment ago"))
                self.logged("refused", agent="a5", reason="too many agents or connections")
            old.send(wire.state(0, self.resident.answered + 1, [1, 1]))  # one that was replaced is not heard
            self.refused(old, wire.SLOT, slot=0, round_=self.resident.answered + 1)
            old.close()
        time.sleep(1)  # for the tests that enrol it again

    # ---- states ----

    def between(self):
        """The fifth agent's link and the open round, between two rounds."""
        return self.resident.agent.link, self.resident.answered + 1

    def test_there_is_no_way_to_say_nan_and_what_is_beyond_the_box_is_moved_into_it(self):
        """A NaN's bits are a large whole number. Only its agent is told."""
        before = town.page(self.parties.http_port, "metrics").count("\n")
        nan, = struct.unpack("<q", struct.pack("<d", float("nan")))
        minus, = struct.unpack("<q", struct.pack("<d", -float("inf")))
        for units in ([nan, minus], [(1 << 63) - 1, -1 << 63], [5 << 20, -1]):
            with self.resident.lock:
                link, k = self.between()
                self.resident.agent.send_state(units=units)  # it stands in the corner where these are moved to
                answer = self.resident.agent.take(link.receive())  # it is said in its header, and nowhere else
                self.assertEqual((answer.type, answer.slot, answer.round, answer.flags), (wire.ANSWER, 0, k, wire.CLAMPED))
        status, metrics = (town.page(self.parties.http_port, path) for path in ("status", "metrics"))
        for text in (status, metrics, self.parties.cloud.err):
            self.assertNotRegex(text.lower(), "clamp|box|outside")
        self.assertEqual(metrics.count("\n"), before)
        self.assertEqual([n for n in town.events(self.parties.cloud)[self.before:] if
                          n["event"] not in ("progress", "waiting") and n.get("end") != "slow"], [])

    def test_a_state_of_another_length(self):
        with self.resident.lock:
            link, k = self.between()
            for units in ([], [1], [1, 2, 3], [0] * 64):
                link.send(wire.state(0, k, units))
                self.refused(link, wire.STATES, "wrong number of states", 0, k)
            link.send(wire.Frame(wire.STATE, 0, k, b"123456789").encode())
            self.refused(link, wire.STATES, slot=0, round_=k)
            self.logged("refused", agent="a5", reason="wrong number of states", why=None)

    def test_a_state_for_another_round(self):
        with self.resident.lock:
            link, k = self.between()
            for round_ in (0, 1, k - 2, k + 1, k + 1000, 1 << 47, (1 << 48) - 1):
                link.send(wire.state(0, round_, self.resident.agent.units("a5")))
                self.refused(link, wire.ROUND, "wrong round", 0, round_)
            self.logged("refused", agent="a5", reason="wrong round", why=None)

    def test_a_state_that_is_said_again(self):
        """The same bytes or others, it is refused; the round before is answered again with the same bytes."""
        with self.resident.lock:
            agent = self.resident.agent
            link, k = self.between()
            units = agent.units("a5")
            agent.send_state()
            self.resident.agent.take(link.expect(wire.ANSWER))
            last = link.log[-1].raw
            for old in (units, [7, 7], []):
                link.send(wire.state(0, k, old))
                self.assertEqual(link.expect(wire.ANSWER).raw, last)
        with self.resident.lock, self.stopped("a3"):
            link, k = self.between()
            for units in (agent.units("a5"), [7, 7]):
                link.send(wire.state(0, k, units))
                self.refused(link, wire.ROUND, "the state of this round has been said", 0, k)
        self.logged("refused", agent="a5", reason="wrong round", why="the state of this round has been said")

    @contextlib.contextmanager
    def stopped(self, name):
        """That agent says nothing: a round is open until it goes on, and a5 has said its state. It is stopped when all but a5
        have said theirs, so it can have no part in the round that follows."""
        child, agent = self.parties.agents[name], self.resident.agent
        town.await_event(self.parties.cloud, "waiting", round=self.resident.answered + 1, agents="a5")
        child.signal(signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
        try:
            agent.send_state()
            agent.take(agent.link.expect(wire.ANSWER))
            agent.send_state()
            yield
        finally:
            child.signal(signal.SIGCONT)
        agent.take(agent.link.expect(wire.ANSWER))

    def test_slots_that_are_taken_not_there_or_beyond_the_limit(self):
        with self.resident.lock:
            link, k = self.between()
            link.send(wire.enrol(0, "a5", 2))
            self.refused(link, wire.SLOT, slot=0)
            link.send(wire.enrol(1, "a5", 2))
            self.refused(link, wire.SLOT, "this connection has the agent in another slot", 1)
            link.send(wire.state(1, k, [0, 0]))
            self.refused(link, wire.SLOT, "no such slot, or one that is taken", 1, k)
            for slot in (65536, 0x7FFFFFFF, 0xFFFFFFFE):
                link.send(wire.enrol(slot, "a5", 2) + wire.state(slot, k, [0, 0]) + wire.leave(slot))
                self.refused(link, wire.SLOT, slot=slot)
                self.refused(link, wire.SLOT, slot=slot, round_=k)
                self.refused(link, wire.SLOT, slot=slot)
        other = self.link()
        for states in (0, 1, 3, 0xFFFFFFFF):
            other.send(wire.enrol(0, "a5", states))
            self.refused(other, wire.STATES, "wrong number of states", 0)
        other.send(wire.enrol(wire.NO_SLOT, "a5", 2))
        found = other.receive()
        self.assertEqual((found.type, found.code), (wire.REFUSAL, wire.SLOT))

    def test_leaving_and_coming_back(self):
        with self.resident.lock:
            agent = self.resident.agent
            link, k = self.between()
            for slot in (0, 9, 65535, 0):
                link.send(wire.leave(agent.enrolled and next(iter(agent.enrolled))))
                link.send(wire.state(0, k, [0, 0]))
                self.refused(link, wire.SLOT, slot=0, round_=k)
                agent.enrolled = {}
                link.send(wire.enrol(slot, "a5", 2, k - 1))
                agent.take(link.receive())
                self.assertEqual(agent.enrolled[slot].round, k)
        self.logged("left", agent="a5")
        self.assertGreaterEqual(len(self.logged("enrolled", agent="a5")), 4)

    def test_who_claims_to_have_seen_rounds_that_are_not_there_speaks_for_itself(self):
        link, k = self.link(), ROUNDS
        link.send(wire.enrol(0, "a5", 2, ROUNDS + 1))
        self.refused(link, wire.ROUND, "the run does not have so many rounds", 0, ROUNDS + 1)
        link.send(wire.enrol(0, "a5", 2, k))
        self.refused(link, wire.ROLLBACK, slot=0, round_=k)
        link.send(wire.enrol(0, "a5", 2, 1, epoch=(1 << 63, b"x" * 16)))
        self.refused(link, wire.ROLLBACK, slot=0, round_=1)
        link.send(wire.enrol(0, "a5", 2, 0, slater=wire.NO))
        self.refused(link, wire.SLATER, slot=0)
        self.logged("claim-refused", agent="a5")

    # ---- frames ----

    def test_frames_that_are_none(self):
        magic = wire.Frame(wire.HELLO, body=wire.MAGIC + struct.pack("<HHH", 1, 1, 0))
        long_name = wire.Frame(wire.ENROL, 0, 0, struct.pack("<IIQ16sH", 2, 1, 0, bytes(16), 257) + b"a" * 257)
        for label, greet, sent, code, reason in (
                ("a flag", False, magic.encode(flags=1), wire.BAD_FRAME, "a reserved field is not zero"),
                ("a flag of an answer", True, wire.answer(0, 1, 1, 0, [0, 0], flags=1), wire.TURN, None),
                ("the reserved word", False, magic.encode(zero=1 << 31), wire.BAD_FRAME, "a reserved field is not zero"),
                ("a round of 2^48", True, wire.Frame(wire.STATE, 0, 1 << 48, bytes(16)).encode(), wire.BAD_FRAME,
                 "the round is out of range"),
                ("an unknown type", True, wire.Frame(99).encode(), wire.BAD_FRAME, None),
                ("type 0", False, bytes(24), wire.BAD_FRAME, None),
                ("a message of the cloud", True, wire.welcome(), wire.TURN, None),
                ("no HELLO", False, wire.enrol(0, "a5", 2), wire.TURN, "a message out of turn"),
                ("HELLO twice", True, wire.hello(), wire.TURN, None),
                ("another magic", False, wire.hello(magic=b"tacit\n\n\0"), wire.BAD_FRAME, None),
                ("later versions alone", False, wire.hello(3, 9), wire.VERSION, "no common version of the protocol"),
                ("a name that is not UTF-8", True, wire.enrol(0, b"a\xff5", 2), wire.BAD_FRAME, None),
                ("a name with a line end", True, wire.enrol(0, "a5\n", 2), wire.BAD_FRAME, None),
                ("no name", True, wire.enrol(0, "", 2), wire.BAD_FRAME, None),
                ("a name of 257 bytes", True, long_name.encode(), wire.BAD_FRAME, None),
                ("an epoch id without a number", True, wire.enrol(0, "a5", 2, epoch=(0, b"1" * 16)), wire.BAD_FRAME, None),
                ("a LEAVE with a body", True, wire.Frame(wire.LEAVE, body=b"x").encode(), wire.BAD_FRAME, None)):
            with self.subTest(label):
                self.before = len(town.events(self.parties.cloud))
                link = self.link(greet=greet)
                link.send(sent)
                found = self.refused(link, code, reason)
                line = self.logged("connection-refused")[0]
                self.assertEqual(line.get("why", line["reason"]), found.reason)
                self.assertNotEqual(line.get("why"), line["reason"])

    def test_a_frame_that_is_too_long_is_not_waited_for(self):
        for length in (513, 16 << 20, (16 << 20) + 1, 0xFFFFFFFF):
            with self.subTest(length):
                link = self.link()
                link.send(wire.Frame(wire.ENROL, 0).encode(length=length))
                self.refused(link, wire.BAD_FRAME, "the body is longer than the limit")
        self.logged("connection-refused", why="the body is longer than the limit")

    def test_a_frame_that_is_cut_short(self):
        for size in (1, 23, 24, 40):
            link = self.link(greet=False)
            link.send(wire.hello()[:size] if size < 40 else wire.hello() + wire.enrol(0, "a5", 2)[:size])
            link.close()
        with self.resident.lock:  # and of the agent itself, which comes back
            agent = self.resident.agent
            agent.link.send(wire.state(0, self.resident.answered + 1, [1, 2])[:-1])
            self.addCleanup(agent.link.close)
            agent.open(self.parties.port, self.keys)
            agent.enrol()
        self.logged("left", agent="a5")

    def test_garbage_after_the_handshake(self):
        for seed in range(3):
            link = self.link(greet=False)
            link.send(os.urandom(4000))
            self.assertEqual(link.receive().code, wire.BAD_FRAME)
            self.assertTrue(link.is_closed())
        self.logged("connection-refused")

    def test_a_flood_of_enrolments(self):
        """After some scores of refusals the connection is ended; the log does not grow by the flood."""
        link = self.link()
        with contextlib.suppress(wire.Closed):
            link.send(b"".join(wire.enrol(i, "a1", 2) for i in range(5000)))
        self.assertTrue(link.is_closed())
        heard = [m for m in link.log if m.type == wire.REFUSAL]
        self.assertLessEqual(len(heard), 100)
        self.assertEqual(heard[-1].slot, wire.NO_SLOT)
        self.assertEqual(heard[-1].reason, "too much of what it said was refused")
        self.logged("connection-refused", why="too much of what it said was refused")

    def test_a_flood_of_what_is_good_and_of_no_use(self):
        """States of a round that is answered, and an agent that comes and goes: some scores of them, and no more."""
        def again(agent, k):
            return wire.state(0, k - 1, agent.units("a5"))

        def to_and_fro(agent, k):
            return wire.leave(0) + wire.enrol(0, "a5", 2, k - 1)
        for flood, kind in ((again, wire.ANSWER), (to_and_fro, wire.ENROLLED)):
            with self.subTest(flood.__name__), self.resident.lock:
                self.before = len(town.events(self.parties.cloud))
                agent = self.resident.agent
                link, k = self.between()
                heard = len(link.log)
                with contextlib.suppress(wire.Closed):
                    link.send(flood(agent, k) * 5000)
                self.assertTrue(link.is_closed())
                self.assertLessEqual(len([m for m in link.log[heard:] if m.type == kind]), 100)
                self.assertEqual((link.log[-1].code, link.log[-1].reason),
                                 (wire.TURN, "too much of what it said was of no use"))
                self.logged("connection-refused", why="too much of what it said was of no use", certificate="a5")
                agent.open(self.parties.port, self.keys)
                agent.enrol()

    # ---- one certificate, many connections ----

    def test_a_certificate_has_a_use_for_some_connections(self):
        """As many as it names agents, and sixteen more: the oldest without an agent gives way, its agent does not."""
        links = [self.link() for _ in range(40)]
        for link in links[:40 - 16]:
            found = link.receive()
            self.assertEqual((found.type, found.code, found.reason),
                             (wire.REFUSAL, wire.CROWD, "too many connections with this certificate"))
        self.logged("connection-refused", why="too many connections with this certificate", certificate="a5")
        links[-1].send(wire.enrol(0, "a1", 2))  # the newest is open
        self.refused(links[-1], wire.IDENTITY, slot=0)
        self.resident.await_rounds(2)

    # ---- no TLS, or another ----

    def test_plain_http(self):
        with socket.create_connection(("127.0.0.1", self.parties.port), timeout=PATIENCE) as stream:
            stream.sendall(b"GET /status HTTP/1.1\r\nHost: cloud\r\n\r\n")
            answer = b""
            with contextlib.suppress(ConnectionResetError):
                while data := stream.recv(4096):
                    answer += data
        self.assertTrue(answer.startswith(b"HTTP/1.1 400 Bad Request\r\n"), answer)
        self.assertIn(b"This port speaks TLS 1.3", answer)
        self.logged("connection-failed", end="refused", why="its first byte was not TLS")

    def test_garbage_instead_of_tls(self):
        for data in (bytes(100), b"\x16" + os.urandom(500), b"\x16\x03\x01\xff\xff", b"\x16\x03\x01\x40\x00\x01\xff\xff\xff",
                     b"\x80\x2e\x01\x00\x02"):
            with socket.create_connection(("127.0.0.1", self.parties.port), timeout=PATIENCE) as stream:
                with contextlib.suppress(OSError):  # it may be closed already
                    stream.sendall(data)
                    stream.shutdown(socket.SHUT_WR)
                    while stream.recv(4096):
                        pass
        self.logged("connection-failed")

    def test_an_older_tls(self):
        context = wire.client_context(self.keys)
        context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2
        self.alert(context, "protocol version|unsupported protocol|internal error")
        self.logged("connection-failed", why="unsupported protocol")

    def test_another_protocol_in_tls(self):
        context = wire.client_context(self.keys)
        context.set_alpn_protocols(["http/1.1", "h2"])
        self.alert(context, "no application protocol")
        self.logged("connection-failed", why="no application protocol")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # offers none
        context.load_verify_locations(self.keys / "authority.pem")
        context.load_cert_chain(self.keys / "identity.pem")
        self.alert(context, "closed|eof|reset")
        self.logged("connection-failed", why="the peer did not ask for the protocol tacit/1")

    # ---- many ----

    def test_handshakes_of_one_byte_a_second_are_ended_after_ten(self):
        """They began with the run."""
        self.loris.join(2 * PATIENCE)
        self.assertEqual(len(self.loris.lives), len(self.loris.streams))
        self.assertGreater(max(self.loris.lives.values()), OPEN_SECONDS - 1)
        self.assertTrue(town.events(self.parties.cloud, "connection-ended", end="slow", why="no whole handshake in time"))

    def test_thousands_of_connections_that_say_nothing(self):
        """More than may be silent: the oldest give way, and an agent still gets in. On a slow machine the time of the oldest
        is up before so many are there."""
        count, ended = min(4300, self.files - 200), len(town.events(self.parties.cloud, "connection-ended"))
        if count < 4300:
            print(f"only {count} connections: the limit of descriptors is {self.files}")
        streams = []
        self.addCleanup(lambda: [stream.close() for stream in streams])
        for i in range(count):
            streams.append(socket.create_connection(("127.0.0.1", self.parties.port), timeout=PATIENCE))
            if i % 500 == 499:
                self.link()
        self.resident.await_rounds(2)
        figures = town.page(self.parties.http_port, "metrics")
        self.assertLessEqual(self.figure(figures, "silent"), 4096)
        if count > 4200:
            streams[0].settimeout(PATIENCE)
            self.assertEqual(streams[0].recv(1), b"")
            Parties.wait_for(lambda: [n for n in town.events(self.parties.cloud, "connection-ended")[ended:]
                                      if n["end"] in ("crowded", "slow")], what="its end in the log")

    def test_hundreds_of_handshakes_that_do_not_go_on(self):
        hello, streams = first_flight(self.good), []
        self.addCleanup(lambda: [stream.close() for stream in streams])
        for i in range(400):
            stream = socket.create_connection(("127.0.0.1", self.parties.port), timeout=PATIENCE)
            stream.sendall(hello[:-1] if i % 2 else hello)
            streams.append(stream)
        self.link()
        self.assertLessEqual(self.figure(town.page(self.parties.http_port, "metrics"), "shaking"), 256)
        with contextlib.suppress(ConnectionResetError):
            while streams[0].recv(4096):  # what the cloud has to say in the handshake, and its end
                pass

    def test_a_flood_of_strangers_hides_no_agent_in_the_log(self):
        """Their lines are left out, and counted; what concerns an agent is told."""
        for _ in range(100):
            for _ in range(1200):
                with socket.create_connection(("127.0.0.1", self.parties.port), timeout=PATIENCE) as stream:
                    stream.sendall(b"GET")
            if self.left_out() > 100:  # a log has some lines a second: a slow flood must be longer
                break
        with self.resident.lock:
            old = self.resident.agent.link
            self.resident.agent.link = None
            self.resident.connect()
            self.refused(old, wire.REPLACED, slot=0)
            old.close()
        self.logged("replaced", agent="a5")
        self.logged("enrolled", agent="a5")
        self.assertGreater(self.left_out(), 100)

    def left_out(self):
        return sum(line["lines"] for line in self.logged("left-out"))

    def figure(self, metrics, state):
        line = next(n for n in metrics.splitlines() if f'state="{state}"' in n)
        return float(line.split()[-1])


class FewDescriptors(unittest.TestCase):
    def test_silent_connections_leave_a_descriptor_for_agents(self):
        """The oldest give way to newer ones, so nobody waits until their ten seconds are over."""
        with Parties(town.problem(2), options=town.options(5)) as p:
            program = p.folder / "tacit"
            program.write_text('#!/bin/sh\nulimit -n 200\nexec "$REAL_TACIT" "$@"\n')
            program.chmod(0o755)
            with mock.patch("parties.TACIT", program), mock.patch.dict(os.environ, REAL_TACIT=os.environ["TACIT"]):
                p.start_cloud("--log", "json", "--log-level", "debug", seed=town.SEED)
            town.await_event(p.cloud, "few-files", allowed=200)
            streams = [socket.create_connection(("127.0.0.1", p.port), timeout=PATIENCE) for _ in range(400)]
            try:
                p.start_agents()
                town.same_bits(self, p, p.finish())
                self.assertTrue(town.events(p.cloud, "connection-ended", end="crowded"))
            finally:
                for stream in streams:
                    stream.close()


if __name__ == "__main__":
    unittest.main(testLoader=town.InOrder())
