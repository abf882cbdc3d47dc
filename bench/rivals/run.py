#!/usr/bin/env python3
"""Measures our Hamming index beside its rivals: python3 bench/rivals/run.py --n 1000000 --k 3 --data uniform

Makes what it needs under target/rivals (virtual environment, programs, data, exact answers) and keeps it.
README.md says what is measured and how.
"""

import argparse
import datetime
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = ROOT / "target" / "rivals"
VENV = WORK / "venv"
PYTHON = VENV / "bin" / "python"
RUST = WORK / "cargo" / "release" / "leitong-rivals"
OURS = ROOT / "target" / "release" / "leitong"

SEARCH = ["faiss-flat", "faiss-4x16", "faiss-2x32", "mih", "gaoya", "simhash", "redis"]
JOIN = ["all-pairs-hamming-u32", "all-pairs-hamming-u64"]
ENVIRONMENT = os.environ | {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")}
ENVIRONMENT["RUST_BACKTRACE"] = "0"  # the last line of a failure is shown


def say(text):
    print(text, file=sys.stderr, flush=True)


def must(command, remedy, **options):
    """Runs a preparation; its output goes to stderr, the tables alone to stdout."""
    if subprocess.run(command, stdout=sys.stderr, **options).returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{remedy}")


def prepare_python():
    wanted = (HERE / "requirements.txt").read_text()
    done = VENV / "installed.txt"
    if done.exists() and done.read_text() == wanted:
        return
    say("installing the Python rivals …")
    must([sys.executable, "-m", "venv", VENV], "install python3-venv (Debian: apt-get install python3-venv)")
    must(
        [PYTHON, "-m", "pip", "install", "-q", "-r", HERE / "requirements.txt"],
        "is PyPI reachable, and has it wheels for this Python? without the Python rivals: --only ours,mih,gaoya,all-pairs",
    )
    done.write_text(wanted)


def prepare_rust():
    # Built for this very processor, so that no rival lacks popcnt and vectors.
    environment = os.environ | {"CARGO_TARGET_DIR": str(WORK / "cargo"), "RUSTFLAGS": "-C target-cpu=native"}
    must(
        ["cargo", "build", "--release", "--locked", "-q"],
        "is cargo installed and crates.io reachable?",
        cwd=HERE,
        env=environment,
    )


def prepare_data(kind, n, k):
    """Values, queries and truth as files, made once. Returns their paths."""
    folder = WORK / "data"
    folder.mkdir(parents=True, exist_ok=True)
    values, queries = (folder / f"{kind}-{n}.{what}.u64" for what in ("values", "queries"))
    truth = folder / f"{kind}-{n}.k{k}"
    if not values.exists():
        say(f"drawing {n:,} values …")
        must([RUST, "data", kind, str(n), values, queries], "is there room on the disk?")
    if not Path(f"{truth}.offsets.u64").exists():
        say("comparing every query with every value, for the truth …")
        must([RUST, "truth", values, queries, str(k), truth], "is there room on the disk?")
    return [str(values), str(queries), str(truth)]


def start_redis():
    """A server of our own on a free port, without files. Returns it and its port."""
    program = shutil.which("redis-server")
    if not program:
        raise RuntimeError("redis-server is missing (Debian: apt-get install redis-server)")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [program, "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=WORK)
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return server, port
        time.sleep(0.1)
    server.terminate()
    raise RuntimeError("redis-server did not start within 10 seconds; run it by hand to see why")


def child(command, options):
    """Runs one measurement under the limits and returns the object it printed, or {"failed": why}."""
    limit = options.memory << 30
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env=ENVIRONMENT,
            timeout=options.timeout,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"took longer than {options.timeout} s (--timeout)"}
    if done.returncode:
        errors = done.stderr.strip() or f"exit status {done.returncode}"
        if any(sign in errors for sign in ("memory allocation of", "MemoryError", "bad_alloc")):
            return {"failed": f"needs more than {options.memory} GB (--memory)"}
        return {"failed": errors.splitlines()[-1]}
    return json.loads(done.stdout[done.stdout.index("{") :])


def search_row(rival, files, options):
    task = [*files, str(options.k), str(options.seconds)]
    if rival in ("mih", "gaoya"):
        return child([RUST, rival, *task], options)
    if rival != "redis":
        return child([PYTHON, HERE / "rivals.py", rival, *task], options)
    try:
        server, port = start_redis()
    except RuntimeError as error:
        return {"failed": str(error)}
    try:
        where = ["--port", str(port), "--server", str(server.pid)]
        return child([PYTHON, HERE / "rivals.py", rival, *task, *where], options)
    finally:
        server.terminate()
        server.wait()


def our_row(part, options):
    """Our own program, where it is built and knows how to measure itself."""
    command = [OURS, "bench", part]
    remedy = {"failed": "ours: not built (cargo build --release)"}
    if not OURS.exists() or subprocess.run([*command, "--help"], capture_output=True).returncode:
        return remedy
    arguments = ["--n", str(options.n), "--k", str(options.k), "--data", options.data, "--threads", "1", "--json"]
    return {"settings": "1 thread", "n": options.n} | child([*command, *arguments], options)


def show(rows, columns):
    """A table, every column as wide as it needs to be; what failed says why."""
    head = [title for title, _, _ in columns]
    lines = [head]
    for name, row in rows:
        if "failed" in row:
            lines.append([name, row["failed"]])
            continue
        cells = [name]
        for _, key, form in columns[1:]:
            value = row.get(key)
            cells.append("-" if value is None else form(value))
        lines.append(cells)
    whole = [line for line in lines if len(line) == len(head)]
    widths = [max(len(line[i]) for line in whole) for i in range(len(head))]
    widths[0] = max(len(line[0]) for line in lines)
    for line in lines:
        # Names, settings and failures to the left, numbers to the right.
        words = [cell.ljust(width) for cell, width in zip(line[:2], widths)]
        numbers = [cell.rjust(width) for cell, width in zip(line[2:], widths[2:])]
        print("  ".join(words + numbers).rstrip())


def number(digits):
    return lambda value: f"{value:,.{digits}f}"


def megabytes(value):
    return f"{value / 1e6:,.0f}"


COMMON = [("rival", None, str), ("settings", "settings", str), ("n", "n", number(0))]
CHECK = [("recall", "recall", lambda value: f"{value:.4f}"), ("extra", "extra", number(0))]
MEMORY = [("peak MB", "peak_bytes", megabytes), ("B/item", "bytes_per_item", number(1))]
SEARCH_COLUMNS = [
    *COMMON,
    ("build s", "build_s", number(2)),
    ("queries/s", "queries_per_s", number(0)),
    ("p50 µs", "p50_us", number(1)),
    ("p99 µs", "p99_us", number(1)),
    *MEMORY,
    *CHECK,
    ("checked", "queries", number(0)),
]
JOIN_COLUMNS = [
    *COMMON,
    ("wall s", "wall_s", number(2)),
    ("CPU s", "cpu_s", number(2)),
    ("pairs", "pairs", number(0)),
    *MEMORY,
    *CHECK,
]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1_000_000, help="how many values (default 1000000)")
    parser.add_argument("--k", type=int, default=3, help="the most bits that may differ (default 3)")
    parser.add_argument("--data", choices=("uniform", "skew", "pileup"), default="uniform")
    parser.add_argument("--only", help="parts of names, with commas between: " + ",".join(["ours", *SEARCH, *JOIN]))
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--seconds", type=int, default=20, help="the most for a pass over the queries (default 20)")
    parser.add_argument("--timeout", type=int, default=600, help="the most seconds for one rival (default 600)")
    parser.add_argument("--memory", type=int, default=8, help="the most address space for one rival, in GB (default 8)")
    options = parser.parse_args()
    if not (1 <= options.n < 1 << 32 and 0 <= options.k <= 15):
        parser.error("--n goes from 1 to 4294967295, --k from 0 to 15")
    return options


def main():
    options = arguments()
    # A plain kill would leave the rival or the Redis server behind; as an exception it ends them too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside; the rows so far are above"))
    parts = options.only.split(",") if options.only else [""]
    chosen = [name for name in ["ours", *SEARCH, *JOIN] if any(part in name for part in parts)]
    if not chosen:
        sys.exit(f"--only {options.only} names nobody; give parts of: {', '.join(['ours', *SEARCH, *JOIN])}")
    if any(name in SEARCH and name not in ("mih", "gaoya") for name in chosen):
        prepare_python()
    prepare_rust()
    files = prepare_data(options.data, options.n, options.k)
    # A busy neighbour spoils times; the reader should know of it.
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores before"

    search, join = [], []
    for name in chosen:
        say(f"measuring {name} …")
        if name == "ours":
            search.append((name, our_row("hamming", options)))
            join.append((name, our_row("join", options)))
        elif name in JOIN:
            join.append((name, child([RUST, "join-" + name[-3:], files[0], str(options.k)], options)))
            say(json.dumps(join[-1][1]))
        else:
            search.append((name, search_row(name, files, options)))
            say(json.dumps(search[-1][1]))

    if options.json:
        facts = {"n": options.n, "k": options.k, "data": options.data, "date": str(datetime.date.today()), "load": load}
        print(json.dumps(facts | {"search": dict(search), "join": dict(join)}, indent=2))
        return
    print(f"{options.n:,} values, {options.data}, k = {options.k}, one thread, {datetime.date.today()}, {load}")
    for title, rows, columns in (("Search", search, SEARCH_COLUMNS), ("Self-join", join, JOIN_COLUMNS)):
        if rows:
            print(f"\n{title}")
            show(rows, columns)


if __name__ == "__main__":
    main()
