"""The same as test_baseline, for a thousand homes."""
# labels: once long
import unittest

import test_baseline


class Ev(test_baseline.Judged):
    def test_ev(self):
        self.judged("ev", test_baseline.ev)


if __name__ == "__main__":
    unittest.main()
