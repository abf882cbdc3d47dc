"""The Python rivals, one a run, inside the virtual environment that run.py makes. Prints one JSON object."""

import argparse
import json
import logging
import time
from pathlib import Path

import numpy as np


def memory(key, process="self"):
    """A line of /proc/PID/status in bytes: VmRSS is resident now, VmHWM was the most ever."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    return 0


class Faiss:
    """One of faiss's binary indexes. Its radius is exclusive for all of them, hence k + 1."""

    cap = None

    def __init__(self, task, kind):
        import faiss

        faiss.omp_set_num_threads(1)
        self.radius = task.k + 1
        self.batch = 1000
        if kind == "flat":
            self.index = faiss.IndexBinaryFlat(64)
            self.batch = 100  # a slow scan has to notice that its time is up
            self.settings = "IndexBinaryFlat"
        else:
            tables, bits = (2, 32) if kind == "2x32" else (4, 16)
            self.index = faiss.IndexBinaryMultiHash(64, tables, bits)
            # The pigeonhole: of k different bits one table sees at most k / tables.
            self.index.nflip = task.k // tables
            self.settings = f"IndexBinaryMultiHash {tables}x{bits}, nflip {self.index.nflip}"

    def build(self, values):
        self.index.add(values.view(np.uint8).reshape(-1, 8))

    def prepare(self, queries):
        return queries.view(np.uint8).reshape(-1, 8)

    def many(self, queries):
        self.index.range_search(queries, self.radius)

    def one(self, query):
        return self.index.range_search(query.reshape(1, 8), self.radius)[2]


class Loop:
    """Rivals that answer one query at a time only."""

    batch = 10

    def prepare(self, queries):
        return [int(query) for query in queries]

    def many(self, queries):
        for query in queries:
            self.one(query)


class Simhash(Loop):
    """The package `simhash`: sets of strings in a dictionary."""

    cap = 100_000  # 4 strings and sets each value: a million take gigabytes and minutes

    def __init__(self, task):
        import simhash

        logging.getLogger("simhash").setLevel(logging.ERROR)  # it warns of every bucket over 200
        self.simhash = simhash.Simhash
        self.index = simhash.SimhashIndex([], f=64, k=task.k)
        self.settings = f"SimhashIndex k={task.k}"

    def build(self, values):
        for ordinal, value in enumerate(values.tolist()):
            self.index.add(str(ordinal), self.simhash(value))

    def one(self, query):
        return np.array(self.index.get_near_dups(self.simhash(query)), dtype=np.int64)


class Redis(Loop):
    """Sets by block, as content management systems do it: a member is value and ordinal, the client compares."""

    cap = 1_000_000
    member = np.dtype([("value", "<u8"), ("ordinal", "<u4")])

    def __init__(self, task):
        import redis

        self.client = redis.Redis(host="127.0.0.1", port=task.port)
        self.server = task.server
        self.k = task.k
        self.blocks = [(64 * i // (task.k + 1), 64 * (i + 1) // (task.k + 1)) for i in range(task.k + 1)]
        version = self.client.info("server")["redis_version"]
        self.settings = f"server {version}, {task.k + 1} sets by block, hiredis client"

    def keys(self, value):
        return [b"%d:%x" % (i, value >> start & (1 << end - start) - 1) for i, (start, end) in enumerate(self.blocks)]

    def build(self, values):
        for start in range(0, len(values), 2000):  # one round trip for 2,000 values
            pipe = self.client.pipeline(transaction=False)
            for ordinal, value in enumerate(values[start : start + 2000].tolist(), start):
                member = value.to_bytes(8, "little") + ordinal.to_bytes(4, "little")
                for key in self.keys(value):
                    pipe.sadd(key, member)
            pipe.execute()

    def one(self, query):
        # One round trip; asking EXISTS first would only add another, an absent set is an empty answer.
        pipe = self.client.pipeline(transaction=False)
        for key in self.keys(query):
            pipe.smembers(key)
        members = np.frombuffer(b"".join(member for found in pipe.execute() for member in found), self.member)
        near = np.bitwise_count(members["value"] ^ np.uint64(query)) <= self.k
        return np.unique(members["ordinal"][near])


RIVALS = {
    "faiss-flat": lambda task: Faiss(task, "flat"),
    "faiss-4x16": lambda task: Faiss(task, "4x16"),
    "faiss-2x32": lambda task: Faiss(task, "2x32"),
    "simhash": Simhash,
    "redis": Redis,
}


def measure(rival, task):
    """Build, all queries in batches, then each alone with its answers checked; a pass ends when its time is up."""
    raw = np.fromfile(task.queries, "<u8")
    queries = rival.prepare(raw)
    processes = ["self"] + ([rival.server] if getattr(rival, "server", None) else [])
    owner = processes[-1]  # who holds the index
    # From before the values are loaded to after the build: whoever needs them later has kept them.
    before = memory("VmRSS", owner)
    values = np.fromfile(task.values, "<u8", count=rival.cap or -1)
    n = len(values)
    start = time.perf_counter()
    rival.build(values)
    build_s = time.perf_counter() - start
    del values
    grown = memory("VmRSS", owner) - before

    rival.many(queries[: rival.batch])
    asked, start = 0, time.perf_counter()
    while asked < len(queries) and time.perf_counter() - start < task.seconds:
        rival.many(queries[asked : asked + rival.batch])
        asked = min(asked + rival.batch, len(queries))
    per_s = asked / (time.perf_counter() - start)
    peak = sum(memory("VmHWM", process) for process in processes)  # before the truth is read

    offsets = np.fromfile(task.truth + ".offsets.u64", "<u8").astype(np.int64)
    ordinals = np.memmap(task.truth + ".ordinals.u32", "<u4", "r") if offsets[-1] else np.empty(0, "<u4")
    times, expected, found, extra, spent = [], 0, 0, 0, 0.0
    for number, query in enumerate(queries):
        start = time.perf_counter()
        answers = rival.one(query)
        times.append(time.perf_counter() - start)
        spent += times[-1]
        truth = ordinals[offsets[number] : offsets[number + 1]]
        truth = truth[: np.searchsorted(truth, n)]  # a capped rival knows the first values only
        right = len(np.intersect1d(answers, truth))
        expected, found, extra = expected + len(truth), found + right, extra + len(np.unique(answers)) - right
        if spent > task.seconds:
            break
    times.sort()
    return {
        "settings": rival.settings,
        "n": n,
        "build_s": build_s,
        "queries_per_s": per_s,
        "p50_us": times[len(times) // 2] * 1e6,
        "p99_us": times[len(times) * 99 // 100] * 1e6,
        "peak_bytes": peak,
        "bytes_per_item": grown / n,
        "recall": found / max(expected, 1),
        "extra": extra,
        "queries": len(times),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rival", choices=RIVALS)
    for name in ("values", "queries", "truth"):
        parser.add_argument(name)
    parser.add_argument("k", type=int)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--port", type=int, help="of the Redis server")
    parser.add_argument("--server", type=int, help="process id of the Redis server")
    task = parser.parse_args()
    print(json.dumps(measure(RIVALS[task.rival](task), task)))


if __name__ == "__main__":
    main()
