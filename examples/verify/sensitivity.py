"""How far every released number can move when states move: bounds over the public box, rounding included.

F is what gets noise: the constraints g_j(u) and slopes E = sum_r P_jr(u) s_rc'(x_k) + P_j,kc'(u) (placement outputs), or the
inputs u themselves (forms); u lists the sums over members and the states that constraints name. For a coordinate c of one
agent, a column holds intervals that contain dF_e/dx_c, widened so that they also hold for what is computed and rounded
(docs/proofs/lattice.md). P and s are differentiated as they stand: nothing here rests on their being derivatives of g.

Keys of a column: ("g", row), ("J", family, row, component, member), and ("T", family, row, component) for the entries of all
members that are seen, as one number that bounds their norm."""

import math

import interval as I
import rounded as R
from cap import Whole
from expression import Unprovable

NOTHING = (0.0, 0.0)
UNIT = 2.0 ** -53


class View:
    """Who looks: all; or the constraints and the slopes of some agents; or of any one member of a family."""

    def __init__(self, everything=False, agents=(), each_of=None):
        self.everything, self.agents, self.each_of = everything, frozenset(agents), each_of

    def sees(self, family, member, mover):
        if self.everything:
            return True
        if self.each_of is not None:
            return family == self.each_of and (family, member) != mover
        return (family, member) in self.agents


class Group:
    """Members that are alike: the same box and data, and none of them named; or one that is named."""

    def __init__(self, family_number, family, member, weight):
        self.number, self.family, self.member, self.weight = family_number, family, member, weight
        self.box, self.data = dict(enumerate(family.box(member))), family.data_of(member)
        self.memory = {}


class Lattice:
    """Steps of the lattices, and what rounding to them adds: 2 e + zeta for each term, row and slope."""

    def __init__(self):
        self.step = None
        self.sum_extra, self.sum_spread, self.row_extra, self.slope_extra = {}, {}, {}, {}


class Sensitivity:
    def __init__(self, model, plan, level):
        self.model, self.plan, self.level, self.graph = model, plan, level, model.graph
        forms = plan.placement == "forms"
        self.rows = [self.graph.make("input", (), i) for i in range(len(model.inputs))] if forms else model.rows
        self.released = [j for j in range(len(self.rows)) if plan.row_channel.get(j) is not None]
        self.has_slopes = bool(plan.slope_channels)
        self.groups = self.find_groups()
        self.check_structure()
        self.sums = {r: self.sum_range(r) for r in model.sums}
        self.index_slopes()
        self.lattice = None
        self.outer = self.find_outer(None)

    # ---- members that are alike ----

    def group_key(self, f, member, named):
        family = self.model.families[f]
        if member in named:
            return ("named", member)
        channels = tuple(sorted(self.plan.channels_of_member(f, member)))
        box = (*family.box(member), family.public_set_of(member)) if family.set_varies() else ()
        return (channels, box, tuple(c[member] for c in family.data))

    def find_groups(self):
        groups, named = [], self.model.named()
        self.group_of = {}
        for f, family in enumerate(self.model.families):
            if not family.sums and f not in named:
                continue
            members = range(family.members)
            if not family.sums:
                members = sorted(named[f])
            plain = not family.set_varies() and not family.data and not self.plan.has_member_channels(f)
            if plain and f not in named:
                group = Group(f, family, 0, family.members)
                groups.append(group)
                self.group_of[f] = lambda member, group=group: group
                continue
            found = {}
            own = named.get(f, set())
            for member in members:
                found.setdefault(self.group_key(f, member, own), []).append(member)
            made = {}
            for key, those in found.items():
                made[key] = Group(f, family, those[0], len(those))
                groups.append(made[key])
            self.group_of[f] = lambda member, f=f, own=own, made=made: made.get(self.group_key(f, member, own))
        return groups

    # ---- what groups know ----

    def check_structure(self):
        """A state that is read must have a derivative: what cancels out would move by rounding alone."""
        def check(graph, e, what):
            if set(graph.gradient(e)) != graph.reads(e):
                raise Unprovable(f"{what} reads a state that cancels out")
        for family in self.model.families:
            for _, e in family.sums:
                check(family.graph, e, "a term of a sum")
            for e in family.slopes.values():
                check(family.graph, e, "a slope")
        for j in self.released:
            check(self.graph, self.rows[j], "a constraint")
        for e in self.model.slopes.values():
            check(self.graph, e, "a slope")

    def values(self, group):
        """Of the terms."""
        if "values" not in group.memory:
            roots = tuple(e for _, e in group.family.sums)
            group.memory["values"] = group.family.graph.enclose(roots, group.box, group.data) if roots else []
        return group.memory["values"]

    def firsts(self, group):
        """{(term, component): derivative}"""
        if "firsts" not in group.memory:
            graph, found = group.family.graph, {}
            for b, (_, e) in enumerate(group.family.sums):
                for c, d in graph.gradient(e).items():
                    found[b, c] = graph.range(d, group.box, group.data, self.level)
            group.memory["firsts"] = found
        return group.memory["firsts"]

    def slope_values(self, group):
        if "slopes" not in group.memory:
            graph = group.family.graph
            group.memory["slopes"] = {key: graph.range(e, group.box, group.data, self.level)
                                      for key, e in group.family.slopes.items()}
        return group.memory["slopes"]

    def slope_moves(self, group):
        """{component c: [(term, component c', derivative of that slope by c)]}"""
        if "moves" not in group.memory:
            graph, found = group.family.graph, {}
            for (b, other), e in group.family.slopes.items():
                for c, d in graph.gradient(e).items():
                    value = graph.enclose((d,), group.box, group.data)[0]
                    if self.level > 0:
                        value = graph.range(d, group.box, group.data, self.level)
                    found.setdefault(c, []).append((b, other, value))
            group.memory["moves"] = found
        return group.memory["moves"]

    def sum_range(self, r):
        f, b = self.model.sums[r]
        total = NOTHING
        for group in self.groups:
            if group.number == f:
                value = self.values(group)[b]
                total = I.add(total, value if group.weight == 1 else I.mul(I.point(float(group.weight)), value))
        return total

    # ---- outer functions ----

    def index_slopes(self):
        self.slopes_of_row = {}
        self.reaches = {}  # (family, row, component): sums that reach it
        for (j, i) in self.model.slopes:
            self.slopes_of_row.setdefault(j, []).append(i)
            if self.model.inputs[i][0] == "sum":
                f, b = self.model.sums[self.model.inputs[i][1]]
                for (body, component) in self.model.families[f].slopes:
                    if body == b:
                        self.reaches.setdefault((f, j, component), []).append((i, b))

    def input_box(self, spread):
        box = {}
        for n, (kind, *place) in enumerate(self.model.inputs):
            if kind == "sum":
                extra = spread.get(place[0], 0.0) if spread else 0.0
                box[n] = I.add(self.sums[place[0]], I.symmetric(extra))
            else:
                f, member, component = place
                box[n] = self.model.families[f].box(member)[component]
        return box

    def shift(self, derivative, wide, spread):
        """How far it can move while sums leave their range by what rounding adds."""
        total = 0.0
        for s, second in self.graph.gradient(derivative).items():
            kind, *place = self.model.inputs[s]
            if kind == "sum" and spread.get(place[0], 0.0) > 0:
                size = I.magnitude(self.graph.enclose((second,), wide)[0])
                total = I.add_up(total, I.mul_up(size, spread[place[0]]))
        return total

    def range_outer(self, e, exact, wide, spread):
        if not spread:
            return self.graph.range(e, exact, (), self.level)
        found = self.graph.range(e, wide, (), self.level)
        try:
            near = self.graph.range(e, exact, (), self.level)
            return I.meet(found, I.add(near, I.symmetric(self.shift(e, wide, spread))))
        except Unprovable:
            return found

    def find_outer(self, spread):
        """Derivatives of the rows and of P, by input, where sums may be off by their spread."""
        exact, wide = self.input_box(None), self.input_box(spread)
        rows, slopes, moves = {}, {}, {}
        for j in self.released:
            for i, d in self.graph.gradient(self.rows[j]).items():
                rows.setdefault(i, []).append((j, self.range_outer(d, exact, wide, spread)))
        for (j, i), e in self.model.slopes.items():
            slopes[j, i] = self.range_outer(e, exact, wide, spread)
            for s, d in self.graph.gradient(e).items():
                value = self.graph.enclose((d,), wide)[0]
                if self.level > 0:
                    value = self.graph.range(d, wide, (), self.level)
                moves.setdefault(s, []).append((j, i, value))
        self.curved = {(j, i) for found in moves.values() for j, i, _ in found}
        self.together = {key for key, found in self.reaches.items() if any((key[1], i) in self.curved for i, _ in found)}
        return rows, slopes, moves

    # ---- lattices ----

    def find_lattice(self):
        """What rounding adds with the plan's exponents; also checks that it can be done at all."""
        plan, made = self.plan, Lattice()
        made.step = math.ldexp(1.0, plan.state_exponent)
        self.term_facts, self.slope_facts = {}, {}
        for f, family in enumerate(self.model.families):
            self.family_errors(f, family)
        for r, (f, _) in self.model.sums.items():
            zeta, (error, size) = plan.sum_step(r), self.term_facts[r]
            members = float(self.model.families[f].members)
            made.sum_extra[r] = I.add_up(I.mul_up(2.0, error), zeta)
            made.sum_spread[r] = I.mul_up(members, I.add_up(error, zeta / 2))
            if self.is_used(r):
                plan.demand(2 * error <= zeta, f"the lattice of sum {r}: terms cannot be computed so exactly")
            units = I.mul_up(members, I.add_up(I.div_up(size, zeta), 2.0))
            plan.demand(units < 2.0 ** 62, f"the lattice of sum {r}: 64 bits cannot hold the sum")
        self.outer_errors(made)
        return made

    def is_used(self, r):
        i = self.model.input_of_sum.get(r)
        return any(i in self.graph.gradient(self.rows[j]) for j in self.released)

    def family_errors(self, f, family):
        box = {c: R.exactly(b) for c, b in enumerate(family.hull_box())}
        data = family.hull_data()
        for (r, _), found in zip(family.sums, R.evaluate(family.graph, tuple(e for _, e in family.sums), box, data)):
            self.term_facts[r] = (found.error, I.magnitude(found.computed))
        keys = list(family.slopes)
        for key, found in zip(keys, R.evaluate(family.graph, tuple(family.slopes[k] for k in keys), box, data)):
            self.slope_facts[f, key] = (found.error, found.size())

    def outer_errors(self, made):
        box = {}
        for n, (kind, *place) in enumerate(self.model.inputs):
            if kind == "sum":
                spread = made.sum_spread[place[0]]
                reached = I.add(self.sums[place[0]], I.symmetric(spread))
                size = I.magnitude(reached)
                small = size <= self.plan.sum_step(place[0]) * 2.0 ** 53
                box[n] = R.within(reached, 0.0 if small else I.mul_up(size, UNIT))
            else:
                f, member, component = place
                box[n] = R.exactly(self.model.families[f].box(member)[component])
        found = R.evaluate(self.graph, tuple(self.rows[j] for j in self.released), box)
        for j, value in zip(self.released, found):
            zeta = self.plan.row_step(j)
            made.row_extra[j] = I.add_up(I.mul_up(2.0, value.error), zeta)
            self.demand_room(value.error, value.size(), zeta, f"constraint {j + 1}")
        keys = list(self.model.slopes)
        self.outer_facts = dict(zip(keys, R.evaluate(self.graph, tuple(self.model.slopes[k] for k in keys), box)))
        for key in self.entry_keys():
            error, size = self.entry_error(*key)
            for zeta in self.plan.slope_steps(key[0], key[1]):
                self.demand_room(error, size, zeta, f"slopes of constraint {key[1] + 1}")
                extra = I.add_up(I.mul_up(2.0, error), zeta)
                made.slope_extra[key] = max(made.slope_extra.get(key, 0.0), extra)

    def demand_room(self, error, size, zeta, what):
        self.plan.demand(2 * error <= zeta, f"the lattice of {what}: it cannot be computed so exactly")
        self.plan.demand(I.add_up(I.div_up(size, zeta), 2.0) < 2.0 ** 62, f"the lattice of {what}: 64 bits are too few")

    def entry_keys(self):
        """(family, row, component) of all slopes."""
        keys = set(self.reaches)
        for (j, i) in self.model.slopes:
            if self.model.inputs[i][0] == "state":
                _, f, _, component = self.model.inputs[i]
                keys.add((f, j, component))
        return keys

    def entry_error(self, f, j, component):
        """((0 + P s) + P s + ...) + P: the products' errors, and as many roundings as there are operations."""
        carried, total, terms = 0.0, 0.0, 1
        shared = self.reaches.get((f, j, component), []) if self.is_shared(f, j, component) else []
        for i, b in shared:
            p, (off, slope) = self.outer_facts[j, i], self.slope_facts[f, (b, component)]
            carried = I.add_up(carried, I.add_up(I.mul_up(p.size(), off), I.mul_up(p.error, slope)))
            total = I.add_up(total, I.mul_up(p.size(), slope))
            terms += 1
        single, single_error = 0.0, 0.0
        for i in self.slopes_of_row.get(j, []):
            if self.model.inputs[i][0] == "state" and self.model.inputs[i][1] == f and \
                    self.model.inputs[i][3] == component:
                single = max(single, self.outer_facts[j, i].size())
                single_error = max(single_error, self.outer_facts[j, i].error)
        if terms == 1:
            return single_error, single
        total = I.add_up(total, single)
        relative = I.mul_up(2.0 * terms + 3, UNIT * (1 + 2.0 ** -20))
        rounding = I.add_up(I.mul_up(total, relative), I.mul_up(float(terms), 5e-324))
        error = I.add_up(I.add_up(carried, single_error), rounding)
        return error, I.add_up(total, error)

    def is_shared(self, f, j, component):
        """Whether the part that every member has is released; where it is constant, a named state's part goes alone."""
        family = self.model.families[f]
        return any(c.every_entry for c in self.plan.slopes_by_family.get(f, [])) or \
            any(self.graph.reads(self.model.slopes[j, i]) or family.graph.reads(family.slopes[b, component])
                for i, b in self.reaches.get((f, j, component), []))

    def use_lattice(self, wanted):
        """The columns from now on: with rounding, or exact."""
        if wanted and not hasattr(self, "made"):
            self.made = self.find_lattice()
            self.outer_wide = self.find_outer(self.made.sum_spread)
            self.outer_exact = self.outer
        elif not hasattr(self, "outer_exact"):
            self.outer_exact = self.outer
        self.lattice = self.made if wanted else None
        self.outer = self.outer_wide if wanted else self.outer_exact

    # ---- columns ----

    def touched(self, group, component, whole):
        """[(input, derivative by this coordinate, widened)]"""
        found = []
        for (b, c), slope in self.firsts(group).items():
            if c == component:
                r = group.family.sums[b][0]
                if r not in self.model.input_of_sum:
                    continue
                if self.lattice is not None and not whole:
                    extra = I.div_up(self.lattice.sum_extra[r], self.lattice.step)
                    slope = I.add(slope, I.symmetric(extra))
                found.append((self.model.input_of_sum[r], slope))
        named = self.model.input_of_state.get((group.number, group.member, component))
        if named is not None:
            found.append((named, (1.0, 1.0)))
        return found

    def couplings(self, touched):
        """{(row, input): how P moves with this coordinate}"""
        found = {}
        for s, slope in touched:
            for j, i, second in self.outer[2].get(s, []):
                found[j, i] = I.add(found.get((j, i), NOTHING), I.mul(second, slope))
        return found

    def column(self, group, component, view, shares, norm, whole=False, single=None, own=True):
        """Entries of one column. single: the slopes of this agent alone, each by itself; own: whether the mover is it."""
        entries = {}

        def put(key, value):
            entries[key] = I.add(entries.get(key, NOTHING), value)
        touched = self.touched(group, component, whole)
        for i, slope in touched:
            for j, d in self.outer[0].get(i, []):
                put(("g", j), I.mul(d, slope))
        if self.has_slopes:
            for (j, i), y in self.couplings(touched).items():
                self.put_coupled(put, j, i, y, group, view, shares, single)
            if own:
                self.put_own(put, group, component, view, single)
        if self.lattice is not None and not whole:
            for key in entries:
                if entries[key] == NOTHING and self.plan.channel_of(key) is None:
                    continue  # by exact arithmetic: a slope times 0, which is computed as 0
                extra = I.div_up(self.extra_of(key, view, norm), self.lattice.step)
                entries[key] = I.add(entries[key], I.symmetric(extra))
        return entries

    def put_coupled(self, put, j, i, y, group, view, shares, single):
        kind, *place = self.model.inputs[i]
        if kind == "state":
            f, member, component = place
            if single is not None:
                if (f, member) == single:
                    put(("J", f, j, component, member), y)
            elif view.sees(f, member, (group.number, group.member)):
                self.put_entry(put, f, j, component, member, y)
            return
        f, b = self.model.sums[place[0]]
        if single is not None:
            if f == single[0]:
                at = self.slope_values(self.group_of[f](single[1]))
                for (body, component), s in at.items():
                    if body == b:
                        put(("J", f, j, component, single[1]), I.mul(y, s))
            return
        for (body, component) in self.model.families[f].slopes:
            if body == b:
                size = I.mul_up(I.magnitude(y), shares[f, body, component])
                if size > 0 or view.everything:
                    put(("T", f, j, component), I.symmetric(size))

    def put_entry(self, put, f, j, component, member, value):
        if (f, j, component) in self.together:
            put(("T", f, j, component), I.symmetric(I.magnitude(value)))
        else:
            put(("J", f, j, component, member), value)

    def put_own(self, put, group, component, view, single):
        f = group.number
        if single is not None:
            if single[0] != f:
                return
        elif not view.everything:
            return  # whoever moves is outside, and so its slopes are not seen
        for b, other, value in self.slope_moves(group).get(component, []):
            i = self.model.input_of_sum.get(group.family.sums[b][0])
            for j in range(len(self.model.rows)):
                if (j, i) in self.outer[1]:
                    moved = I.mul(self.outer[1][j, i], value)
                    if single is not None:
                        put(("J", f, j, other, single[1]), moved)
                    else:
                        self.put_entry(put, f, j, other, group.member, moved)

    def extra_of(self, key, view, norm):
        if key[0] == "g":
            return self.lattice.row_extra[key[1]]
        extra = self.lattice.slope_extra.get(key[1:4], I.INF)
        return I.mul_up(extra, self.ones(key[1], view, norm)) if key[0] == "T" else extra

    def ones(self, f, view, norm):
        """The norm of a vector of ones over the members of a family that are seen."""
        count = float(self.model.families[f].members)
        if not view.everything:
            count = 1.0 if view.each_of is not None else float(sum(1 for g, _ in view.agents if g == f))
        return count if norm == 1 else I.sqrt_up(count)

    def shares(self, view, norm):
        """{(family, term, component): norm of that slope over the members that are seen}"""
        found = {(f, *key): 0.0 for f, family in enumerate(self.model.families) for key in family.slopes}

        def take(group, weight, largest):
            for key, value in self.slope_values(group).items():
                size, at = I.magnitude(value), (group.number, *key)
                if largest:
                    found[at] = max(found[at], size)
                else:
                    found[at] = I.add_up(found[at], I.mul_up(weight, size if norm == 1 else I.mul_up(size, size)))
        if view.everything or view.each_of is not None:
            for group in self.groups:
                if view.everything or group.number == view.each_of:
                    take(group, float(group.weight), not view.everything)
        else:
            for f, member in view.agents:
                group = self.group_of[f](member) if f in self.group_of else None
                if group is not None:
                    take(group, 1.0, False)
        if norm == 2 and view.each_of is None:
            found = {key: I.sqrt_up(value) for key, value in found.items()}
        return found

    def blocks(self, view, norm, whole=False, apart=True):
        """(group, how many such agents are outside the view, columns) of every agent that may move. apart: the slopes of one
        agent that looks, each by itself, with its sign; else together."""
        shares = self.shares(view, norm) if self.has_slopes else {}
        alone = next(iter(view.agents)) if apart and len(view.agents) == 1 and not view.everything else None
        for group in self.groups:
            weight = group.weight - sum(1 for f, member in view.agents if f == group.number and
                                        self.group_of[f](member) is group)
            if view.each_of == group.number and group.family.members == 1:
                weight = 0
            if weight <= 0:
                continue
            columns = [self.column(group, c, view, shares, norm, whole, alone, alone is None)
                       for c in range(group.family.dim)]
            yield group, weight, [self.collapse(group, columns, view, norm, shares, alone)] if whole else columns

    # ---- the unit agent ----

    def collapse(self, group, columns, view, norm, shares, single):
        """One column: how far each entry can move when all states of this agent do."""
        moves, slopes = {}, {}
        for c, column in enumerate(columns):
            across = I.width_up(group.box[c])
            for key, value in column.items():
                moves[key] = I.add_up(moves.get(key, 0.0), I.mul_up(I.magnitude(value), across))
                slopes.setdefault(key, {})[c] = value
        result = Whole()
        if "cap" not in group.memory:
            group.memory["cap"] = group.family.cap(group.member, self.plan.state_step)
        result.cap, result.slopes, result.linear, result.extra = group.memory["cap"], columns, {}, {}
        for key, move in moves.items():
            rounding, by_ranges = 0.0, I.INF
            if result.cap is not None:
                move = min(move, result.cap.entry(slopes[key]))
            result.linear[key] = move
            if key[0] == "g":
                by_ranges, rounding = self.move_of_row(group, key[1])
            elif self.lattice is not None:
                rounding = self.coupled_rounding(group, key, shares, single)
            extra = self.extra_of(key, view, norm) if self.lattice is not None else 0.0
            result.extra[key] = I.add_up(rounding, extra)
            result[key] = I.symmetric(I.add_up(min(I.add_up(move, rounding), by_ranges), extra))
        return result

    def move_of_row(self, group, row):
        """sum_r sup |Phi_r| (width of the term, and what rounding adds), named states by their range; and the part of rounding."""
        total, rounding = 0.0, 0.0
        for b, (r, _) in enumerate(group.family.sums):
            i = self.model.input_of_sum.get(r)
            for j, d in self.outer[0].get(i, []):
                if j == row:
                    extra = self.lattice.sum_extra[r] if self.lattice is not None else 0.0
                    move = I.add_up(I.width_up(self.values(group)[b]), extra)
                    total = I.add_up(total, I.mul_up(I.magnitude(d), move))
                    rounding = I.add_up(rounding, I.mul_up(I.magnitude(d), extra))
        for c in range(group.family.dim):
            i = self.model.input_of_state.get((group.number, group.member, c))
            for j, d in self.outer[0].get(i, []):
                if j == row:
                    total = I.add_up(total, I.mul_up(I.magnitude(d), I.width_up(group.box[c])))
        return total, rounding

    def coupled_rounding(self, group, key, shares, single):
        """What rounding of this agent's terms does to slopes through P."""
        _, f, row, component, *member = key
        total = 0.0
        for r, _ in group.family.sums:
            s = self.model.input_of_sum.get(r)
            for j, i, second in self.outer[2].get(s, []):
                if j != row:
                    continue
                size = I.mul_up(I.magnitude(second), self.lattice.sum_extra[r])
                kind, *place = self.model.inputs[i]
                if kind == "state":
                    if place[0] == f and place[2] == component and (not member or place[1] == member[0]):
                        total = I.add_up(total, size)
                    continue
                g, b = self.model.sums[place[0]]
                if g == f and (b, component) in self.model.families[f].slopes:
                    if single is not None:
                        share = I.magnitude(self.slope_values(self.group_of[f](single[1]))[b, component])
                    else:
                        share = shares[f, b, component]
                    total = I.add_up(total, I.mul_up(size, share))
        return total
