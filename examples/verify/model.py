"""The public model of a certificate: families of agents with public boxes, terms that are summed over members, constraints."""

from cap import Cap
from expression import Graph, Malformed, number, whole


def take(table, key, kind):
    if not isinstance(table, dict) or key not in table or not isinstance(table[key], kind) or \
            (kind is int and isinstance(table[key], bool)):
        raise Malformed(f"'{key}' is missing, or not what it should be")
    return table[key]


class Family:
    def __init__(self, listed):
        self.name, self.indexed = take(listed, "name", str), take(listed, "indexed", bool)
        self.members, self.dim = whole(take(listed, "members", int), 1), whole(take(listed, "states", int), 1, 10 ** 7)
        self.names = take(listed, "names", list)
        if self.names and (len(self.names) != self.members or not all(isinstance(n, str) for n in self.names)):
            raise Malformed("'names' has not one name for each member")
        self.lower, self.upper = self.bounds(listed, "lower"), self.bounds(listed, "upper")
        self.public_set = None  # coefficients and bound
        if "public_set" in listed:
            bound = take(listed, "public_bound", list)
            if len(bound) != 1:
                raise Malformed("'public_bound' is not one number")
            self.public_set = (self.bounds(listed, "public_set"),
                               self.column(bound[0]) if isinstance(bound[0], list) else number(bound[0]))
        self.data = [self.column(c) for c in take(listed, "data", list)]
        self.graph = Graph(take(listed, "nodes", list), "state", self.dim, len(self.data))
        last = len(self.graph.nodes) - 1
        self.sums = [(whole(r), whole(e, 0, last)) for r, e in self.lists(listed, "sums", 2)]
        self.slopes = {}  # (place in sums, component): node
        for body, component, e in self.lists(listed, "slopes", 3):
            self.slopes[whole(body, 0, len(self.sums) - 1), whole(component, 0, self.dim - 1)] = whole(e, 0, last)
        for k in range(self.members if self.varies() else 1):
            if any(low > high for low, high in self.box(k)):
                raise Malformed("a box is empty")

    @staticmethod
    def lists(listed, key, length):
        rows = take(listed, key, list)
        if not all(isinstance(row, list) and len(row) == length for row in rows):
            raise Malformed(f"'{key}' is not a list of {length} numbers each")
        return rows

    def column(self, values):
        if not isinstance(values, list) or len(values) != self.members:
            raise Malformed("a column has not one number for each member")
        return [number(v) for v in values]

    def bounds(self, listed, key):
        values = take(listed, key, list)
        if len(values) != self.dim:
            raise Malformed(f"'{key}' has not one entry for each state")
        return [self.column(v) if isinstance(v, list) else number(v) for v in values]

    def varies(self):
        return any(isinstance(v, list) for v in self.lower + self.upper)

    def set_varies(self):
        """Whether boxes or public sets differ."""
        return self.varies() or (self.public_set is not None and
                                 any(isinstance(v, list) for v in [*self.public_set[0], self.public_set[1]]))

    def box(self, member):
        def at(v):
            return v[member] if isinstance(v, list) else v
        return [(at(low), at(high)) for low, high in zip(self.lower, self.upper)]

    def public_set_of(self, member):
        def at(v):
            return v[member] if isinstance(v, list) else v
        return None if self.public_set is None else (tuple(map(at, self.public_set[0])), at(self.public_set[1]))

    def cap(self, member, step):
        """The public set on the lattice; None where there is none."""
        found = self.public_set_of(member)
        return None if found is None else Cap(*found, self.box(member), step)

    def data_of(self, member):
        return [(c[member], c[member]) for c in self.data]

    def hull_box(self):
        def least(v):
            return min(v) if isinstance(v, list) else v

        def most(v):
            return max(v) if isinstance(v, list) else v
        return [(least(low), most(high)) for low, high in zip(self.lower, self.upper)]

    def hull_data(self):
        return [(min(c), max(c)) for c in self.data]

    def agent_name(self, member):
        return self.names[member] if self.names else f"{self.name}[{member + 1}]" if self.indexed else self.name


class Model:
    def __init__(self, listed):
        if not isinstance(listed, dict):
            raise Malformed("'model' is no object")
        self.families = [Family(f) for f in take(listed, "families", list)]
        self.sums = {}  # number: (family, place in its sums)
        for f, family in enumerate(self.families):
            for b, (r, _) in enumerate(family.sums):
                if r in self.sums:
                    raise Malformed(f"sum {r} is there twice")
                self.sums[r] = (f, b)
        self.inputs = [self.read_input(i) for i in take(listed, "inputs", list)]
        self.input_of_sum = {i[1]: n for n, i in enumerate(self.inputs) if i[0] == "sum"}
        self.input_of_state = {i[1:]: n for n, i in enumerate(self.inputs) if i[0] == "state"}
        if len(self.input_of_sum) + len(self.input_of_state) != len(self.inputs):
            raise Malformed("an input is there twice")
        self.graph = Graph(take(listed, "nodes", list), "input", len(self.inputs), 0)
        last = len(self.graph.nodes) - 1
        self.rows, self.row_names = [], []
        for row in take(listed, "constraints", list):
            if not (isinstance(row, list) and len(row) == 2 and isinstance(row[0], str)):
                raise Malformed("a constraint is a name and a node")
            self.row_names.append(row[0])
            self.rows.append(whole(row[1], 0, last))
        self.slopes = {}  # (row, input): node
        for j, i, e in Family.lists(listed, "slopes", 3):
            self.slopes[whole(j, 0, len(self.rows) - 1), whole(i, 0, len(self.inputs) - 1)] = whole(e, 0, last)
        self.agents = sum(f.members for f in self.families)

    def read_input(self, listed):
        if isinstance(listed, dict) and list(listed) == ["sum"]:
            if whole(listed["sum"]) not in self.sums:
                raise Malformed("an input is a sum that is not there")
            return ("sum", listed["sum"])
        if isinstance(listed, dict) and list(listed) == ["state"] and isinstance(listed["state"], list) and \
                len(listed["state"]) == 3:
            f = whole(listed["state"][0], 0, len(self.families) - 1)
            member, component = listed["state"][1:]
            return ("state", f, whole(member, 0, self.families[f].members - 1),
                    whole(component, 0, self.families[f].dim - 1))
        raise Malformed(f"{listed!r} is no input")

    def named(self):
        """{family: {member}}: the members whose states constraints name one by one."""
        found = {}
        for kind, *place in self.inputs:
            if kind == "state":
                found.setdefault(place[0], set()).add(place[1])
        return found
