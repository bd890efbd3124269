"""Whether a plan's noise covers everything that depends on a state, once."""


def check_members(plan, runs, family, wanted):
    """No member has noise twice, and those that are wanted have it: runs that begin at 0 and follow one another, or all of these."""
    end = 0
    for c in sorted(runs, key=lambda c: c.first_member):
        plan.demand(c.first_member >= end, f"{c.name}: another system has noise for one of its members of '{family.name}'")
        end = c.first_member + c.members
    if wanted is None:
        plan.demand(sum(c.members for c in runs) == family.members, f"the states of '{family.name}' are not all released")
    else:
        plan.demand(all(any(c.has_member(k) for c in runs) for k in wanted), f"the states of '{family.name}' are not all released")


def check_covered_states(plan, model):
    """Sums read every member, and so does noise; else those that constraints name."""
    named = model.named()
    for f, family in enumerate(model.families):
        runs = [c for c in plan.channels if c.family == f]
        check_members(plan, runs, family, None if family.sums else named.get(f, set()))
    for c in plan.channels:
        plan.demand(c.kind == "states" and c.exponent == plan.state_exponent, f"the step_exponent of {c.name}")
        plan.demand(c.entries == c.members * model.families[c.family].dim, f"the entries of {c.name}")
        plan.demand((c.first_row, c.rows, c.every_entry) == (0, 0, False), f"the rows of {c.name}")


def check_cover(plan, model):
    """Everything that depends on a state carries noise, and systems have as many entries as they say."""
    graph = model.graph
    if plan.placement == "states":
        check_covered_states(plan, model)
        return
    kinds = ("forms",) if plan.placement == "forms" else ("constraints", "jacobian")
    plan.demand(all(c.kind in kinds for c in plan.channels), "a system is not of the placement's kind")
    plan.demand(len(plan.sum_exponents) == len(model.sums), "sum_exponents: not one for each sum")
    if plan.placement == "forms":
        used = {i for e in model.rows for i in graph.reads(e)}
        for i in used:
            plan.demand(i in plan.row_channel, f"form {i + 1} carries no noise")
            plan.demand(has_constant_slopes(model, i), f"form {i + 1} is curved, and its slopes carry no noise")
        for c in plan.channels:
            plan.demand(c.entries == c.rows == 1, f"the entries of {c.name}")
        return
    for j, e in enumerate(model.rows):
        plan.demand(not graph.reads(e) or j in plan.row_channel, f"constraint {model.row_names[j]} carries no noise")
    check_slopes(plan, model)


def has_constant_slopes(model, i):
    """A state, or a sum of terms that are affine in their member's states."""
    kind, *place = model.inputs[i]
    if kind != "sum":
        return True
    f, b = model.sums[place[0]]
    terms = model.families[f].graph
    return all(not terms.reads(s) for s in terms.gradient(model.families[f].sums[b][1]).values())


def check_slopes(plan, model):
    """Slopes that vary carry noise: those listed, or, where none are, those that follow from the constraints."""
    graph = model.graph
    if not plan.slope_channels:
        for j, e in enumerate(model.rows):
            for i, d in graph.gradient(e).items():
                constant = not graph.reads(d) and has_constant_slopes(model, i)
                plan.demand(constant, f"the slopes of constraint {model.row_names[j]} vary and carry no noise")
    else:
        for j, e in enumerate(model.rows):
            plan.demand(set(graph.gradient(e)) == {i for k, i in model.slopes if k == j},
                        f"the slopes of constraint {model.row_names[j]} are not those that it has")
        for family in model.families:
            for b, (_, e) in enumerate(family.sums):
                plan.demand(set(family.graph.gradient(e)) == {c for k, c in family.slopes if k == b},
                            f"the slopes of a sum over '{family.name}' are not those that it has")
    for c in plan.channels:
        if c.kind == "constraints":
            plan.demand(c.entries == c.rows, f"the entries of {c.name}")
        elif c.every_entry:
            plan.demand(c.entries == c.rows * c.members * model.families[c.family].dim, f"the entries of {c.name}")
        else:
            plan.demand(c.members == model.families[c.family].members, f"the members of {c.name}")
            plan.demand(c.rows == 1 and c.entries == varying_entries(model, c), f"the entries of {c.name}")
    for f, runs in plan.slopes_by_family.items():  # members that have none: slopes that vary are refused where prices are
        for j in {c.first_row for c in runs}:  # where two systems have a row in common, one of them begins in it
            check_members(plan, [c for c in runs if 0 <= j - c.first_row < c.rows], model.families[f], ())


def varying_entries(model, channel):
    """How many slopes of one constraint and family vary by structure."""
    f, j, graph = channel.family, channel.first_row, model.graph
    family = model.families[f]
    shared, single = set(), set()
    for (row, i), e in model.slopes.items():
        kind, *place = model.inputs[i]
        if row != j:
            continue
        if kind == "sum" and model.sums[place[0]][0] == f:
            for (b, c), s in family.slopes.items():
                if b == model.sums[place[0]][1] and (graph.reads(e) or family.graph.reads(s)):
                    shared.add(c)
        elif kind == "state" and place[0] == f and graph.reads(e):
            single.add((place[1], place[2]))
    return len(shared) * family.members + sum(1 for _, c in single if c not in shared)
