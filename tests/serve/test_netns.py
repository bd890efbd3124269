"""The cloud and its agents on machines of their own, as far as the kernel can play them: network namespaces joined by
virtual cables, small packets, a cable that is pulled, and where the kernel has netem, delay and loss. The same bits.

Needs root and iproute2; says so where it cannot."""
# labels: not-clang

import os
import shutil
import subprocess
import time
import unittest
from unittest import mock

import parties as parties_module
import town
from parties import Parties

LONG = os.environ.get("TACIT_LONG") == "1"
ROUNDS = 3000 if LONG else 300
TACIT = os.environ["TACIT"]


def ip(*words, tool="ip", check=True):
    return subprocess.run([tool, *map(str, words)], capture_output=True, text=True, timeout=120, check=check)


class Machines:
    """A namespace for the cloud, and one for each site, with a cable between. Addresses 10.89.N.1 (cloud) and 10.89.N.2."""

    def __init__(self, sites):
        self.mark = f"tacit{os.getpid()}"
        self.cloud, self.sites, self.made = f"{self.mark}c", [f"{self.mark}s{i}" for i in range(sites)], []
        try:
            self.build()
        except BaseException:
            self.close()
            raise

    def add(self, name):
        ip("netns", "add", name)
        self.made.append(name)
        ip("-n", name, "link", "set", "lo", "up")

    def build(self):
        self.add(self.cloud)
        for i, site in enumerate(self.sites):
            self.add(site)
            ip("-n", self.cloud, "link", "add", f"c{i}", "type", "veth", "peer", "name", "wan", "netns", site)
            for place, device, end in ((self.cloud, f"c{i}", 1), (site, "wan", 2)):
                ip("-n", place, "address", "add", f"10.89.{i}.{end}/24", "dev", device)
                ip("-n", place, "link", "set", device, "mtu", 576, "up")
            ip("-n", site, "route", "add", "default", "via", f"10.89.{i}.1")

    def weather(self, i, *words):
        """Both ends of a cable, with tc netem."""
        for place, device in ((self.cloud, f"c{i}"), (self.sites[i], "wan")):
            ip("-n", place, "qdisc", "replace", "dev", device, "root", "netem", *words, tool="tc")

    def pull(self, i, seconds):
        ip("-n", self.cloud, "link", "set", f"c{i}", "down")
        time.sleep(seconds)
        ip("-n", self.cloud, "link", "set", f"c{i}", "up")

    def close(self):
        for name in self.made:  # cables go with them
            ip("netns", "delete", name, check=False)
        self.made = []


def why_not():
    if os.geteuid() != 0:
        return "namespaces need root"
    if not shutil.which("ip") or not shutil.which("tc"):
        return "there is no iproute2"
    try:
        Machines(1).close()
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        return f"this machine allows no namespaces or virtual cables: {(error.stderr or str(error)).strip()}"
    return None


REASON = why_not()


@unittest.skipIf(REASON is not None, REASON)
class Namespaces(unittest.TestCase):
    def setUp(self):
        self.machines = Machines(3)
        self.addCleanup(self.machines.close)
        self.parties = p = Parties(town.problem(6), options=town.options(ROUNDS))
        self.addCleanup(p.close)
        self.keys = [p.issue(self.of(i), together=f"site{i}") for i in range(3)]

    def of(self, site):
        return [f"a{2 * site + 1}", f"a{2 * site + 2}"]

    def within(self, place):
        """Processes start in that namespace."""
        program = self.parties.folder / f"tacit-{place}"
        program.write_text(f'#!/bin/sh\nexec ip netns exec {place} "{TACIT}" "$@"\n')
        program.chmod(0o755)
        return mock.patch.object(parties_module, "TACIT", program)

    def start(self):
        p = self.parties
        with self.within(self.machines.cloud):
            p.start_cloud("--log", "json", "--listen", "0.0.0.0:0", seed=town.SEED, trace=False)
        for i, site in enumerate(self.machines.sites):
            with self.within(site):
                p.start_agent(*self.of(i), keys=self.keys[i], more=["--cloud", f"10.89.{i}.1:{p.port}"], trace=False)

    def finish(self):
        town.same_bits(self, self.parties, self.parties.finish())

    def test_a_cloud_and_three_sites(self):
        self.start()
        self.finish()

    def test_cables_that_are_pulled(self):
        """For a moment, so that packets are lost; and each site in turn."""
        self.start()
        town.await_event(self.parties.cloud, "complete")
        for i in (0, 2, 1) * (5 if LONG else 1):
            self.assertTrue(self.parties.cloud.is_running())
            self.machines.pull(i, 0.3)
            time.sleep(0.05)
        self.finish()

    def test_delay_and_loss(self):
        for i, words in enumerate((("delay", "5ms", "2ms"), ("loss", "2%"), ("delay", "2ms", "2ms", "reorder", "25%"))):
            try:
                self.machines.weather(i, *words)
            except subprocess.CalledProcessError as error:
                self.skipTest(f"the kernel has no netem: {error.stderr.strip()}")
        self.start()
        self.finish()


if __name__ == "__main__":
    unittest.main()
