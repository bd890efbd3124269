"""The coupling of noise is in tacit-end-to-end alone: neither the command, with which clouds and agents are started, nor the
library has a symbol of it, nor the name of the variable that it reads."""

import os
import pathlib
import subprocess
import unittest

BINARY = pathlib.Path(os.environ["TACIT_BINARY_DIR"])
MARKS = ("coupled_noise", "__wrap_tc_release_add_noise", "__real_tc_release_add_noise")
VARIABLE = b"TACIT_END_TO_END"


def symbols(path, *options):
    done = subprocess.run(["nm", *options, str(path)], capture_output=True, text=True, check=True)
    return done.stdout


class Symbols(unittest.TestCase):
    def test_the_coupling_is_found_where_it_is(self):
        text = symbols(BINARY / "tacit-end-to-end")
        for mark in MARKS[:2]:
            self.assertIn(mark, text)
        self.assertIn(VARIABLE, (BINARY / "tacit-end-to-end").read_bytes())

    def test_it_is_nowhere_else(self):
        products = [BINARY / "tacit", BINARY / "libtacit.a", *BINARY.glob("libtacit.so*")]
        self.assertGreaterEqual(len(products), 3)
        for path in products:
            with self.subTest(path.name):
                text = symbols(path) + symbols(path, "-D") if ".so" in path.name else symbols(path)
                self.assertIn("tc_release_add_noise", text)  # the door itself, as it is: nm has seen something
                for mark in MARKS:
                    self.assertNotIn(mark, text)
                self.assertNotIn(VARIABLE, path.read_bytes())

    def test_no_folder_of_the_command_has_it(self):
        for path in BINARY.glob("libtc_*.a"):
            if path.name != "libtc_worlds.a":
                text = symbols(path)
                for mark in MARKS:
                    self.assertNotIn(mark, text, path.name)


if __name__ == "__main__":
    unittest.main()
