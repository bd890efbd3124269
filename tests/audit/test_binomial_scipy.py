"""Clopper-Pearson bounds against scipy's quantiles of the beta law."""
import os
import random
import subprocess
import sys

from scipy.stats import beta

program = os.path.join(os.environ["TACIT_BINARY_DIR"], "audit_test_binomial")
random.seed(4)
wrong = 0
for _ in range(300):
    n = int(10 ** random.uniform(0, 7))
    k = random.choice([0, n, random.randint(0, n), random.randint(0, min(n, 30))])
    level = 10 ** random.uniform(-12, -0.5)
    out = subprocess.run([program, str(k), str(n), repr(level)], capture_output=True, text=True, check=True).stdout
    lower, upper = map(float, out.split())
    expected = (0.0 if k == 0 else beta.ppf(level, k, n - k + 1), 1.0 if k == n else beta.isf(level, k + 1, n - k))
    for value, reference in zip((lower, upper), expected):
        if not abs(value - reference) <= 2e-6 * abs(reference) + 1e-14:
            wrong += 1
            print(f"k {k} of {n} at {level}: {value!r} is not {reference!r}")
print("300 bounds compared")
sys.exit(1 if wrong else 0)
