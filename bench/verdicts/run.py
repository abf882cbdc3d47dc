#!/usr/bin/env python3
"""Measures verdicts and dedup beside the rivals and writes bench/results: python3 bench/verdicts/run.py

Everything made on the way (data, corpora, virtual environment, the rivals' answers) stays under target/verdicts. README.md says what is
measured and how. Without ../shared/data there is nothing to measure.
"""

import argparse
import datetime
import os
import platform
import shlex
import sys
import time
from pathlib import Path

import sections
import sets
from measure import Failed
from tools import Ours, Rivals, say

RESULTS = sets.ROOT / "bench" / "results"


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.processor())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{model}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GB, Linux {platform.release()}, Python {platform.python_version()}"


def new_result():
    """Old results stay as they are."""
    date = datetime.datetime.now(datetime.timezone.utc).date()
    names = [f"{date}-verdicts.md"] + [f"{date}-verdicts-{n}.md" for n in range(2, 100)]
    return next(RESULTS / name for name in names if not (RESULTS / name).exists())


def document(head, run, parts, began):
    load = " ".join(f"{x:.1f}" for x in os.getloadavg())
    lines = head + [f"Took {(time.monotonic() - began) / 60:.0f} minutes; load at the end {load}.", "", sections.overview(run), ""]
    table = sections.beside(run)
    if table:
        lines += ["## Beside the rivals", table, ""]
    for title, text in parts:
        lines += [f"## {title}", text, ""]
    return "\n".join(lines).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="PART,…", help=f"of {', '.join(sections.SECTIONS)}; to standard output unless --out is given")
    parser.add_argument("--skip-rivals", action="store_true", help="measure ours alone")
    parser.add_argument("--fresh", action="store_true", help="measure the rivals again, not only rensa's dedup")
    parser.add_argument("--out", help="the result file, - for standard output [default: bench/results/DATE-verdicts.md, a new one each time]")
    parser.add_argument("--program", default=sets.ROOT / "target" / "release" / "leitong", help="our program [default: target/release/leitong]")
    parser.add_argument("--sizes", default="50000,200000,800000", help="documents of the mixed corpora; the middle one is compared [default: %(default)s]")
    parser.add_argument("--rounds", type=int, default=3, help="how often ours and rensa take turns [default: 3]")
    parser.add_argument("--timeout", type=int, default=1800, help="most seconds a program may take [default: 1800]")
    options = parser.parse_args()
    wanted = options.only.split(",") if options.only else list(sections.SECTIONS)
    unknown = [part for part in wanted if part not in sections.SECTIONS]
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}; there are {', '.join(sections.SECTIONS)}")
    try:
        sizes = [int(size) for size in options.sizes.split(",")]
        sets.unpack()
        ours = Ours(options.program, options.timeout)
        rivals = None if options.skip_rivals else Rivals(options.fresh, options.timeout)
    except (sets.Absent, Failed, ValueError) as problem:
        sys.exit(f"skipped: {problem}")
    out = options.out or ("-" if options.only else str(new_result()))
    run = sections.Run(ours, rivals, sizes, options.rounds)
    began, now = time.monotonic(), datetime.datetime.now(datetime.timezone.utc)
    head = [f"# Verdicts and dedup, {now:%Y-%m-%d}", f"{machine()}. Begun {now:%H:%M} UTC at load {' '.join(f'{x:.1f}' for x in os.getloadavg())}.", ""]
    head += [f"`python3 bench/verdicts/run.py {shlex.join(sys.argv[1:])}`".replace(" `", "`"), "", f"{ours.version()}. "]
    if rivals:
        head += ["", "Rivals: " + "; ".join(f"{rivals.version(name)}: {text}" for name, text in rivals.settings.items()) + "."]
    head += ["", "Whole-document verdicts are exact, near, contains and contained; any verdict is these and quotes.", ""]
    parts = []
    for part in wanted:
        title, measure = sections.SECTIONS[part]
        say(f"{part} …")
        try:
            parts.append((title, measure(run)))
        except Failed as failed:
            parts.append((title, f"Not measured: {failed}."))
            say(f"  not measured: {failed}")
        if out != "-":
            Path(out).write_text(document(head, run, parts, began), encoding="utf-8")
    if out == "-":
        print(document(head, run, parts, began))
    else:
        print(out)


if __name__ == "__main__":
    main()
