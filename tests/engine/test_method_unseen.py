"""A handful of problems of random_problems.py, through the command; script/soak takes many. The method `tacit`, with one
epsilon for everything that anyone sees, must do better than the published one with an epsilon for each system and the
best of several steps. Everything comes from seeds: the numbers are always the same."""

import unittest
import warnings

import compare_methods


class Unseen(unittest.TestCase):
    def test_problems_are_solved_better_than_by_the_published_method(self):
        warnings.simplefilter("ignore")  # scipy's, about bounds
        table = compare_methods.judge((1, 9, 13, 14), seeds=3, rounds=500, steps=(1, 10))
        for seed, mechanism, x, mu in table.lines:
            self.assertLess(x, 1, f"problem {seed}, {mechanism}")
            self.assertLess(mu, 1.5, f"problem {seed}, {mechanism}")
        self.assertLess(table.mean(2), 0.2)
        self.assertLess(table.mean(3), 0.5)


if __name__ == "__main__":
    unittest.main()
