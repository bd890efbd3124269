"""A cloud with two loops against a cloud with one, on loopback, each with as many connections, driven by the load
generators of net_ratios.py: processor time for an exchange, and the share of a round that only one thread can do.

    scale_cloud.py TACIT NET_LOAD NET_BARE [--quick]      exit code 1 where a figure is beyond its limit

Both clouds take turns, on connections that stay open. Two load generators have half of the connections each: one alone
is slower than two loops, which then wait for it, wake for some states at a time and spend more on each; what would be
measured is the load. The share is found from outside: both loops have the same number of connections, so what the main
loop's thread works more than the other's is the release, the decision and the commit. Load generators need processors
too: how much faster two loops are shows only where there are more than two. What shows everywhere is the processor
time of the busiest thread for an exchange: it limits the rate where processors are free.
--quick has 1,000 connections instead of 10,000, where the share is larger: it prints it, without a limit.
"""
import os
import pathlib
import statistics

from net_ratios import Cloud, measure, quick, show


def seconds_by_thread(pid):
    return {int(task.name): int(task.joinpath("schedstat").read_text().split()[0]) / 1e9
            for task in pathlib.Path(f"/proc/{pid}/task").iterdir()}


def by_threads(cloud, requests):
    """Of a turn: exchanges a second, microseconds of processor time for one, the share of a round that only one thread can
    do, and the busiest thread's share of all processor time."""
    before = seconds_by_thread(cloud.process.pid)
    rate, each = cloud.turn(requests)
    after = seconds_by_thread(cloud.process.pid)
    spent = {task: after[task] - before.get(task, 0) for task in after}
    main = spent.pop(cloud.process.pid)
    other, all_threads = max(spent.values()), main + sum(spent.values())
    return rate, each, (main - other) / all_threads, max(main, other) / all_threads


def two_loops():
    connections, requests, turns = (1000, 100, 3) if quick else (10000, 20, 9)
    with Cloud(connections, threads=1, loads=2) as one, Cloud(connections, threads=2, loads=2) as two:
        for cloud in (one, two):
            cloud.turn(requests // 5)
        rows = [(one.turn(requests), by_threads(two, requests)) for _ in range(turns)]
    print(f"N = {connections}: {max(o[0] for o, _ in rows):.0f} exchanges/s, two loops {max(t[0] for _, t in rows):.0f}, on "
          f"{os.cpu_count()} processors with the load generators; processor time for one: "
          f"{min(o[1] for o, _ in rows):.2f} us, two loops {min(t[1] for _, t in rows):.2f}")
    print(f"exchanges a second of two loops against one {statistics.median(t[0] / o[0] for o, t in rows):7.2f}")
    show(f"processor time of two loops against one, N = {connections}",
         min(t[1] for _, t in rows) / min(o[1] for o, _ in rows), 1.1, False, [t[1] / o[1] for o, t in rows])
    show(f"processor time of the busiest of two loops against one, N = {connections}",
         min(t[1] * t[3] for _, t in rows) / min(o[1] for o, _ in rows), 0.65, False, [t[1] * t[3] / o[1] for o, t in rows])
    share = statistics.median(t[2] for _, t in rows)
    if quick:
        print(f"share of a round that one thread must do, N = {connections} {share:7.2f}")
    else:
        show(f"share of a round that one thread must do, N = {connections}", share, 0.2, False)


measure(two_loops)
