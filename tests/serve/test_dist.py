"""What is shipped for operators fits the command: the units give options that exist, settings that the units read are
explained in the examples, and the manual names no option that no command has."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

source = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
binary = pathlib.Path(os.environ["TACIT_BINARY_DIR"])
tacit = os.environ["TACIT"]
OTHERS = {"--now", "--install"}  # of systemctl and cmake
PERSONS = r"--(after-restore|new-run|disbelieve|insecure)"


def options_of(command):
    done = subprocess.run([tacit, command, "--help"], capture_output=True, text=True, timeout=60, check=True)
    return set(re.findall(r"--[a-z][a-z-]*", done.stdout))


def unit(name):
    """The lines of a unit with continued ones put together, as (section, key, value)."""
    text = (binary / "dist" / f"tacit-{name}@.service").read_text().replace("\\\n", " ")
    section, entries = None, []
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            key, value = line.split("=", 1)
            entries.append((section, key, value))
    return entries


class Dist(unittest.TestCase):
    def test_units_start_the_installed_command_with_options_that_it_has(self):
        for name in ("serve", "agent"):
            started = [value for section, key, value in unit(name) if key == "ExecStart"]
            self.assertEqual(len(started), 1)
            words = started[0].split()
            self.assertTrue(os.path.isabs(words[0]) and words[0].endswith("/tacit"))
            self.assertEqual(words[1], name)
            used = {word for word in words if word.startswith("--")}
            self.assertLessEqual(used, options_of(name))

    def test_decisions_of_a_person_are_in_no_unit_and_no_example(self):
        for file in (*(source / "dist").glob("*.in"), *(source / "dist").glob("*.env")):
            for line in file.read_text().splitlines():
                if not line.startswith("#"):
                    self.assertNotRegex(line, PERSONS)

    def test_units_do_not_try_again_where_that_cannot_help(self):
        for name in ("serve", "agent"):
            settings = {key: value for _, key, value in unit(name)}
            self.assertEqual(settings["Restart"], "on-failure")
            self.assertEqual(settings["RestartPreventExitStatus"], "1 2")
            self.assertIn("StartLimitBurst", settings)

    def test_units_are_told_by_the_process_and_can_hear_it(self):
        for name in ("serve", "agent"):
            settings = {key: value for section, key, value in unit(name) if section == "Service"}
            self.assertEqual((settings["Type"], settings["NotifyAccess"]), ("notify", "main"))
            self.assertIn("AF_UNIX", settings["RestrictAddressFamilies"].split())
            self.assertRegex(settings["WatchdogSec"], r"^\d+min$")
            self.assertRegex(settings["TimeoutStartSec"], r"^\d+min$")
            self.assertRegex(settings["MemoryMax"], r"^\d+G$")

    def test_a_reload_asks_whether_the_keys_are_good_before_it_asks_the_cloud(self):
        for party in ("serve", "agent"):
            reload = [value for _, key, value in unit(party) if key == "ExecReload"]
            self.assertEqual(len(reload), 2)
            self.assertRegex(reload[0], r"/tacit keys check \$\{TACIT_KEYS\}$")
            self.assertTrue(reload[1].endswith("kill -HUP $MAINPID"))

    @unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd to ask")
    def test_units_are_what_systemd_understands(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("serve", "agent"):
                path = pathlib.Path(folder, f"tacit-{name}@.service")
                path.write_text((binary / "dist" / path.name).read_text())
                done = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True, timeout=300)
                said = [line for line in done.stderr.splitlines() if path.name in line and "is not executable" not in line]
                self.assertEqual(said, [])

    def test_an_agents_answer_goes_to_its_own_folder_and_not_to_the_log(self):
        settings = {key: value for section, key, value in unit("agent") if section == "Service"}
        self.assertIn("--answer ${STATE_DIRECTORY}/answer.json", settings["ExecStart"])

    def test_units_keep_states_and_keys_to_their_process(self):
        wanted = {"LimitCORE": "0", "MemorySwapMax": "0", "NoNewPrivileges": "yes", "ProtectSystem": "strict",
                  "PrivateTmp": "yes", "UMask": "0077", "StateDirectoryMode": "0700", "MemoryDenyWriteExecute": "yes",
                  "CapabilityBoundingSet": "", "SystemCallArchitectures": "native"}
        for name in ("serve", "agent"):
            settings = {key: value for section, key, value in unit(name) if section == "Service"}
            self.assertEqual({key: settings.get(key) for key in wanted}, wanted)

    def test_the_ledger_that_the_examples_name_lies_where_the_unit_may_write_and_outside_of_the_run(self):
        settings = {key: value for section, key, value in unit("serve") if section == "Service"}
        folders = settings["StateDirectory"].split()
        state, = re.findall(r"--state /var/lib/(\S+)", settings["ExecStart"])
        self.assertEqual(folders, [state, "tacit-ledger"])
        for path in ("docs/operations.md", "dist/serve.env"):
            ledgers = re.findall(r"--ledger /var/lib/([\w/-]+)/NAME", (source / path).read_text())
            self.assertEqual(set(ledgers), {"tacit-ledger"}, path)

    def test_settings_that_a_unit_reads_are_explained(self):
        for name in ("serve", "agent"):
            read = set(re.findall(r"\$\{?(TACIT_\w+)", " ".join(value for _, _, value in unit(name))))
            example = (source / "dist" / f"{name}.env").read_text()
            explained = set(re.findall(r"^#?(TACIT_\w+)=", example, re.MULTILINE))
            self.assertEqual(read, explained)

    def test_the_manual_and_the_examples_name_options_that_exist(self):
        commands = ("serve", "agent", "keys", "split", "plan")
        known = OTHERS.union(*map(options_of, commands))
        for path in ("docs/operations.md", "dist/serve.env", "dist/agent.env"):
            named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", (source / path).read_text()))
            self.assertEqual(named - known, set(), path)


if __name__ == "__main__":
    unittest.main()
