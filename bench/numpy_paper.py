"""The paper's problem (examples/paper.tacit) in NumPy with NumPy's own generator. Prints nanoseconds per round, of
processor time, the best of some repeats.

    numpy_paper.py plain|vectorised laplace|gaussian [ROUNDS [REPEATS]]

plain: agent by agent, as the problem is stated: each has its own objective, its own block of the Jacobian and its own
set. vectorised: the ten agents forced into one array by hand, with all that does not change computed before the clock
starts and noise drawn for thousands of rounds at once. Both are less than the engine does: no lattice, no exact
sampling, no key for each round. The scales are those of the published constants."""

import sys
import time

import numpy as np

STYLE, LAW = sys.argv[1:3]
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
REPEATS = int(sys.argv[4]) if len(sys.argv) > 4 else 3
AGENTS, STATES, CONSTRAINTS, BATCH = 10, 20, 6, 1000
EPSILON, KAPPA, DUAL_RADIUS = np.log(2), 3.559, 466.7


def of(agent, component):
    return 2 * (agent - 1) + component - 1


# f: ones on agents 1, 4, 6, 7, 9; |x - w|^2 on 2, 3, 8; |x - w|^4 on 5, 10
linear = np.zeros(STATES)
quadratic = np.zeros(STATES)
target = np.zeros(STATES)
for agent in (1, 4, 6, 7, 9):
    linear[[of(agent, 1), of(agent, 2)]] = 1
for agent, w in ((2, (0, 0)), (3, (-7, 7)), (8, (-7, 0))):
    quadratic[[of(agent, 1), of(agent, 2)]] = 2
    target[[of(agent, 1), of(agent, 2)]] = w
QUARTIC = np.array([of(5, 1), of(5, 2), of(10, 1), of(10, 2)])
QUARTIC_TARGET = np.array([[-3.0, -3.0], [0.0, 8.0]])

# g(x) = squares @ x^2 + plain @ x - limit; its Jacobian is 2 squares x + plain
squares = np.zeros((CONSTRAINTS, STATES))
plain = np.zeros((CONSTRAINTS, STATES))
for row, agents in ((0, (1, 2, 3)), (1, (4, 5, 6)), (2, (7, 8, 9)), (5, (8, 6))):
    for agent in agents:
        squares[row, [of(agent, 1), of(agent, 2)]] = 1
squares[3, [of(1, 1), of(10, 1)]] = 1
plain[3, of(5, 1)] = 1
squares[4, of(4, 2)] = 1
plain[4, [of(7, 1), of(9, 2)]] = 1
limit = np.array([10.0, 50, 50, 50, 20, 30])
twice = 2 * squares

# one scale for every entry of g and of each agent's block of the Jacobian
first, second = ((39.82, 4.0), 2.0) if LAW == "laplace" else ((56.71, np.sqrt(8)), 2.0)
of_agent = np.array([first[1] if agent in (1, 6, 8) else second for agent in range(1, AGENTS + 1)])
scale = np.concatenate([np.full(CONSTRAINTS, first[0]), np.tile(np.repeat(of_agent, 2), CONSTRAINTS)])
scale *= 1 / EPSILON if LAW == "laplace" else KAPPA


def project(mu):
    """Onto the multipliers that are not negative and whose sum is at most the dual radius."""
    mu = np.maximum(mu, 0)
    if mu.sum() <= DUAL_RADIUS:
        return mu
    falling = np.sort(mu)[::-1]
    above = (np.cumsum(falling) - DUAL_RADIUS) / np.arange(1, CONSTRAINTS + 1)
    return np.maximum(mu - above[np.nonzero(falling > above)[0][-1]], 0)


def run_vectorised(rounds, generator):
    draw = generator.laplace if LAW == "laplace" else generator.normal
    x, mu = np.zeros(STATES), np.zeros(CONSTRAINTS)
    k = np.arange(1, rounds + 1, dtype=float)
    gamma, alpha = 0.01 * k**-0.52, 0.1 * k**-0.3
    for start in range(0, rounds, BATCH):
        count = min(BATCH, rounds - start)
        noise = draw(size=(count, len(scale))) * scale
        constraint_noise = noise[:, :CONSTRAINTS] - limit
        jacobian_noise = noise[:, CONSTRAINTS:].reshape(count, CONSTRAINTS, STATES) + plain
        for i in range(count):
            jacobian = twice * x + jacobian_noise[i]
            g = squares @ (x * x) + plain @ x + constraint_noise[i]
            gradient = quadratic * (x - target) + linear
            away = x[QUARTIC].reshape(2, 2) - QUARTIC_TARGET
            gradient[QUARTIC] = (4 * (away * away).sum(axis=1, keepdims=True) * away).ravel()
            step, regularization = gamma[start + i], alpha[start + i]
            ahead = x - step * (gradient + mu @ jacobian + regularization * x)
            mu = project(mu + step * (g - regularization * mu))
            x = np.minimum(np.maximum(ahead, -10), 10)
    return x, mu


def toward(w, power):
    """The gradient of |x - w|^power, power 2 or 4."""
    w = np.array(w, dtype=float)
    if power == 2:
        return lambda x: 2 * (x - w)
    return lambda x: 4 * np.sum((x - w) ** 2) * (x - w)


def ones(x):
    return np.ones(2)


OBJECTIVES = [ones, toward([0, 0], 2), toward([-7, 7], 2), ones, toward([-3, -3], 4), ones, ones, toward([-7, 0], 2)]
OBJECTIVES += [ones, toward([0, 8], 4)]


def run_plain(rounds, generator):
    draw = generator.laplace if LAW == "laplace" else generator.normal
    blocks = [(squares[:, 2 * i : 2 * i + 2], plain[:, 2 * i : 2 * i + 2]) for i in range(AGENTS)]
    agent_scale = scale[CONSTRAINTS : CONSTRAINTS + STATES : 2]
    x, mu = np.zeros((AGENTS, 2)), np.zeros(CONSTRAINTS)
    for k in range(1, rounds + 1):
        step, regularization = 0.01 * k**-0.52, 0.1 * k**-0.3
        g = sum(s @ (xi * xi) + p @ xi for (s, p), xi in zip(blocks, x)) - limit
        g += draw(scale=scale[0], size=CONSTRAINTS)
        ahead = np.empty_like(x)
        for i in range(AGENTS):
            s, p = blocks[i]
            jacobian = 2 * s * x[i] + p + draw(scale=agent_scale[i], size=(CONSTRAINTS, 2))
            slope = OBJECTIVES[i](x[i]) + jacobian.T @ mu + regularization * x[i]
            ahead[i] = np.clip(x[i] - step * slope, -10, 10)
        mu = project(mu + step * (g - regularization * mu))
        x = ahead
    return x.ravel(), mu


def main():
    run = run_plain if STYLE == "plain" else run_vectorised
    best = np.inf
    for repeat in range(REPEATS):
        generator = np.random.default_rng(repeat)
        began = time.thread_time()
        run(ROUNDS, generator)
        best = min(best, (time.thread_time() - began) / ROUNDS)
    print(f"{best * 1e9:.0f}")


main()
