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


def as_pairs(found):
    """The same of a `check`. Second: pairs that were asked both ways and got two verdicts."""
    result, two = {}, set()
    for query, listed in found.items():
        for other, verdict in listed:
            if other == query:
                continue
            key, verdict = pair(query, other, verdict)
            if result.setdefault(key, verdict) != verdict:
                two.add(key)
    return result, two
