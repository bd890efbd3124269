"""Floods of every kind, one after the other, while ten agents run: rounds go on with a tenth of the quiet pace at least,
and the status page is there within a second; three where its own port is flooded with requests. For script/soak: its
verdicts depend on the machine's speed.

    soak_floods.py [SECONDS]        of each kind; 6 by default"""

import json
import os
import pathlib
import subprocess
import sys
import threading
import time

import town
from parties import Parties

FLOOD = pathlib.Path(os.environ.get("TACIT_BINARY_DIR", "build/release")) / "tacit_flood"
KINDS = ["hello", "half", "churn", "updates", "empty", "warnings", "fragments", "names", "refused", "deaf", "silent", "http",
         "trickle"]
AGENTS, FLOODERS, LEAST, MOST_SECONDS = 10, 2, 0.1, 1.0
# Pages have a bounded share of the loop's time: whoever asks for more fills the system's queue, and a reader who finds it full
# knocks again after a second.
MOST_AT_FLOODED_PORT = 3.0


class Watch(threading.Thread):
    """Asks for the status page again and again."""

    def __init__(self, parties):
        super().__init__(daemon=True)
        self.parties, self.longest, self.is_over, self.error, self.count = parties, 0.0, False, None, 0

    def run(self):
        while not self.is_over:
            began = time.monotonic()
            try:
                town.page(self.parties.http_port, "status")
            except OSError as error:
                self.error = error
            self.longest, self.count = max(self.longest, time.monotonic() - began), self.count + 1
            time.sleep(0.1)


def memory(process):
    lines = pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def pace(parties, seconds):
    first, began = town.round_of(parties), time.monotonic()
    time.sleep(seconds)
    return (town.round_of(parties) - first) / (time.monotonic() - began)


def flooded(parties, kind, keys, seconds):
    port = parties.http_port if kind in ("http", "trickle") else parties.port
    watch = Watch(parties)
    peers = [subprocess.Popen([FLOOD, kind, str(port), keys, str(seconds + 1)], stdout=subprocess.PIPE, text=True)
             for _ in range(FLOODERS)]
    time.sleep(0.5)
    watch.start()
    found = pace(parties, seconds)
    watch.is_over = True
    said = [peer.communicate(timeout=30)[0].strip() for peer in peers]
    watch.join(10)
    if watch.error is not None:
        raise AssertionError(f"{kind}: the status page: {watch.error}")
    return found, watch.longest, "; ".join(said)


def main():
    seconds, bad = float(sys.argv[1]) if len(sys.argv) > 1 else 6.0, []
    with Parties(town.problem(AGENTS), options=town.options(100_000_000)) as p:
        gate = p.issue([f"home[{i}]" for i in range(1000)], together="gate")
        p.issue(["stranger"])
        p.start_cloud("--log", "json", "--durability", "process", seed=town.SEED, trace=False)
        p.start_agents(trace=False, json=False)
        town.await_event(p.cloud, "complete", 30)
        time.sleep(1)
        quiet = pace(p, seconds)
        print(f"{'quiet':10} {quiet:8.0f} rounds a second", flush=True)
        for kind in KINDS:
            found, longest, said = flooded(p, kind, gate if kind == "names" else p.key_folders["stranger"], seconds)
            good = found >= LEAST * quiet and longest <= (MOST_AT_FLOODED_PORT if kind == "http" else MOST_SECONDS)
            print(f"{kind:10} {found:8.0f} rounds a second, {found / quiet:5.2f} of the quiet pace; status in {longest:.3f} s; "
                  f"{memory(p.cloud):.0f} MiB; {said}{'' if good else '   TOO LITTLE'}", flush=True)
            bad += [] if good else [kind]
        left = {line["agent"] for line in town.events(p.cloud, "left")}
        if left:
            bad.append(f"agents were lost: {left}")
        time.sleep(12)
        print(f"afterwards {pace(p, 2):8.0f} rounds a second; {memory(p.cloud):.0f} MiB; "
              f"{json.loads(town.page(p.http_port, 'status'))['enrolled']} agents")
        p.cloud.stop()
    if bad:
        sys.exit(f"floods: {bad}")


if __name__ == "__main__":
    main()
