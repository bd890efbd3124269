"""script/bootstrap installs what is missing and nothing else. Debian's tools are played by small scripts."""
# labels: once
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = os.environ["TACIT_SOURCE_DIR"] + "/script/bootstrap"
LIBRARIES = ["libc6-dev", "libssl-dev", "libevent-dev", "libsqlite3-dev", "pkgconf", "liburing-dev"]


class Bootstrap(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.log = pathlib.Path(self.place.name, "log")
        self.log.touch()
        for tool in ("sh", "env", "cat", "grep"):
            os.symlink(shutil.which(tool), pathlib.Path(self.place.name, tool))
        self.tool("id", "echo 0")

    def tool(self, name, text):
        path = pathlib.Path(self.place.name, name)
        path.write_text("#!/bin/sh\n" + text + "\n")
        path.chmod(0o755)

    def debian(self, installed, apt_get="exit 0"):
        cases = "".join(f"{package}) printf 'installed ';;\n" for package in installed)
        # dpkg-query answers "not-installed" for a package that was removed, and fails for one it never met.
        self.tool("dpkg-query", f'case "$4" in\n{cases}removed) printf "not-installed ";;\n*) exit 1;;\nesac')
        self.tool("apt-get", f'echo "$@" >>{self.log}\n{apt_get}')

    def run_script(self, *arguments):
        return subprocess.run([SCRIPT, *arguments], env={"PATH": self.place.name}, capture_output=True, text=True)

    def test_nothing_missing_means_nothing_said_and_nothing_done(self):
        self.tool("cc", "")
        self.debian(["cmake", "ninja-build", *LIBRARIES])
        done = self.run_script()
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(self.log.read_text(), "")

    def test_only_what_is_missing_is_installed(self):
        self.debian(["cmake", *LIBRARIES])
        done = self.run_script()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("installing gcc ninja-build", done.stderr)
        self.assertEqual(self.log.read_text().splitlines(), ["install -y -qq --no-install-recommends gcc ninja-build"])

    def test_a_build_does_not_ask_for_what_only_tests_need(self):
        self.debian([])
        self.run_script()
        self.assertNotIn("cmocka", self.log.read_text())
        self.run_script("--test")
        for package in ("libcmocka-dev", "clang", "libmpfr-dev", "python3-scipy", "chromium", "prometheus", "postgresql",
                        "libpq-dev"):
            self.assertIn(package, self.log.read_text())

    def test_the_python_package_has_a_list_of_its_own(self):
        self.debian([])
        self.run_script()
        self.assertNotIn("python3", self.log.read_text())
        self.run_script("--python")
        for package in ("python3-cffi", "python3-setuptools", "python3-dev", "python3-numpy", "python3-venv"):
            self.assertIn(package, self.log.read_text())
        self.assertNotIn("pytest", self.log.read_text())

    def test_a_service_is_not_installed_for_a_tool_that_is_there(self):
        self.tool("promtool", "")
        self.debian([])
        self.run_script("--test")
        self.assertNotIn("prometheus", self.log.read_text())
        self.assertIn("chromium", self.log.read_text())

    def test_old_package_lists_are_refreshed_once(self):
        self.debian([], apt_get=f'[ "$1" = update ] && exit 0\ngrep -q update {self.log}')
        done = self.run_script()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line.split()[0] for line in self.log.read_text().splitlines()], ["install", "update", "install"])

    def test_a_failed_installation_is_reported(self):
        self.debian([], apt_get="exit 100")
        done = self.run_script()
        self.assertEqual(done.returncode, 3)
        self.assertIn("could not install: gcc cmake", done.stderr)

    def test_without_root_and_sudo_it_says_what_to_type(self):
        self.debian([])
        self.tool("id", "echo 1000")
        done = self.run_script()
        self.assertEqual(done.returncode, 3)
        self.assertIn("apt-get install gcc cmake", done.stderr)

    def test_with_sudo_it_uses_it(self):
        self.debian([])
        self.tool("id", "echo 1000")
        self.tool("sudo", f'echo sudo >>{self.log}\nexec "$@"')
        self.assertEqual(self.run_script().returncode, 0)
        self.assertEqual(self.log.read_text().splitlines()[0], "sudo")

    def test_another_system_is_told_what_is_needed(self):
        done = self.run_script()
        self.assertEqual(done.returncode, 3)
        self.assertIn("not a Debian system, and I do not find: cc cmake ninja", done.stderr)
        for tool in ("cc", "cmake", "ninja"):
            self.tool(tool, "")
        done = self.run_script()
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
