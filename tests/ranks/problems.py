"""Problems of several blocks of members, for the tests of ranks: two families and single agents, whose constraints name sums
and single coordinates of members in several blocks."""
import math
import pathlib

UNITS, STORES = 7000, 4200  # four blocks and three


def write(folder, name, text):
    path = pathlib.Path(folder) / name
    path.write_text(text)
    return path


def column(count, seed):
    return [0.5 + 0.5 * math.sin(seed + 1.7 * k) for k in range(count)]


def write_data(folder, units=UNITS, stores=STORES):
    a, b, c = column(units, 1), column(units, 2), column(units, 3)
    write(folder, "units.csv", "want,other,cost\n" + "".join(
        f"{4 * a[k]:.6f},{3 * b[k]:.6f},{1 + c[k]:.6f}\n" for k in range(units)))
    d = column(stores, 4)
    write(folder, "stores.csv", "level\n" + "".join(f"{2 * d[k]:.6f}\n" for k in range(stores)))


AFFINE = """data units = csv "units.csv"
data stores = csv "stores.csv"
agents unit over units {{
  state x[2] in [0, 4]
  private minimize {objective}
  {sets}
  gap 100
  slater x = 0.5{room}
}}
agents store over stores {{ state y in [-2, 2]; private minimize (y - level)^2; gap 20; slater y = -0.5 }}
agent plant {{ state z in [0, 5000]; private minimize 0.001 * (z - 4000)^2; gap 20000; slater z = 3000 }}
agent spare {{ state z in [0, 50]; private minimize (z - 40)^2; gap 3000; slater z = 1 }}
constraint supply: sum(unit: x[1]) + sum(store: y) <= plant.z + 8000
constraint other: sum(unit: x[2]) <= 7500
constraint ends: unit[3].x[1] + unit[6999].x[2] + store[4100].y + spare.z <= 30
{more}
privacy {{ mechanism {mechanism}; epsilon 4; adjacency {adjacency}{delta} }}
schedule {{ alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds 12 }}
"""

QUADRATIC = "cost * (x[1] - want)^2 + (x[2] - other)^2"


def affine(folder, name, mechanism="gaussian", objective=QUADRATIC, sets="", more="", room="",
           adjacency="one 0.5"):
    delta = "; delta 1e-6" if mechanism == "gaussian" else ""
    return write(folder, name, AFFINE.format(mechanism=mechanism, objective=objective, sets=sets, more=more, room=room,
                                             adjacency=adjacency, delta=delta))


# Sums of curved functions: noise on states. The outer functions are curved too.
CURVED = """data units = csv "units.csv"
data stores = csv "stores.csv"
agents unit over units {{ state x[2] in [0, 2]; private minimize cost * (x[1] - want)^2 + (x[2] - other)^2; gap 100; slater x = 0.25 }}
agents store over stores {{ state y in [-1, 1]; private minimize (y - level)^2; gap 20; slater y = 0 }}
agent plant {{ state z in [0, 5]; private minimize (z - 4)^2; gap 30; slater z = 0.5 }}
constraint heat: sum(unit: x[1]^2 + 0.5 * x[1] * x[2] + x[2]^2) + sum(store: y^2) + plant.z^2 <= 6000
constraint peak: (sum(unit: x[2]) / 7000)^2 + 0.1 * unit[5000].x[1]^2 + 0.1 * store[2].y <= 1
privacy {{ mechanism {mechanism}; epsilon 4; adjacency one 0.5{delta} }}
schedule {{ alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds 12 }}
"""


def curved(folder, name, mechanism="gaussian"):
    delta = "; delta 1e-6" if mechanism == "gaussian" else ""
    return write(folder, name, CURVED.format(mechanism=mechanism, delta=delta))
