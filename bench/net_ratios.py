"""The network's figures, as ratios in one run on loopback: the cloud's transport and journal against redis over TLS with
the same load generator, a small round against its parts, a gateway against single connections, memory of idle agents.

    net_ratios.py BUILD [--quick]      exit code 1 where a figure is beyond its limit
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

build = pathlib.Path(sys.argv[1])
quick = "--quick" in sys.argv
repeats = 2 if quick else 5
states = 2
work = pathlib.Path(tempfile.mkdtemp(prefix="tacit-net-", dir=os.environ.get("TMPDIR", "/tmp")))
keys = work / "keys"
over = []


def load(kind, port, connections, slots, requests):
    command = [build / "net_load", kind, keys / "agents/a", port, connections, slots, states, requests]
    out = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True, timeout=300).stdout
    return float(out.split()[2])


def cloud(connections, slots, requests, durability="power"):
    """Exchanges a second, microseconds of a commit, KiB an agent."""
    folder = work / "state"
    shutil.rmtree(folder, ignore_errors=True)
    command = [build / "net_cloud", keys / "cloud", connections * slots, slots, states, durability, folder]
    with subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, text=True) as process:
        rate = load("tacit", int(process.stdout.readline()), connections, slots, requests)
        words = process.stdout.readline().split()
        process.wait(timeout=30)
    return rate, float(words[3]), float(words[5])


class Redis:
    def __enter__(self):
        self.port = 17379
        tls = {"port": 0, "tls-port": self.port, "tls-cert-file": keys / "cloud/identity.pem",
               "tls-key-file": keys / "cloud/identity.pem", "tls-ca-cert-file": keys / "cloud/authority.pem",
               "tls-auth-clients": "yes", "save": "", "appendonly": "no", "bind": "127.0.0.1", "maxclients": 12000,
               "daemonize": "no", "dir": work}
        arguments = [str(word) for name, value in tls.items() for word in ("--" + name, value)]
        self.process = subprocess.Popen(["redis-server", *arguments], stdout=subprocess.DEVNULL)
        time.sleep(0.7)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=20)


def append_microseconds(size, count=400):
    """One write to blocks that are there already, and fdatasync: the quickest quarter's mean."""
    descriptor = os.open(work / "append", os.O_RDWR | os.O_CREAT, 0o600)
    os.write(descriptor, bytes(4 << 20))
    os.fsync(descriptor)
    data, times, offset = bytes(size), [], 0
    for _ in range(count):
        began = time.perf_counter()
        os.pwrite(descriptor, data, offset)
        os.fdatasync(descriptor)
        times.append(time.perf_counter() - began)
        offset = (offset + size) % (3 << 20)
    os.close(descriptor)
    return times


def show(what, value, limit, least):
    good = value >= limit if least else value <= limit
    print(f"{what:<66} {value:8.2f}  ({'at least' if least else 'at most'} {limit}){'' if good else '  BEYOND'}", flush=True)
    if not good:
        over.append(what)


try:
    subprocess.run([str(build / "net_keys"), str(keys), "a"], check=True)
    rates = {}
    for connections, limit in ((100, 0.6), (1000, 1.0), (10000, 0.9)):
        requests = {100: 400, 1000: 100, 10000: 100 if not quick else 30}[connections]
        best_cloud = best_redis = 0
        for _ in range(repeats if connections < 10000 else max(1, repeats // 2)):
            with Redis() as redis:
                best_redis = max(best_redis, load("redis", redis.port, connections, 1, requests))
            best_cloud = max(best_cloud, cloud(connections, 1, requests)[0])
        rates[connections] = best_cloud
        print(f"N = {connections}: {best_cloud:.0f} exchanges/s, redis {best_redis:.0f}")
        show(f"exchanges a second against redis, N = {connections}", best_cloud / best_redis, limit, True)
    show("thousands of exchanges a second at N = 100", rates[100] / 1000, 40 * 970 / 1000, True)

    bare = max(cloud(10, 1, 1000, "none")[0] for _ in range(repeats))
    whole, commits = [], []
    appends = []
    for _ in range(repeats):
        appends.append(sum(append_microseconds(260)) / 400 * 1e6)
        rate, commit, _ = cloud(10, 1, 1000)
        whole.append(1e6 * 10 / rate)
        commits.append(commit)
    ping = 1e6 * 10 / bare
    print(f"N = 10: round {min(whole):.0f} us, ping-pong {ping:.0f}, append {min(appends):.0f}, commit {min(commits):.0f}")
    show("a round at N = 10 against ping-pong and append", min(whole) / (ping + min(appends)), 1.35, False)
    show("a commit at N = 10 against append and fdatasync", min(commits) / min(appends), 1.6, False)
    gateway = max(cloud(1, 10, 2000, "none")[0] for _ in range(repeats))
    show("a gateway of ten against ten connections, without the disk", gateway / bare, 5, True)
    durable = max(cloud(1, 10, 2000)[0] for _ in range(repeats))
    print(f"with the disk: gateway {durable:.0f}, ten connections {10e6 / min(whole):.0f} exchanges/s")
    show("KiB of the cloud's memory for an idle agent, N = 10000", cloud(10000, 1, 2)[2], 28, False)
finally:
    shutil.rmtree(work, ignore_errors=True)
sys.exit(1 if over else 0)
