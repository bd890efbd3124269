#!/usr/bin/env python3
"""Checks a certificate that `tacit plan --certificate FILE.json` wrote, without the program: with derivatives, intervals, norms
and prices of its own (Python 3.9 or later, and mpmath). docs/certificate.md says what a yes means.

    verify_plan.py FILE.json [--plan HASH]

The exit code is 0 where every number is proved, 1 where one is not (which one is printed), and 2 where the file is no
certificate."""

import argparse
import hashlib
import json
import re
import sys

import interval as I
import norm
import normal
from cover import check_cover
from expression import Malformed, Unprovable
from last import read_last
from model import Model, take
from plan import Plan, Refused
from sensitivity import Sensitivity, View

SLACK = 2.0 ** -40  # relative: both sides round outward, each in its own way
LEVELS = 3  # how hard to try to bound derivatives
FEW_KINDS = 8  # members of a family that are looked at one by one
EXPLICIT = 20000  # entries of a matrix whose norm is looked at as a whole


def more(x):
    return I.mul_up(x, 1 + SLACK)


# ---- reading ----

MEMBERS = ("format", "hash", "model_hash", "views", "plan", "model")


def once(pairs):
    """An object of JSON whose keys all differ: of two values readers may take either."""
    if len(dict(pairs)) != len(pairs):
        raise Malformed(f"a key is there twice among {sorted(key for key, _ in pairs)}")
    return dict(pairs)


def no_number(word):
    raise Malformed(f"'{word}' is no number")


def read(path):
    """The members, and the text of each: hashes are of texts."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as wrong:
        raise Malformed(f"cannot be read: {wrong}") from wrong
    if not text.startswith(('{"format": "tacit certificate 1",\n', '{"format": "tacit certificate 2",\n')):
        raise Malformed("the first line is not that of a certificate")
    decoder = json.JSONDecoder(parse_constant=no_number, object_pairs_hook=once)
    listed, raw, end = {}, {}, 0
    try:
        for key in MEMBERS:
            begin = re.compile(rf'\s*[{{,]\s*"{key}":\s*').match(text, end)
            if begin is None:
                raise Malformed(f"'{key}' is not where it should be")
            listed[key], end = decoder.raw_decode(text, begin.end())
            raw[key] = text[begin.end():end] + "\n"
    except (ValueError, RecursionError) as wrong:
        raise Malformed(f"this is no JSON: {wrong}") from wrong
    if text[end:].strip() != "}":
        raise Malformed("something follows the model")
    return listed, raw


def check_hashes(listed, raw, wanted):
    for key, name in (("plan", "hash"), ("model", "model_hash")):
        found = hashlib.sha256(raw[key].encode()).hexdigest()
        if take(listed, name, str) != found:
            raise Refused(f"{name}: the {key} has the hash {found}, and the file says {listed[name]}: it was changed")
    if wanted is not None and wanted.lower() != listed["hash"]:
        raise Refused(f"the plan's hash is {listed['hash']}, not the one that was asked for")


def read_views(listed, plan, model):
    """Who sees what, and that names fit."""
    views = take(listed, "views", list)
    if len(views) != len(plan.observers):
        raise Malformed("'views' has not one entry for each observer")
    made, covered, kinds = [], set(), []
    for view, observer in zip(views, plan.observers):
        kinds.append(observer.kind)
        if isinstance(view, dict) and list(view) == ["each_of"]:
            f = view["each_of"]
            if type(f) is not int or not 0 <= f < len(model.families):
                raise Malformed("a view names a family that is not there")
            family = model.families[f]
            who = f"each of {family.agent_name(0)} .. {family.agent_name(family.members - 1)}"
            made.append(View(each_of=f))
            covered.add(f)
        else:
            agents = take(view, "agents", list)
            for place in agents:
                if not (isinstance(place, list) and len(place) == 2 and all(type(n) is int for n in place) and
                        0 <= place[0] < len(model.families) and 0 <= place[1] < model.families[place[0]].members):
                    raise Malformed("a view names an agent that is not there")
            who = " + ".join(model.families[f].agent_name(k) for f, k in agents)
            who = {"eavesdropper": "eavesdropper", "status": "status page"}.get(observer.kind, who)
            made.append(View(everything=observer.kind == "eavesdropper", agents=[tuple(p) for p in agents]))
            if observer.kind == "agent" and len(agents) == 1:
                covered.add(tuple(agents[0]))
        fits = sorted(observer.who.split(" + ")) == sorted(who.split(" + "))  # a coalition is named in the order it was asked for
        plan.demand(fits, f"observer '{observer.who}': the view is that of '{who}'")
        plan.demand((observer.kind in ("agent", "coalition")) == bool(made[-1].agents or made[-1].each_of is not None),
                    f"observer '{observer.who}': the view is not that of such an observer")
    for kind in ("eavesdropper", "status"):
        plan.demand(kinds.count(kind) == 1, f"there is not one observer '{kind}'")
    for f, family in enumerate(model.families):
        plan.demand(f in covered or all((f, k) in covered for k in range(family.members)),
                    f"no price is given for what an agent of '{family.name}' sees")
    return made


# ---- prices of one unit of distance, or of one round ----

class Prices:
    def __init__(self, plan, model, sensitivity):
        self.plan, self.model, self.s = plan, model, sensitivity

    def scaled(self, column):
        """The entries divided by their noise."""
        found = {}
        for key, value in column.items():
            channel = self.plan.channel_of(key)
            if channel is None:
                self.plan.demand(value == (0.0, 0.0), f"an entry that varies carries no noise: {key}")
                continue
            found[key] = (I.div_down(value[0], channel.scale), I.div_up(value[1], channel.scale))
        return found

    def scale(self, key):
        channel = self.plan.channel_of(key)
        return None if channel is None else channel.scale

    def of_any(self, view, unit, target):
        """Each of a family: one of every kind stands for all, where there are few kinds; else a bound for any of them."""
        kinds = [g for g in self.s.groups if g.number == view.each_of] if self.s is not None else []
        if not 0 < len(kinds) <= FEW_KINDS:
            return self.at_most(view, unit, target)
        return all(self.at_most(View(agents=[(g.number, g.member)]), unit, target) for g in kinds)

    def at_most(self, view, unit, target):
        """Whether the price is at most the target."""
        if self.plan.placement == "states":
            return all(I.div_up(self.reach(c, unit), c.scale) <= target for c in self.plan.channels)
        ways = (True, False) if len(view.agents) == 1 and self.s.has_slopes else (True,)
        return any(self.at_most_so(view, unit, target, apart) for apart in ways)

    def at_most_so(self, view, unit, target, apart):
        if self.plan.gaussian and unit == "ensemble":
            return self.ensemble(view, target, apart)
        if self.plan.distances is not None:
            return self.within(view, target, apart)
        for _, _, columns in self.s.blocks(view, self.plan.norm, unit == "agent", apart):
            whole = columns[0] if unit == "agent" else None
            columns = [self.scaled(c) for c in columns]
            if whole is not None and whole.cap is not None and whole.together(self.scale, self.plan.gaussian) <= target:
                continue
            if not self.plan.gaussian:
                if any(norm.sum_up(map(I.magnitude, c.values())) > target for c in columns):
                    return False
            elif not norm.at_most([(1, c) for c in columns], target):
                return False
        return True

    def within(self, view, target, apart):
        """Units agent:D and data: the reach of an agent times what a unit of distance costs, or all that it can do."""
        reach, left = self.plan.distances.reach, set()
        for whole in (False, True):
            for group, _, columns in self.s.blocks(view, self.plan.norm, whole, apart):
                far = 1.0 if whole else reach[group.number]
                if reach[group.number] == 0 or (whole and id(group) not in left):
                    continue  # the same in both worlds, or done
                columns, most = [self.scaled(c) for c in columns], I.div_down(target, far)
                if self.plan.gaussian:
                    holds = norm.at_most([(1, c) for c in columns], most)
                else:
                    holds = all(norm.sum_up(map(I.magnitude, c.values())) <= most for c in columns)
                if whole and not holds:
                    return False
                if not holds:
                    left.add(id(group))
            if not left:
                return True
        return True

    def reach(self, channel, unit):
        """How far a state can move, for units of every round all of an agent's in one round."""
        if self.plan.distances is not None:
            return self.plan.distances.reach[channel.family]
        if unit != "agent":
            return 1.0
        family, worst = self.model.families[channel.family], 0.0
        for k in range(channel.first_member, channel.first_member + (channel.members if family.set_varies() else 1)):
            widths, cap = [I.width_up(b) for b in family.box(k)], family.cap(k, self.plan.state_step)
            total = norm.sum_up(I.mul_up(w, w) for w in widths) if self.plan.gaussian else norm.sum_up(widths)
            total = I.sqrt_up(total) if self.plan.gaussian else total
            worst = max(worst, total if cap is None else min(total, cap.reach(self.plan.gaussian)))
        return worst

    # ---- all agents together, l2 ----

    def ensemble(self, view, target, apart):
        made = self.s.blocks(view, 2, False, apart)
        blocks = [(g, w, [self.scaled(c) for c in columns]) for g, w, columns in made]
        size = sum(w * sum(len(c) for c in columns) for _, w, columns in blocks)
        if size <= EXPLICIT and norm.at_most(self.expanded(blocks, view), target):
            return True
        rows = [(w, {k: v for k, v in c.items() if k[0] == "g"}) for _, w, columns in blocks for c in columns]
        square = I.mul_down(target, target)
        curved = self.frobenius(blocks)
        if view.everything:
            shared, own, whole = self.schur(view)
            if whole <= square:
                return True
            curved = min(curved, shared, own)
        rest = I.add_down(square, -curved)
        return rest >= 0 and norm.at_most(rows, I.sqrt_down(rest))

    @staticmethod
    def expanded(blocks, view):
        """Every agent by itself: slopes that are its own, which only an observer of all sees, are rows of their own."""
        columns = []
        for group, weight, made in blocks:
            own = ("J", group.number, group.member)
            for copy in range(weight):
                for c in made:
                    columns.append((1, {(*k, copy) if view.everything and k[0] == "J" and (k[0], k[1], k[4]) == own
                                        else k: v for k, v in c.items()}))
        return columns

    @staticmethod
    def frobenius(blocks):
        return norm.frobenius_square([(w, {k: v for k, v in c.items() if k[0] != "g"})
                                      for _, w, columns in blocks for c in columns])

    def schur(self, view):
        """|A|_2^2 <= max over columns of sum_e |A_ec| R_e, R_e at least the sum of row e: for the slopes, for slopes that only
        their own agent moves, and for all rows."""
        s, scale = self.s, lambda key: self.plan.channel_of(key).scale
        rows, pushed, count, own = {}, {}, {}, {}
        blocks = list(s.blocks(view, 1))
        for group, weight, columns in blocks:
            for c, column in enumerate(columns):
                for key, value in column.items():
                    if key[0] == "g":
                        part = I.mul_up(float(weight), I.magnitude(value))
                        rows[key] = I.add_up(rows.get(key, 0.0), part)
                    else:
                        count[key[1:4]] = count.get(key[1:4], 0.0) + weight
                for place, y in s.couplings(s.touched(group, c, False)).items():
                    part = I.mul_up(float(weight), I.magnitude(y))
                    pushed[place] = I.add_up(pushed.get(place, 0.0), part)
                for b, other, moved in s.slope_moves(group).get(c, []):
                    i = s.model.input_of_sum.get(group.family.sums[b][0])
                    for j in range(len(s.model.rows)):
                        if (j, i) in s.outer[1]:
                            key = (group, j, other)
                            part = I.magnitude(I.mul(s.outer[1][j, i], moved))
                            own[key] = I.add_up(own.get(key, 0.0), part)
        sums = self.slope_row_sums(pushed, count, own)
        worst_curved = worst_own = worst_all = 0.0
        for group, weight, columns in blocks:
            for column in columns:
                constraints = curved = 0.0
                for key, value in column.items():
                    if self.plan.channel_of(key) is None:
                        continue
                    at = I.div_up(I.magnitude(value), scale(key))
                    total = rows[key] if key[0] == "g" else sums(key)
                    part = I.mul_up(at, I.div_up(total, scale(key)))
                    if key[0] == "g":
                        constraints = I.add_up(constraints, part)
                    else:
                        curved = I.add_up(curved, part)
                worst_curved = max(worst_curved, curved)
                worst_all = max(worst_all, I.add_up(constraints, curved))
            if not s.curved:  # then slopes of different agents share no column
                part = norm.frobenius_square([(1, {k: v for k, v in self.scaled(c).items() if k[0] != "g"})
                                              for c in columns])
                worst_own = max(worst_own, part)
        return worst_curved, worst_own if not s.curved else I.INF, worst_all

    def slope_row_sums(self, pushed, count, own):
        """The sum of the row of a slope over all columns; for slopes that come together the largest of any member."""
        s, found = self.s, {}
        for key in s.entry_keys():
            f, j, component = key
            worst = 0.0
            for group in s.groups:
                if group.number != f:
                    continue
                total = own.get((group, j, component), 0.0)
                for i, b in s.reaches.get(key, []):
                    size = I.magnitude(s.slope_values(group)[b, component])
                    total = I.add_up(total, I.mul_up(size, pushed.get((j, i), 0.0)))
                named = s.model.input_of_state.get((f, group.member, component))
                total = I.add_up(total, pushed.get((j, named), 0.0))
                if s.lattice is not None:
                    extra = I.div_up(s.lattice.slope_extra.get(key, I.INF), s.lattice.step)
                    total = I.add_up(total, I.mul_up(extra, count.get(key, 0.0)))
                found[f, j, component, group.member] = total
                worst = max(worst, total)
            found[key] = worst
        return lambda key: found.get(key[1:], found[key[1:4]])


# ---- what is claimed ----

def check_states(plan, model):
    """The lattice of the states: every box holds a point, and no state has more than 53 bits."""
    step = plan.state_step
    for family in model.families:
        for k in range(family.members if family.varies() else 1):
            for low, high in family.box(k):
                plan.demand(-2.0 ** 53 * step <= low and high <= 2.0 ** 53 * step,
                            "state_exponent: a box is too wide for the lattice")
                first = -(-low // step)
                plan.demand(first * step <= high, "state_exponent: a box holds no point of the lattice")


def check_public_sets(plan, model):
    """Prices may rely on public sets for the unit agent alone: for other units nobody enforces them."""
    listed = plan.listed.get("public_sets", [])
    plan.demand(listed == [f.name for f in model.families if f.public_set is not None],
                "public_sets: not those of the model")
    plan.demand(plan.unit == "agent" or not listed, "public_sets: they are enforced for the unit agent alone")
    plan.demand("public_sets" not in plan.listed or listed, "public_sets: there are none")


def check_constants(plan, s, prices):
    """The certified constant of each system, and its sensitivity, which has rounding in it."""
    if plan.placement == "states":
        for c in plan.channels:
            if plan.distances is None:
                plan.demand(c.constant == c.sensitivity and c.sensitivity >= prices.reach(c, plan.unit),
                            f"the sensitivity of {c.name}")
                continue
            plan.demand(more(c.constant) >= plan.distances.exact[c.family] and
                        more(c.sensitivity) >= plan.distances.reach[c.family], f"the sensitivity of {c.name}")
        return
    for rounding in (False, True):
        s.use_lattice(rounding)
        found = published_constants(plan, s, rounding) if plan.calibration == "published" else constants(plan, s, rounding)
        for n, channel in enumerate(plan.channels):
            claimed = channel.sensitivity if rounding else channel.constant
            what = "sensitivity" if rounding else "constant"
            plan.demand(found(n, more(claimed)), f"the {what} of {channel.name}: {claimed!r} is not proved", True)


def constants(plan, s, rounding):
    """Whether the norm of a system's part is at most a number: column sums (l1), Frobenius norms of an agent's columns (l2), of
    a row (l2, all agents), and Schur's bound for slopes of all agents. Units agent:D and data: times how far an agent moves."""
    far = None if plan.distances is None else plan.distances.reach if rounding else plan.distances.exact
    number, sums, squares = {id(c): n for n, c in enumerate(plan.channels)}, {}, {}
    ensemble, whole = plan.unit == "ensemble", plan.unit == "agent"
    view = View(everything=True)
    for norm_wanted in {1, plan.norm}:
        for group, weight, columns in s.blocks(view, norm_wanted, whole):
            reach, block = 1.0 if far is None else far[group.number], {}
            for column in columns:
                total = {}
                for key, value in column.items():
                    channel = plan.channel_of(key)
                    if channel is None:
                        continue
                    n, size = number[id(channel)], I.magnitude(value)
                    size = size if far is None else I.mul_up(reach, size)
                    total[n] = I.add_up(total.get(n, 0.0), size)
                    block[n] = I.add_up(block.get(n, 0.0), I.mul_up(size, size))
                if norm_wanted == 1:
                    for n, value in total.items():
                        sums[n] = max(sums.get(n, 0.0), value)
            if norm_wanted == 2:
                for n, value in block.items():
                    if ensemble:
                        squares[n] = I.add_up(squares.get(n, 0.0), I.mul_up(float(weight), value))
                    else:
                        squares[n] = max(squares.get(n, 0.0), value)

    def holds(n, claimed):
        if plan.norm == 1 or (ensemble and plan.channels[n].kind == "jacobian" and sums.get(n, 0.0) <= claimed):
            return sums.get(n, 0.0) <= claimed
        return I.sqrt_up(squares.get(n, 0.0)) <= claimed
    return holds


def published_constants(plan, s, rounding):
    """Whether a system's part, over the columns of all agents, has a norm of at most a number."""
    def holds(n, claimed):
        channel = plan.channels[n]
        if channel.kind == "constraints":
            columns = [(w, {k: v for k, v in c.items() if k[0] == "g"})
                       for _, w, made in s.blocks(View(everything=True), plan.norm) for c in made]
            return small(columns, claimed) or (rounding and by_parts(columns, plan, s, channel, claimed))
        seen = set()
        for member in range(channel.first_member, channel.first_member + channel.members):
            group = s.group_of[channel.family](member) if channel.family in s.group_of else None
            if group is None or id(group) in seen:
                continue
            seen.add(id(group))
            if not small(agent_columns(s, plan, group), claimed) and \
                    not (rounding and by_parts(agent_columns(s, plan, group), plan, s, channel, claimed)):
                return False
        return True

    def small(columns, claimed):
        if plan.norm == 1:
            return all(norm.sum_up(map(I.magnitude, c.values())) <= claimed for _, c in columns)
        return norm.at_most(columns, claimed)
    return holds


def agent_columns(s, plan, group):
    """How the slopes of one agent move with every coordinate."""
    columns, view = [], View(agents=[(group.number, group.member)])
    for mover in s.groups:
        for own in (True, False):
            weight = (1 if own else mover.weight - 1) if mover is group else (0 if own else mover.weight)
            if weight <= 0:
                continue
            for c in range(mover.family.dim):
                column = s.column(mover, c, view, {}, plan.norm, False, (group.number, group.member), own)
                columns.append((weight, {k: v for k, v in column.items() if k[0] == "J"}))
    return columns


def by_parts(wide, plan, s, channel, claimed):
    """|M + X| <= K + |X|, K the constant without rounding, which was proved before."""
    s.use_lattice(False)
    if channel.kind == "constraints":
        narrow = [(w, {k: v for k, v in c.items() if k[0] == "g"})
                  for _, w, made in s.blocks(View(everything=True), plan.norm) for c in made]
    else:
        key = next(k for _, c in wide for k in c)
        narrow = agent_columns(s, plan, s.group_of[key[1]](key[4]))
    s.use_lattice(True)
    extras = []
    for (weight, with_it), (_, without) in zip(wide, narrow):
        extras.append((weight, {k: I.point(max(I.add_up(v[1], -without[k][1]), I.add_up(without[k][0], -v[0]), 0.0))
                                for k, v in with_it.items()}))
    rows, columns = norm.row_and_column_sums(extras)
    added = columns if plan.norm == 1 else I.sqrt_up(I.mul_up(rows, columns))
    return I.add_up(channel.constant, added) <= claimed


def check_prices(plan, prices, views, last):
    multiplier = plan.multiplier()
    keeps = normal.keeps if last is None else last.keeps
    seen = {}
    for view, observer in zip(views, plan.observers):
        claimed = observer.mu if plan.gaussian else observer.epsilon
        name = f"{'mu' if plan.gaussian else 'epsilon'} of '{observer.who}'"
        plan.demand(claimed >= 0, name)
        target = I.mul_down(claimed, 1 + SLACK)
        if not is_alone(view, prices.model):
            if last is not None:  # everybody sees it
                target = last.left_for_rounds(target)
                plan.demand(target >= 0, f"{name}: {claimed!r} is less than the price of the last round")
            target = I.div_down(target, multiplier)
            key = (view.everything, view.agents, view.each_of) if plan.placement != "states" else None
            if not seen.get(key, I.INF) <= target:
                plan.demand(prices.of_any(view, plan.unit, target), f"{name}: {claimed!r} is not proved", True)
                seen[key] = target
        if not plan.gaussian:
            wanted = 0 if last is None or claimed == 0 else plan.delta
            plan.demand(observer.delta == wanted, f"delta of '{observer.who}'")
            continue
        plan.demand(observer.delta == plan.delta, f"delta of '{observer.who}': not the plan's")
        plan.demand(claimed == 0 or keeps(observer.epsilon, claimed, observer.delta),
                    f"epsilon of '{observer.who}': {observer.epsilon!r} does not follow from mu")
        plan.demand(observer.epsilon >= 0, f"epsilon of '{observer.who}'")
        plan.demand(claimed == 0 or keeps(plan.epsilon, claimed, observer.delta_at_asked),
                    f"delta_at_asked_epsilon of '{observer.who}': {observer.delta_at_asked!r} does not follow from mu")


def check_last(last, level):
    """The last round: how far its numbers move, what that costs everybody, and how far they are off."""
    s = Sensitivity(last.model, last, level)
    prices = Prices(last, last.model, s)
    check_constants(last, s, prices)
    target = I.div_down(I.mul_down(last.price, 1 + SLACK), last.multiplier())
    last.demand(prices.at_most(View(everything=True), last.unit, target),
                f"the price of the last round: {last.price!r} is not proved", True)
    last.check_allowance(s)


def is_alone(view, model):
    """Nobody is outside."""
    return len(view.agents) == model.agents


def check_promise(plan):
    """What was asked for: of all that anybody sees, or (published) of each system by itself."""
    if plan.calibration == "tight":
        # Nobody sees more than the eavesdropper; what others are said to pay may be bounded less closely.
        most = next(o for o in plan.observers if o.kind == "eavesdropper")
        plan.demand(most.delta_at_asked <= plan.delta if plan.gaussian else most.epsilon <= plan.epsilon,
                    f"epsilon {plan.epsilon!r}: the eavesdropper pays more")
        return
    for c in plan.channels:
        price = I.div_up(I.mul_up(plan.multiplier(), c.sensitivity), c.scale)
        holds = normal.keeps(plan.epsilon, price, plan.delta) if plan.gaussian else price <= more(plan.epsilon)
        plan.demand(holds, f"epsilon {plan.epsilon!r}: system {c.name} by itself costs more")
    if plan.gaussian:
        kappa = plan.listed.get("kappa")
        plan.demand(isinstance(kappa, float) and normal.kappa_keeps(plan.epsilon, kappa, plan.delta, 1e-9),
                    f"kappa {kappa!r}")


def verify(listed, raw, wanted=None):
    try:
        return verify_numbers(listed, raw, wanted)
    except ArithmeticError as wrong:
        raise Unprovable(f"a number is out of range: {wrong}") from wrong


def verify_numbers(listed, raw, wanted):
    model = Model(listed["model"])
    plan = Plan(listed["plan"], model)
    check_hashes(listed, raw, wanted)
    plan.check_numbers()
    last = read_last(plan, model, listed.get("format") == "tacit certificate 2")
    if last is not None:
        last.check_numbers()
        last.check_cover()
    views = read_views(listed, plan, model)
    check_cover(plan, model)
    check_states(plan, model)
    check_public_sets(plan, model)
    for level in range(LEVELS):
        try:
            s = Sensitivity(model, plan, level) if plan.placement != "states" else None
            prices = Prices(plan, model, s)
            check_constants(plan, s, prices)
            check_prices(plan, prices, views, last)
            if last is not None:
                check_last(last, level)
            break
        except Refused as no:
            if not no.loose or level + 1 == LEVELS:
                raise
    check_promise(plan)
    return model, plan, last


def many(count, what):
    return f"{count} {what}" + ("" if count == 1 else "s")


def main():
    parser = argparse.ArgumentParser(description="Checks a certificate of tacit plan.")
    parser.add_argument("file")
    parser.add_argument("--plan", metavar="HASH", help="the plan's hash must be this one")
    arguments = parser.parse_args()
    try:
        listed, raw = read(arguments.file)
        model, plan, last = verify(listed, raw, arguments.plan)
    except Malformed as wrong:
        print(f"{arguments.file}: no certificate: {wrong}", file=sys.stderr)
        return 2
    except (Refused, Unprovable) as no:
        print(f"no: {no}")
        return 1
    most = max(plan.observers, key=lambda o: o.epsilon)
    words = f", delta {most.delta:.6g}" if most.delta > 0 else ""
    print(f"yes: nobody pays more than epsilon {most.epsilon:.6g}{words} in the unit {plan.unit_text}")
    rounds = "any number of rounds" if plan.rounds is None else many(int(plan.rounds), "round")
    rounds += "" if last is None else " and a last one of averages"
    print(f"  over {rounds}: {many(model.agents, 'agent')}, {many(len(model.rows), 'constraint')}, "
          f"{many(len(plan.channels), 'system')}, {many(len(plan.observers), 'observer')}")
    print(f"  plan {listed['hash']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
