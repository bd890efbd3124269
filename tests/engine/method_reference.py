"""The method `tacit` once more, slowly: dense matrices, one round after another, straight from its description.

A problem (method_problems.py) gives its functions and derivatives, written out by hand, and the agents' proximal steps;
observations come from outside: released by the engine, or drawn here. Nothing is shared with the product.

With what is observed written o, inputs of g written z (sums over members, single coordinates), g_j = Phi_j(z):

    y follows o, r settles on it, r^ is r in its box, dy = y - r^
    g_j is measured by its quadratic model at r^ along dy, minus what noise adds to that on the average
    steps come from norms of the Jacobian and of the Hessian at r^, and from the noise that passes through them

Where boxes are unlike, norms are those of states x_c / s_c: J_c s_c and s_c H_cc' s_c'."""

import math

import numpy as np


class Facts:
    """What the cloud knows before the first round; constraints are g_j / S_j and multipliers mu_j S_j from here on."""

    def __init__(self, rounds, box_length, row_scale, radius, weight, start, margin=None, most_stride=1.0, equal=None,
                 hides_every_round=False):
        self.rounds, self.box_length, self.radius = rounds, box_length, radius
        self.hides_every_round = hides_every_round  # the unit of privacy: agent, within, data
        self.most_stride = most_stride  # 25 where margins follow the answer
        self.row_scale = np.array(row_scale, float)
        self.weight = np.array(weight, float)
        self.start = np.array(start, float) * self.row_scale
        self.equal = np.zeros(len(self.row_scale), bool) if equal is None else np.array(equal, bool)
        self.margin = np.zeros(len(self.row_scale)) if margin is None else np.array(margin) / self.row_scale


def weights_of(row_scale):
    """The pull towards zero is the same on every mu_j in the units of the file, and 4 on the smallest row."""
    row_scale = np.array(row_scale, float)
    return 4 * np.min(row_scale) ** 2 / row_scale**2 if len(row_scale) else row_scale


def radius_of(problem, row_scale):
    """mu . (-g(xbar)) <= sum_i F_i, so the sum of mu_j S_j is at most this."""
    if problem.radius is not None:
        return problem.radius * np.max(row_scale)
    slack = -problem.constraints(problem.slater) / row_scale
    return sum(problem.gaps) / np.min(slack)


def scales_of(problem):
    """s_c: the power of two nearest to a box's width as a part of the widest; 1 where none is below a fourth of it."""
    width = problem.upper - problem.lower
    if max(width) <= 4 * min(width):
        return np.ones(problem.n)
    return np.exp2(np.round(np.log2(width / max(width))))


def box_length_of(problem):
    return np.linalg.norm((problem.upper - problem.lower) / scales_of(problem)) / 6


def multiples_of(problem):
    """Groups of rows that are multiples of one function, with their factors: seen by values at a dozen points. Inequalities
    have factors of one sign."""
    random = np.random.default_rng(5)
    points = random.uniform(problem.lower, problem.upper, (12, problem.n))
    values = np.array([problem.constraints(x) for x in points]).T
    groups, left = [], list(range(len(values)))
    while left:
        first = left[0]
        factor = {j: values[j] @ values[first] / (values[first] @ values[first]) for j in left}
        alike = [j for j in left if problem.equal[j] == problem.equal[first] and (problem.equal[j] or factor[j] > 0)
                 and np.allclose(values[j], factor[j] * values[first], rtol=1e-7, atol=1e-9 * np.max(np.abs(values[j])))]
        left = [j for j in left if j not in alike]
        if len(alike) > 1:
            groups.append((alike, np.array([factor[j] for j in alike])))
    return groups


def onto_multipliers(v, radius, equal):
    """The nearest point of { |mu|_1 <= radius, mu_j >= 0 but of equalities }."""
    return np.where(equal, np.sign(v), 1) * onto_simplex_below(np.where(equal, np.abs(v), v), radius)


def onto_simplex_below(v, radius):
    """The nearest point of { mu >= 0, sum mu <= radius }."""
    positive = np.maximum(v, 0)
    if not np.sum(positive) > radius:
        return positive
    ordered = np.sort(v)[::-1]
    for count in range(len(v), 0, -1):
        level = (math.fsum(ordered[:count]) - radius) / count
        if ordered[count - 1] > level:
            return np.maximum(v - level, 0)
    return np.zeros(len(v))


# ---- what is seen of the inputs ------------------------------------------------------------------------------------


class Seen:
    """All inputs at r^. gradient[s] = b_s', hessian[s] = b_s'' (None: zero); the rest by input."""

    def __init__(self, scales, value, gradient, hessian, shift, curve, trace, noise):
        self.value, self.gradient, self.hessian = value, gradient, hessian
        self.shift, self.curve, self.trace, self.noise = shift, curve, trace, noise
        self.norm1 = np.abs(gradient) @ scales
        self.norm2 = gradient**2 @ scales**2


def see_states(problem, variance, settled, dy):
    value, gradient, hessian = problem.inputs(settled)
    curve, trace = np.zeros(len(value)), np.zeros(len(value))
    for s, h in enumerate(hessian):
        if h is not None:
            curve[s] = dy @ h @ dy
            trace[s] = variance @ np.diag(h)
    return Seen(scales_of(problem), value, gradient, hessian, gradient @ dy, curve, trace, gradient**2 @ variance)


def see_forms(scales, forms, variance, settled, dy):
    zero = np.zeros(len(forms))
    return Seen(scales, settled.copy(), forms, [None] * len(forms), dy.copy(), zero, zero, variance)


def row_sums(matrix):
    """Diagonal plus sizes of the rest: no eigenvalue exceeds the largest sum."""
    diagonal = np.diag(matrix)
    return diagonal + np.sum(np.abs(matrix - np.diag(diagonal)), axis=1)


# ---- the cloud -----------------------------------------------------------------------------------------------------


class Cloud:
    """placement: "states", "forms" (the inputs of g are observed, all affine) or "outputs" (g is, all affine)."""

    def __init__(self, problem, facts, placement, variance):
        self.problem, self.facts, self.placement = problem, facts, placement
        self.scales = scales_of(problem)
        self.variance = np.array(variance, float)
        if placement == "states":
            self.lower, self.upper = problem.lower, problem.upper
        else:
            self.forms, offset = problem.affine(placement)
            up, down = np.maximum(self.forms, 0), np.minimum(self.forms, 0)
            self.lower = up @ problem.lower + down @ problem.upper + offset
            self.upper = up @ problem.upper + down @ problem.lower + offset
        self.y = np.zeros(len(self.variance))
        self.r = np.zeros(len(self.variance))
        self.mu = onto_multipliers(facts.start, facts.radius, facts.equal)
        self.average = np.zeros(len(self.mu))
        self.primal_weight = 1e-3 * facts.radius / facts.box_length
        self.least_weight = 1e-4 * self.primal_weight
        self.fast, self.filter_variance = 1.0, 0.0
        self.k = self.origin = 0
        self.length = self.next = 8
        self.energy_before = 0.0
        self.begin_epoch()
        self.columns = None
        self.multiples = multiples_of(problem)

    def begin_epoch(self):
        self.count = 0
        self.epoch_mean = np.zeros(len(self.mu))
        self.epoch_noise = np.zeros(len(self.mu))
        self.epoch_held = np.zeros(len(self.mu))

    def observe(self, o):
        """Filters; what is never released (NAN) stays zero, and has no weight."""
        o = np.where(np.isnan(o), 0, o)
        self.filter_variance = (1 - self.fast) ** 2 * self.filter_variance + self.fast**2
        self.y = self.y + self.fast * (o - self.y)
        self.r = self.r + min(1.0, 3 / (self.k + 2)) * (o - self.r)
        self.settled = np.clip(self.r, self.lower, self.upper)
        dy = self.y - self.settled
        if self.placement == "states":
            return see_states(self.problem, self.variance, self.settled, dy)
        return see_forms(self.scales, self.forms, self.variance, self.settled, dy)

    def rows(self, z):
        """Phi, Phi', Phi'' of the scaled constraints; observed constraints are their own inputs."""
        if self.placement == "outputs":
            m = len(self.mu)
            value, first, second = z, np.eye(m), [None] * m
        else:
            value, first, second = self.problem.outer(z)
        scale = self.facts.row_scale
        return value / scale, first / scale[:, None], [None if h is None else h / s for h, s in zip(second, scale)]

    def measure(self, seen, value, first, second):
        vy = self.filter_variance
        g = value + first @ (seen.shift + (seen.curve - vy * seen.trace) / 2)
        for j, h in enumerate(second):
            if h is not None:
                g[j] += (seen.shift @ h @ seen.shift - vy * (np.diag(h) @ seen.noise)) / 2
        return g + self.facts.margin

    def mixed(self, second, mu, count):
        out = np.zeros((count, count))
        for j, h in enumerate(second):
            if h is not None:
                out += mu[j] * h
        return out

    def column_facts(self, seen, first, mixed, mu):
        """Over coordinates c: largest column sum of the Jacobian, largest row sum of the Hessian's part that is local to
        members and pairs of coordinates, and the noise that passes through that part; all by scaled states."""
        s = self.scales
        reach = np.sum(np.abs(first), axis=0) @ np.abs(seen.gradient) * s
        local = np.zeros((self.problem.n, self.problem.n))
        for i, h in enumerate(seen.hessian):
            if h is not None:
                local += (mu @ first[:, i]) * h
        noise = s**2 @ (local**2 @ self.variance) if self.placement == "states" else 0.0
        among = mixed * self.pairs(len(mixed))
        of_input = seen.gradient @ s  # a coordinate's gradient is its unit vector
        noise += of_input**2 @ (among**2 @ seen.noise)
        row = row_sums(np.outer(s, s) * local) + row_sums(np.outer(of_input, of_input) * among) @ seen.gradient
        return max(reach, default=0), max(0, max(row)), noise

    def pairs(self, count):
        """Which pairs of inputs are both single coordinates."""
        if self.placement == "outputs":
            return np.zeros((count, count), bool)
        return np.outer(self.problem.single, self.problem.single)

    def beyond(self, seen, mixed):
        """What pairs of inputs that are not both coordinates add to the Hessian's largest eigenvalue, and to noise."""
        rest = mixed * ~self.pairs(len(mixed))
        size = np.sqrt(np.outer(seen.norm2, seen.norm2))
        off = np.abs(rest) * size
        low = np.sum(np.maximum(0, np.diag(rest)) * seen.norm2) + np.sum(off) - np.trace(off)
        return low, np.sum(rest**2 * np.outer(seen.norm2, seen.noise))

    def round(self, observation):
        """Returns p, step and regularization of round k."""
        self.k += 1
        k, facts, mu = self.k, self.facts, self.mu
        seen = self.observe(observation)
        value, first, second = self.rows(seen.value)
        g = self.measure(seen, value, first, second)
        row_variance = first**2 @ seen.noise
        old = self.mixed(second, mu, len(seen.value))
        low, beyond_noise = self.beyond(seen, old)
        if self.columns is None:
            self.columns = self.column_facts(seen, first, old, mu)
        reach, curvature, noise = self.columns
        reaches = np.abs(first) @ seen.norm1
        longest = max(reaches, default=0)
        stride = self.strides(reaches)
        N = max(0.1, math.sqrt(reach * longest))
        L, spread = curvature + low, float(stride @ row_variance)
        if k == 1:
            self.primal_weight = self.first_weight(N, spread)
        om = self.primal_weight
        d, om_now = self.shortened(om, N, L, noise + beyond_noise, spread)
        step, dual_step = 0.9 * d / (N * om_now + L), 0.9 * d * om_now / N
        a = max(0.0, 1 - k / (0.4 * facts.rounds)) ** 2 / (k + 4)
        lead = 1 + 2 * (1 - self.fast) / self.fast
        self.fast = min(1.0, max(d / 3, 2 / (k + 2)))
        new = onto_multipliers((mu + dual_step * stride * g) / (1 + a * stride * facts.weight), facts.radius, facts.equal)
        ahead = new + lead * (new - mu)
        self.epoch_noise += dual_step**2 * stride * row_variance
        self.mu = new
        fresh = self.mixed(second, new, len(seen.value))
        p = self.prices(seen, first, fresh, ahead, new)
        self.columns = self.column_facts(seen, first, fresh, new)
        self.end_round(d, stride, g, row_variance)
        self.average += min(1.0, 3 / (k + 2)) * (self.mu / facts.row_scale - self.average)
        return p, step, a / step

    def first_weight(self, N, spread):
        """Omega of round 1: lower where noise hides the whole box, higher where it leaves short steps."""
        facts, om = self.facts, self.primal_weight
        doubt = 1.8 * spread / facts.rounds / facts.box_length**2
        if doubt <= 0:
            return om
        om = min(om, om / doubt)
        if math.isinf(facts.radius):
            return om
        until = facts.rounds / 4
        start = 1.2 * facts.box_length * N / 0.9 / math.sqrt(spread)  # noise alone lets steps be start/sqrt(k), at most 1
        if start**2 >= until:
            return om
        in_all = start**2 + 2 * start * math.sqrt(until) - 2 * start**2
        return max(om, 0.04 * facts.radius / facts.box_length / (0.9 * in_all) / (1 + 4 * doubt))

    def shortened(self, om, N, L, price_noise, spread):
        """d, and omega as the steps of this round have it: their product falls with noise."""
        facts, k = self.facts, self.k
        through_prices, through_rows = (0.9 / (N * om + L)) ** 2 * price_noise, (0.9 / N) ** 2 * spread
        if through_prices + through_rows <= 0:
            return 1.0, om
        share = through_rows / (through_prices + through_rows) * (N * om / (N * om + L)) ** 2
        whole = min(1.0, 1.2 * facts.box_length / math.sqrt((through_prices + through_rows) * (k - self.origin)))
        if not facts.hides_every_round and k > 0.15 * facts.rounds:
            whole -= whole * share * (1 - whole**4) * (1 - 0.15 * facts.rounds / k)
        d = 1 / ((1 - share) / whole + share / whole**0.25)
        return d, om * whole / d

    def prices(self, seen, first, mixed, ahead, mu):
        """J(r^)' of the multipliers ahead, plus the Hessian of sum mu_j g_j along dy."""
        p = seen.gradient.T @ (first.T @ ahead + mixed @ seen.shift)
        for s, h in enumerate(seen.hessian):
            if h is not None:
                p = p + (mu @ first[:, s]) * (h @ (self.y - self.settled))
        return p

    def strides(self, reaches):
        """A row's dual step as a multiple of that of the row with the largest reach."""
        most = self.facts.most_stride if self.k >= 8 else 1.0
        return np.array([min(most, max(reaches) / r) if r > 0 else most for r in reaches])

    def end_round(self, d, stride, g, row_variance):
        self.count += 1
        self.epoch_held += (g - self.epoch_held) / self.count
        self.epoch_mean += (self.mu / np.sqrt(stride) - self.epoch_mean) / self.count
        if self.k != self.next:
            return
        mean, noise, X, om = self.epoch_mean, self.epoch_noise, self.facts.box_length, self.primal_weight
        energy = np.sum(mean**2)
        sure = np.sum(np.maximum(0, mean**2 - 4 * noise))
        at_most = math.sqrt(np.sum((np.abs(mean) + 0.5 * np.sqrt(noise)) ** 2)) / X
        climbs = energy > 2 * self.energy_before
        settled = self.has_settled(energy, np.sqrt(row_variance / self.count))
        self.energy_before = energy
        early, grew = self.k <= 0.75 * self.facts.rounds, False
        if early:
            wish = math.sqrt(sure) / X * (3 if climbs else 0.3 if settled else 1)
            fits = sure > 0 and wish <= 2 * om
            if not fits and energy < 25 * np.sum(noise) and self.is_over(row_variance):
                wish = max(wish, min(om * (16 if om < 100 * self.least_weight else 4), self.facts.radius / X))
            if wish > 2 * om:
                grew = True
                self.origin = self.k - math.floor((self.k - self.origin) * (om / wish) ** 2)
                self.primal_weight = wish
            elif sure > 0:
                self.primal_weight = max(om / 2, wish)
            elif np.all(np.where(self.facts.equal,
                                 (np.abs(mean) <= 0.7 * np.sqrt(noise)) &
                                 (np.abs(self.epoch_held) <= np.sqrt(row_variance / self.count)),
                                 self.epoch_held + np.sqrt(row_variance / self.count) <= 0)):
                if self.origin > 0:  # it grew once
                    self.primal_weight = om / 2 if om / 2 >= self.least_weight else om
                elif om / 16 >= self.least_weight:
                    self.primal_weight, self.mu = om / 16, self.mu / 16
            elif settled and math.sqrt(energy) / X * 0.3 < om:
                self.primal_weight = max(om / 2, math.sqrt(energy) / X * 0.3)
            elif d == 1:
                self.primal_weight = min(om, max(om / 2, at_most))
        if not grew and not (climbs and early and energy > 0):
            self.length *= 2
        self.next = self.k + self.length
        self.begin_epoch()

    def has_settled(self, energy, deviation):
        """The mean of mu is as long as in the epoch before, and no constraint is exceeded by more than a deviation."""
        if self.facts.hides_every_round:
            return False
        over = np.where(self.facts.equal, np.abs(self.epoch_held), self.epoch_held)
        return energy < 1.2 * self.energy_before and self.energy_before < 1.2 * energy and not np.any(over > deviation)

    def is_over(self, row_variance):
        """A constraint was exceeded in the epoch, by more than chance makes likely among so many."""
        noisy = row_variance > 0
        if self.facts.hides_every_round or self.k < 0.05 * self.facts.rounds or not np.any(noisy):
            return False
        over = np.where(self.facts.equal, np.abs(self.epoch_held), self.epoch_held)
        return np.max(over[noisy] / np.sqrt(row_variance[noisy] / self.count)) > math.sqrt(2.25 + 2 * math.log(np.sum(noisy)))

    def multipliers(self):
        return self.mu / self.facts.row_scale

    def answer(self):
        """The average; rows that are multiples of one function share it with the least norm."""
        out = self.average.copy()
        for rows, factors in self.multiples:
            out[rows] = factors * (factors @ out[rows]) / (factors @ factors)
        return out


# ---- everybody -----------------------------------------------------------------------------------------------------


class Run:
    """Cloud and agents. round(o) goes from x(k), mu(k) to x(k+1), mu(k+1)."""

    def __init__(self, problem, facts, placement, variance):
        self.problem = problem
        self.cloud = Cloud(problem, facts, placement, variance)
        self.x = problem.start.copy()
        self.average = np.zeros(problem.n)

    def observed(self):
        """Without noise."""
        if self.cloud.placement == "states":
            return self.x.copy()
        forms, offset = self.problem.affine(self.cloud.placement)
        return forms @ self.x + offset

    def round(self, observation):
        p, step, regularization = self.cloud.round(observation)
        self.average += min(1.0, 3 / (self.cloud.k + 2)) * (self.x - self.average)
        self.x = self.problem.proximal(self.x, p, step * self.cloud.scales**2, regularization)
        return p, step, regularization
