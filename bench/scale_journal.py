"""A round of ten agents whose journal is in PostgreSQL on this machine, against one in a folder (SQLite), both durable and
on the same disk.

    scale_journal.py TACIT NET_LOAD NET_BARE [--quick]      exit code 1 where the figure is beyond its limit

Both clouds take turns, on connections that stay open; the database is a cluster of this program's own.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/serve"))
from cluster import Cluster, programs  # noqa: E402
from net_ratios import Cloud, measure, quick, show, tacit  # noqa: E402

AGENTS, LIMIT = 10, 3


def journals():
    requests, turns = (200, 3) if quick else (1500, 7)
    with Cluster() as cluster:
        address, key = cluster.address(), cluster.make_key(tacit)
        with Cloud(AGENTS) as folder, Cloud(AGENTS, more=["--journal", address, "--journal-key", key]) as database:
            for cloud in (folder, database):
                cloud.turn(requests // 5)
            rows = [(folder.turn(requests)[0], database.turn(requests)[0]) for _ in range(turns)]
            commits = [1e6 * seconds / count for seconds, count in (folder.commits(), database.commits())]
    rounds = [1e6 * AGENTS / max(column) for column in zip(*rows)]
    print(f"N = {AGENTS}: a round takes {rounds[0]:.0f} us with a folder, {rounds[1]:.0f} us with PostgreSQL; of that the "
          f"commit {commits[0]:.0f} and {commits[1]:.0f} us")
    show("a round with PostgreSQL against one with a folder", rounds[1] / rounds[0], LIMIT, False,
         [one / other for one, other in rows])


if programs() is None:
    sys.exit("scale_journal.py: PostgreSQL is not installed: as root, run: apt-get install postgresql libpq-dev")
measure(journals)
