"""Reads what `leitong check --json` and `leitong pairs --json` print, ours or a rival's in the same form.

A pair is kept under its two ids in order, and its verdict as seen from the first: `contains` the other way round is `contained`.
"""

import json

WHOLE = ("exact", "near", "contains", "contained")
NOTHING = (None, "", "none", "different")
TURNED = {"contains": "contained", "contained": "contains"}


def whole(verdict):
    return verdict in WHOLE


def pair(a, b, verdict):
    return ((a, b), verdict) if a <= b else ((b, a), TURNED.get(verdict, verdict))


def objects(path):
    with open(path, encoding="utf-8") as lines:
        for at, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                yield json.loads(line)
            except json.JSONDecodeError as error:
                raise SystemExit(f"{path}, line {at}: not JSON ({error}); is this the output of --json?") from error


def matches(path):
    """{query: [(matched id, verdict), …]} of a `check`."""
    return {o["id"]: [(m["id"], m["verdict"]) for m in o.get("matches", ()) if m["verdict"] not in NOTHING] for o in objects(path)}


def pairs(path):
    """{(a, b): verdict} of `pairs`."""
    return dict(pair(o["a"], o["b"], o["verdict"]) for o in objects(path) if o["verdict"] not in NOTHING and o["a"] != o["b"])


def directed(found):
    """{(query, match): verdict as the query sees it} of a `check`."""
    return {(query, other): verdict for query, listed in found.items() for other, verdict in listed if other != query}


def both_ways(called, queries):
    """The same of `pairs`: what each of these queries would have been told."""
    result = {}
    for (a, b), verdict in called.items():
        if a in queries:
            result[a, b] = verdict
        if b in queries:
            result[b, a] = TURNED.get(verdict, verdict)
    return result


def two_verdicts(asked):
    """Pairs that were asked both ways round and got different answers."""
    return sum(a < b and (b, a) in asked and asked[b, a] != TURNED.get(verdict, verdict) for (a, b), verdict in asked.items())
