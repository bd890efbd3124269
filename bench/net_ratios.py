"""The network's figures, as ratios in one run on loopback: `tacit serve` as it is (mutual TLS, release, method and
journal, durable) against redis over mutual TLS, driven by the same load generator; a small round against its parts; a
gateway against single connections; memory of idle agents; a commit against an append.

    net_ratios.py TACIT NET_LOAD NET_BARE [--quick] [PART...]      exit code 1 where a figure is beyond its limit

Parts: redis, round, gateway, memory. Contestants take turns, on connections that stay open. The median of the turns'
ratios counts, since disks and machines are slow or fast for longer than a turn. The ratio of the best turns is printed
beside it. --quick has fewer turns, and no 10,000 connections. docs/performance.md says more.
"""
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

words = [word for word in sys.argv[1:] if word != "--quick"]
tacit, net_load, net_bare = words[:3]
quick = "--quick" in sys.argv
parts = words[3:] or ["redis", "round", "gateway", "memory"]
STATES = 2
work = pathlib.Path(tempfile.mkdtemp(prefix="tacit-net-"))
keys = work / "keys"
over = []
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # as Ctrl-C: no server stays behind


def seconds_of(pid):
    """Processor time of all threads so far."""
    return sum(int(task.joinpath("schedstat").read_text().split()[0])
               for task in pathlib.Path(f"/proc/{pid}/task").iterdir()) / 1e9


def kibibytes_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1024


class Server:
    """A child that listens, and the load on it."""

    def __init__(self, arguments, **pipes):
        self.process = subprocess.Popen([str(a) for a in arguments], text=True, **pipes)
        self.loads = []

    def connect(self, kind, port, connections, slots=1, loads=1):
        """loads: processes that share the connections."""
        each = connections // loads
        for i in range(loads):
            command = [net_load, kind, keys, port, each, slots, STATES, i * each]
            self.loads.append(subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                               text=True))
        if any(load.stdout.readline() != "ready\n" for load in self.loads):
            self.__exit__()
            raise RuntimeError("the load generator could not connect")

    def turn(self, requests):
        """Exchanges a second, and microseconds of the server's processor time for one."""
        before = seconds_of(self.process.pid)
        for load in self.loads:
            load.stdin.write(f"{requests}\n")
            load.stdin.flush()
        done = [tuple(map(float, load.stdout.readline().split())) for load in self.loads]
        exchanges, seconds = sum(row[0] for row in done), max(row[1] for row in done)
        return exchanges / seconds, 1e6 * (seconds_of(self.process.pid) - before) / exchanges

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for load in self.loads:
            load.stdin.close()
        for load in self.loads:
            load.wait(timeout=60)
        self.process.terminate()
        self.process.wait(timeout=60)


class Cloud(Server):
    def __init__(self, connections, slots=1, durability="power", connect=True, threads=None, more=(), loads=1):
        number = connections * slots
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=work))
        self.folder.joinpath("cloud.tacit").write_text(
            f"role cloud\nagents unit[member in 1..{number}] {{ state x[2] in [0, 1] }}\n"
            f"constraint limit[j in 1..4]: sum(unit: x[1]^2 + j * x[2]) <= (0.1 + 0.3 * j) * {number}\n"
            "dual radius 100\nprivacy { mechanism laplace; epsilon 1; adjacency one 1 }\n"
            "schedule { alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds 1000000 }\n")
        ports = self.folder / "ports"
        self.log = open(self.folder / "log", "w")
        super().__init__([tacit, "serve", self.folder / "cloud.tacit", "--keys", keys / "cloud", "--state",
                          self.folder / "state", "--durability", durability, "--listen", "127.0.0.1:0", "--http",
                          "127.0.0.1:0", "--port-file", ports, "--deadline", 3600, "--log-level", "warning",
                          *(["--threads", threads] if threads else []), *more],
                         stdout=subprocess.DEVNULL, stderr=self.log)
        while not (ports.exists() and ports.read_text().endswith("\n")):
            if self.process.poll() is not None:
                raise RuntimeError((self.folder / "log").read_text())
            time.sleep(0.02)
        self.port, self.http = map(int, ports.read_text().split())
        self.at_start = kibibytes_of(self.process.pid)
        if connect:
            self.connect("tacit", self.port, connections, slots, loads)

    def commits(self):
        """Seconds in commits so far, and how many."""
        text = urllib.request.urlopen(f"http://127.0.0.1:{self.http}/metrics", timeout=10).read().decode()
        found = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        return tuple(float(found[f"tacit_journal_commit_seconds_{what}"]) for what in ("sum", "count"))

    def __exit__(self, *rest):
        super().__exit__(*rest)
        self.log.close()

    def row_bytes(self):
        """What a round leaves in the journal; after the end."""
        database = sqlite3.connect(self.folder / "state/journal.db")
        (size,) = database.execute("SELECT length(answers) + length(memory) + 112 FROM journal").fetchone()
        database.close()
        return size


class Redis(Server):
    """durable: it waits for the disk before it answers, as the cloud does; otherwise it writes nothing."""

    def __init__(self, connections, durable=False):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        wishes = {"port": 0, "tls-port": port, "tls-cert-file": keys / "cloud/identity.pem",
                  "tls-key-file": keys / "cloud/identity.pem", "tls-ca-cert-file": keys / "cloud/authority.pem",
                  "tls-auth-clients": "yes", "save": "", "bind": "127.0.0.1", "maxclients": connections + 100,
                  "daemonize": "no", "dir": tempfile.mkdtemp(dir=work), "appendonly": "yes" if durable else "no",
                  "appendfsync": "always"}
        super().__init__(["redis-server", *(w for name, value in wishes.items() for w in ("--" + name, value))],
                         stdout=subprocess.DEVNULL)
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        self.connect("redis", port, connections)


class Bare(Server):
    """With a size: so many bytes are appended to blocks that are there already, and durable, in every round."""

    def __init__(self, connections, append=None):
        state, answer = 24 + 8 * STATES, 40 + 8 * STATES
        self.totals = work / "totals"
        more = [] if append is None else [work / "append", append, self.totals]
        super().__init__([net_bare, keys / "cloud", connections, state, answer, *more], stdout=subprocess.PIPE)
        self.connect("bare", int(self.process.stdout.readline()), connections)

    def appends(self):
        """Seconds in appends so far, and how many."""
        return struct.unpack("dd", self.totals.read_bytes())


def show(what, best, limit, least, ratios=()):
    value = statistics.median(ratios) if ratios else best
    good = value >= limit if least else value <= limit
    beside = f"; of the best turns {best:.2f}" if ratios else ""
    print(f"{what:<62} {value:7.2f}  ({'at least' if least else 'at most'} {limit}{beside}){'' if good else '  BEYOND'}",
          flush=True)
    if not good:
        over.append(what)


def against_redis():
    plan = ((100, 0.6, 1000, 7), (1000, 1.0, 150, 5), (10000, 0.9, 100, 3))
    if quick:
        plan = ((100, 0.6, 300, 5), (1000, 1.0, 100, 3))
    for connections, limit, requests, turns in plan:
        with Redis(connections) as redis, Cloud(connections) as cloud:
            cloud.turn(requests // 10)
            redis.turn(requests // 10)
            rows = [(cloud.turn(requests), redis.turn(requests)) for _ in range(turns)]
        ratios = [c[0] / r[0] for c, r in rows]
        best_cloud, best_redis = max(c[0] for c, _ in rows), max(r[0] for _, r in rows)
        print(f"N = {connections}: {best_cloud:.0f} exchanges/s, redis {best_redis:.0f}; processor time of the server for "
              f"one: {min(c[1] for c, _ in rows):.2f} us, redis {min(r[1] for _, r in rows):.2f}")
        show(f"exchanges a second against redis, N = {connections}", best_cloud / best_redis, limit, True, ratios)
        if connections == 100:
            as_durable(connections, requests, turns)
            show("thousands of exchanges a second, N = 100", best_cloud / 1000, 38.8, True)


def as_durable(connections, requests, turns):
    """For information: against a redis that writes to the disk too."""
    with Redis(connections, durable=True) as redis, Cloud(connections) as cloud:
        cloud.turn(requests // 10)
        redis.turn(requests // 10)
        ratios = [cloud.turn(requests)[0] / redis.turn(requests)[0] for _ in range(turns)]
    print(f"against redis as durable as the cloud, N = {connections}: {statistics.median(ratios):.2f}", flush=True)


def small_round():
    """A round and its commit against what they cannot do without, at the same pace: a disk that is asked every now and
    then answers later than one that is asked all the time."""
    turns, rounds = (6, 500) if quick else (20, 1000)
    with Cloud(10) as cloud:
        cloud.turn(50)
    size = cloud.row_bytes()
    rows = []

    def spent(server, totals):
        """Microseconds of a round, and of its commit or append."""
        before = totals()
        whole = 1e7 / server.turn(rounds)[0]
        seconds, count = (b - a for a, b in zip(before, totals()))
        return whole, 1e6 * seconds / count

    with Cloud(10) as cloud, Bare(10, size) as durable, Bare(10) as bare:
        for server in (cloud, durable, bare):
            server.turn(rounds // 5)
        for _ in range(turns):
            rows.append((*spent(cloud, cloud.commits), *spent(durable, durable.appends), 1e7 / bare.turn(rounds)[0]))
    whole, commit, durable, append, ping = (statistics.median(column) for column in zip(*rows))
    print(f"N = 10: round {whole:.0f} us, bare round with an append {durable:.0f}, without {ping:.0f}; commit {commit:.0f}, "
          f"append of {size} bytes {append:.0f}; medians")
    best = [min(column) for column in zip(*rows)]
    show("a round at N = 10 against ping-pong and append", best[0] / best[2], 1.35, False, [r[0] / r[2] for r in rows])
    show("a commit at N = 10 against append and fdatasync", best[1] / best[3], 1.6, False, [r[1] / r[3] for r in rows])


def gateway():
    """Ten agents behind one connection against ten connections: many of both, which keep the cloud busy; and one, for
    information, whose rounds are mostly two wakings."""
    for gateways, durability, rounds, turns in ((100, "power", 200, 7), (1, "process", 2000, 7), (1, "power", 1000, 7)):
        if quick:
            rounds, turns = rounds // 4, 3
        with Cloud(10 * gateways, 1, durability) as single, Cloud(gateways, 10, durability) as joint:
            for server in (single, joint):
                server.turn(rounds // 5)
            rows = [(joint.turn(rounds), single.turn(rounds)) for _ in range(turns)]
        best = max(j[0] for j, _ in rows), max(s[0] for _, s in rows)
        ratios = [j[0] / s[0] for j, s in rows]
        what = f"{gateways} gateways of ten" if gateways > 1 else "a gateway of ten"
        print(f"{what}, durability {durability}: {best[0]:.0f} exchanges/s, single connections {best[1]:.0f}; processor "
              f"time of the cloud {min(j[1] for j, _ in rows):.2f} and {min(s[1] for _, s in rows):.2f} us")
        if gateways > 1:
            show(f"{what} against {10 * gateways} connections", best[0] / best[1], 5, True, ratios)
        else:
            print(f"{what} against ten connections {statistics.median(ratios):7.2f}")


def memory():
    number = 2000 if quick else 10000
    with Cloud(number) as cloud:
        cloud.turn(2)
        grown = kibibytes_of(cloud.process.pid) - cloud.at_start
    show(f"KiB of the cloud's memory for an idle agent, N = {number}", grown / number, 28, False)


def measure(*figures):
    """Calls these, and ends: exit code 1 where a figure is beyond its limit."""
    try:
        subprocess.run([tacit, "keys", "init", keys], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([tacit, "keys", "issue", keys, "load"], check=True, stdout=subprocess.DEVNULL)
        for figure in figures:
            figure()
    finally:
        shutil.rmtree(work, ignore_errors=True)
    sys.exit(1 if over else 0)


if __name__ == "__main__":
    run = {"redis": against_redis, "round": small_round, "gateway": gateway, "memory": memory}
    measure(*(run[part] for part in parts))
