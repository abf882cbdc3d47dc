#!/usr/bin/env python3
"""Scores verdicts against the truth of ../shared/data.

    leitong check edits_variants.jsonl --db DB --json --limit 1000 > M;  score.py edits --matches M
    leitong pairs lctt_revisions_docs.jsonl --json > P;                  score.py pairs --set lctt --pairs P
    leitong pairs bases.jsonl variants.jsonl --json > P;                 score.py clusters --pairs P [--other P2 …]
    score.py same --matches M --pairs P                                  online against batch
    score.py dedup --truth T --kept OUT                                  a run of `dedup` over a corpus of corpus.py

"Whole" verdicts are exact, near, contains and contained; "any" is these and quotes, and whatever else is listed.
"""

import argparse
import sys
import unicodedata
from collections import Counter, defaultdict

import answers
import sets
from answers import whole
from table import Goal, goals, markdown

PASSAGE = 80  # characters that two texts must have in common, letter by letter, to count as sharing a passage
FOUND_WHOLE = ("char_", "syn_", "sent_", "para_shuffle", "boiler_", "trad_", "width_", "whitespace", "trunc_", "merge", "html", "repost_mix")


def letters(text):
    """NFKC, lower case, letters and digits only."""
    return "".join(c for c in unicodedata.normalize("NFKC", text).lower() if c.isalnum())


def share(part, all_of_it):
    return part / all_of_it if all_of_it else None


class Passages:
    """Do two documents share a passage, letter by letter?"""

    def __init__(self, texts, length=PASSAGE):
        self.texts, self.length, self.grams = texts, length, {}

    def of(self, id):
        if id not in self.grams:
            text = letters(self.texts.get(id, ""))
            self.grams[id] = {hash(text[at : at + self.length]) for at in range(len(text) - self.length + 1)}
        return self.grams[id]

    def shared(self, a, b):
        return not self.of(a).isdisjoint(self.of(b))


def jaccard(a, b, n=5):
    """Exact Jaccard of the character n-grams of two texts."""
    a, b = ({text[at : at + n] for at in range(max(1, len(text) - n + 1))} for text in (letters(a), letters(b)))
    return len(a & b) / len(a | b)


# ------------------------------------------------------------------------------------------------ edits


def edits(truth, found, texts_of):
    """Rows by (kind, size), the wrong matches, and the goals. `texts_of(ids)` gives texts, asked only for wrong matches."""
    kinds = defaultdict(Counter)
    wrong, right = [], 0
    for edit in truth:
        row = kinds[edit.kind, edit.size]
        row["n"] += 1
        row["seconds"] += edit.second is not None
        row["unanswered"] += edit.variant not in found
        listed = dict(found.get(edit.variant, ()))
        for id, verdict in listed.items():
            if id == edit.base:
                row["any"] += 1
                row["whole"] += whole(verdict)
                right += 1
            elif id == edit.second:
                row["second"] += 1
                row["second whole"] += whole(verdict)
                right += 1
            elif id != edit.variant:
                row["wrong"] += 1
                row["wrong whole"] += whole(verdict)
                wrong.append((edit, id, verdict))
    ids = {id for edit, other, _ in wrong for id in (edit.base, edit.second, other) if id}
    passages = Passages(texts_of(ids) if ids else {})
    cases = []
    for edit, other, verdict in wrong:
        common = any(passages.shared(other, source) for source in (edit.base, edit.second) if source)
        cases.append((edit, other, verdict, common))
    n = len(truth)
    total = {
        "queries": n,
        "unanswered": sum(row["unanswered"] for row in kinds.values()),
        "recall": share(sum(row["any"] for row in kinds.values()), n),
        "recall whole": share(sum(row["whole"] for row in kinds.values()), n),
        "precision": share(right, right + len(wrong)),
        "wrong": len(wrong),
        "wrong, passage shared": sum(case[3] for case in cases),
        "wrong whole": sum(whole(case[2]) for case in cases),
        "wrong whole, passage shared": sum(whole(case[2]) and case[3] for case in cases),
    }
    return {"kinds": dict(sorted(kinds.items())), "cases": cases, "total": total, "goals": edit_goals(kinds, total)}


def edit_goals(kinds, total):
    listed = []

    def lowest(what, sign_of, wanted, rows):
        if rows:
            value, kind = min((sign_of(row), kind) for kind, row in rows)
            listed.append(Goal(f"{what} (lowest: {kind[0]} {kind[1]})", value, ">=", wanted))

    def of(key, against="n"):
        return lambda row: row[key] / row[against] if row[against] else 0.0

    long = [(k, row) for k, row in kinds.items() if k[1] == "long" and k[0].startswith(FOUND_WHOLE)]
    short = [(k, row) for k, row in kinds.items() if k[1] == "short"]
    lowest("base found, every long whole-document kind", of("any"), 0.995, long)
    lowest("by a whole-document verdict", of("whole"), 0.97, long)
    for kind, what, key, against, wanted in (
        ("merge", "merge: second source", "second", "seconds", 0.995),
        ("quote_exact", "quote_exact", "any", "n", 0.97),
        ("quote_edit3", "quote_edit3", "any", "n", 0.95),
        ("sent_insert_20", "sent_insert_20: host", "second", "seconds", 0.80),
    ):
        if (kind, "long") in kinds:
            listed.append(Goal(what, of(key, against)(kinds[kind, "long"]), ">=", wanted))
    if short:
        listed.append(Goal("short kinds, mean", sum(of("any")(row) for _, row in short) / len(short), ">=", 0.985))
        lowest("short kinds, every one", of("any"), 0.90, short)
    per = 1000 / max(1, total["queries"])
    listed.append(Goal("wrong per 1,000 queries, any verdict, shared passages aside", (total["wrong"] - total["wrong, passage shared"]) * per, "<=", 2.0))
    listed.append(Goal("wrong per 1,000 queries, whole-document verdicts", total["wrong whole"] * per, "<=", 0.1))
    return listed


def edits_text(result):
    rows = []
    for (kind, size), row in result["kinds"].items():
        n, seconds = row["n"], row["seconds"]
        second = share(row["second"], seconds)
        rows.append((f"{kind} {size}", n, row["any"] / n, row["whole"] / n, second, share(row["second whole"], seconds), row["wrong"], row["wrong whole"]))
    total = result["total"]
    per = 1000 / max(1, total["queries"])
    summary = (
        f"{total['queries']:,} queries, {total['unanswered']:,} without an answer; base found {total['recall']:.4f} by any verdict, "
        f"{total['recall whole']:.4f} by a whole-document one; wrong per 1,000: {total['wrong'] * per:.2f} by any verdict, of them "
        f"{total['wrong, passage shared'] * per:.2f} share {PASSAGE} characters or more with a true source; "
        f"{total['wrong whole'] * per:.2f} by a whole-document verdict, of them {total['wrong whole, passage shared'] * per:.2f} with such a passage."
    )
    header = ("edit", "n", "base, any", "base, whole", "second, any", "second, whole", "wrong", "wrong, whole")
    return "\n\n".join([goals(result["goals"]), summary, markdown(header, rows)])


# ------------------------------------------------------------------------------------------------ labelled pairs


def labelled(labels, called):
    """Counts by label, and the called pairs that have none."""
    rows = {label: Counter(n=n) for label, n in sorted(Counter(labels.values()).items())}
    others = {}
    for key, verdict in called.items():
        label = labels.get(key)
        if label is None:
            others[key] = verdict
            continue
        row = rows[label]
        row["any"] += 1
        row["whole"] += whole(verdict)
        row[verdict] += 1
    return {"labels": rows, "others": others}


def group_goals(name, result):
    rows, others = result["labels"], result["others"]
    wrong = sum(whole(v) for v in others.values())

    def rate(key, *labels):
        return share(sum(rows[x][key] for x in labels if x in rows), sum(rows[x]["n"] for x in labels if x in rows))

    if name == "lctt":
        hits = rows["1"]["whole"]
        return [
            Goal("recall by whole-document verdicts", rate("whole", "1"), ">=", 0.99),
            Goal("precision of whole-document verdicts", share(hits, hits + wrong), ">=", 0.997),
        ]
    if name in ("mdn_zh", "mdn_en"):
        return [
            Goal("pairs not marked weak, any verdict", rate("any", "1"), ">=", 0.985),
            Goal("by a whole-document verdict", rate("whole", "1"), ">=", 0.965),
        ]
    if name == "rmrb_natural":
        positives = ("same_normalised", "contained", "same_numbers")
        lowest = min((rate("any", label), label) for label in positives)
        return [
            Goal("template_like called by whole-document verdicts", rate("whole", "template_like"), "<=", 0.02),
            Goal("template_like called by any verdict", rate("any", "template_like"), "<=", 0.04),
            Goal("same_normalised, contained, same_numbers found, together", rate("any", *positives), ">=", 0.98),
            Goal(f"each of the three (lowest: {lowest[1]})", lowest[0], ">=", 0.98),
        ]
    if name == "pawsx_zh":
        return [Goal("swapped meaning called `exact`, other letters", result["exact, other letters"], "==", 0)]
    return []


def labelled_pairs(name, called, texts_of):
    labels = sets.labelled_pairs(name)
    result = labelled(labels, called)
    if name == "pawsx_zh":
        exact = [key for key, label in labels.items() if label == "0" and called.get(key) == "exact"]
        texts = texts_of({id for key in exact for id in key})
        result["exact, same letters"] = sum(letters(texts[a]) == letters(texts[b]) for a, b in exact)
        result["exact, other letters"] = len(exact) - result["exact, same letters"]
    if name == "law_versions_zh":
        cluster = sets.law_clusters()
        result["same law"] = sum(cluster.get(a) == cluster.get(b) for a, b in result["others"])
    strangers = [key for key, verdict in result["others"].items() if whole(verdict)]
    if len(strangers) <= 2000:
        texts = texts_of({id for key in strangers for id in key})
        result["alike"] = sum(jaccard(texts[a], texts[b]) >= 0.5 for a, b in strangers)
    result["goals"] = group_goals(name, result)
    return result


def pairs_text(name, result):
    others = result["others"]
    strangers = sum(whole(v) for v in others.values())
    rows = []
    for label, row in result["labels"].items():
        n = row["n"]
        rows.append((label, n, row["any"] / n, row["whole"] / n, *(row[v] for v in (*answers.WHOLE, "quotes"))))
    kinds = Counter(others.values())
    rows.append(("no label", len(others), None, None, *(kinds[v] for v in (*answers.WHOLE, "quotes"))))
    lines = [f"Called but not labelled: {len(others):,} pairs by any verdict, {strangers:,} by a whole-document one"]
    if strangers and "alike" in result:
        lines[0] += f", of them {result['alike']:,} with a Jaccard of 0.5 or more (five letters)"
    lines[0] += "."
    if "same law" in result:
        lines.append(f"{result['same law']:,} of these are versions of one law.")
    if "exact, same letters" in result:
        lines.append(f"`exact` and other meaning: {result['exact, other letters']} with other letters, {result['exact, same letters']} where only punctuation or case differs.")
    parts = [goals(result["goals"])] if result["goals"] else []
    return "\n\n".join([*parts, markdown(("label", "pairs", "any", "whole", *answers.WHOLE, "quotes"), rows), " ".join(lines)])


# ------------------------------------------------------------------------------------------------ clusters, orders, ways


def clusters(truth, called):
    """Recall of (base, variant) where all versions are in one collection; pairs of no common source."""
    sources = defaultdict(set)
    kinds = defaultdict(Counter)
    for edit in truth:
        sources[edit.base].add(edit.base)
        sources[edit.variant].update(x for x in (edit.base, edit.second) if x)
        row = kinds[edit.kind, edit.size]
        verdict = called.get(tuple(sorted((edit.base, edit.variant))))
        row["n"] += 1
        row["any"] += verdict is not None
        row["whole"] += whole(verdict)
    strangers = [(key, v) for key, v in called.items() if sources[key[0]].isdisjoint(sources[key[1]])]
    n = sum(row["n"] for row in kinds.values())
    total = {"pairs": len(called), "recall": share(sum(r["any"] for r in kinds.values()), n), "whole": share(sum(r["whole"] for r in kinds.values()), n)}
    total |= {"unrelated": len(strangers), "unrelated whole": sum(whole(v) for _, v in strangers)}
    return {"kinds": dict(sorted(kinds.items())), "total": total, "goals": [Goal("(base, variant) recall", total["recall"], ">=", 0.99)]}


def clusters_text(result):
    total = result["total"]
    low = [(f"{k} {s}", r["n"], r["any"] / r["n"], r["whole"] / r["n"]) for (k, s), r in result["kinds"].items() if r["any"] < 0.99 * r["n"]]
    text = f"{total['pairs']:,} pairs called; of no common source {total['unrelated']:,} by any, {total['unrelated whole']:,} by a whole-document verdict; recall by a whole-document verdict {total['whole']:.4f}."
    parts = [goals(result["goals"]), text]
    return "\n\n".join(parts + ([markdown(("kinds under 0.99", "n", "any", "whole"), low)] if low else []))


def changes(one, two):
    """How two sets of verdicts over the same pairs differ."""
    keys = one.keys() | two.keys()
    counts = Counter(pairs=len(keys))
    for key in keys:
        a, b = one.get(key), two.get(key)
        counts["verdict"] += a != b
        counts["called"] += (a is None) != (b is None)
        counts["duplicate"] += whole(a) != whole(b)
    return counts


def changes_text(listed):
    """[(what, counts)]"""
    rows = [(what, c["pairs"], c["verdict"], share(c["verdict"], c["pairs"]), c["called"], c["duplicate"]) for what, c in listed]
    return markdown(("", "pairs called by either", "other verdict", "share", "called by one only", "duplicate for one only"), rows)


# ------------------------------------------------------------------------------------------------ dedup


def dedup(truth, kept):
    """`truth`: [(original, copy, language, rate)]; `kept`: ids in the output. Every other document is nobody's copy."""
    rows = defaultdict(Counter)
    for original, copy, language, rate in truth:
        stayed = (original in kept) + (copy in kept)
        for key in (("all", "all"), (language, "all"), ("all", rate)):
            rows[key]["n"] += 1
            rows[key]["found"] += stayed == 1
            rows[key]["lost"] += stayed == 0
    return rows


def dedup_result(truth, ids, kept):
    kept = set(kept)
    rows = dedup(truth, kept)
    planted = {id for row in truth for id in row[:2]}
    return {
        "rows": rows,
        "documents": len(ids),
        "kept": len(kept),
        "invented": len(kept - set(ids)),
        "recall": share(rows["all", "all"]["found"], rows["all", "all"]["n"]),
        "by": {key: share(row["found"], row["n"]) for key, row in rows.items()},
        # both of a pair gone: one of the two was removed with nothing left to stand for it
        "false": sum(id not in kept and id not in planted for id in ids) + rows["all", "all"]["lost"],
    }


# ------------------------------------------------------------------------------------------------ command line


def edit_texts(ids):
    return sets.texts(sets.edit_files(), ids)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_subparsers(dest="what", required=True)
    command = what.add_parser("edits")
    command.add_argument("--matches", required=True)
    command.add_argument("--wrong", help="write the wrong matches there: edit, size, variant, base, second, match, verdict, shared passage")
    command.add_argument("--missed", help="write the missed ones there: edit, size, variant, base or second that was not found")
    command = what.add_parser("pairs")
    command.add_argument("--set", required=True, choices=sets.PAIR_SETS)
    command.add_argument("--pairs", required=True)
    command.add_argument("--wrong", help="write the called pairs without a label there")
    command.add_argument("--missed", help="write the labelled pairs that were not called by a whole-document verdict there")
    command = what.add_parser("clusters")
    command.add_argument("--pairs", required=True)
    command.add_argument("--other", nargs="*", default=[], help="the same documents in another order")
    command = what.add_parser("same")
    command.add_argument("--matches", required=True)
    command.add_argument("--pairs", required=True)
    command = what.add_parser("dedup")
    command.add_argument("--truth", required=True)
    command.add_argument("--input", required=True)
    command.add_argument("--kept", required=True)
    options = parser.parse_args(arguments)
    if options.what in ("edits", "pairs", "clusters"):
        try:
            sets.unpack()
        except sets.Absent as absent:
            sys.exit(f"skipped: {absent}")
    try:
        COMMANDS[options.what](options)
    except FileNotFoundError as error:
        sys.exit(str(error))


def write(path, rows):
    if path:
        with open(path, "w", encoding="utf-8") as out:
            out.writelines("\t".join("" if cell is None else str(cell) for cell in row) + "\n" for row in rows)


def command_edits(options):
    truth, found = sets.edit_truth(), answers.matches(options.matches)
    result = edits(truth, found, edit_texts)
    print(edits_text(result))
    write(options.wrong, ((e.kind, e.size, e.variant, e.base, e.second, other, verdict, common) for e, other, verdict, common in result["cases"]))
    missed = ((e.kind, e.size, e.variant, x) for e in truth for x in (e.base, e.second) if x and x not in dict(found.get(e.variant, ())))
    write(options.missed, missed)


def command_pairs(options):
    file, called = sets.pair_documents(options.set), answers.pairs(options.pairs)
    result = labelled_pairs(options.set, called, lambda ids: sets.texts([file], ids))
    print(pairs_text(options.set, result))
    write(options.wrong, ((*key, verdict) for key, verdict in sorted(result["others"].items())))
    labels = sets.labelled_pairs(options.set)
    write(options.missed, ((*key, label, called.get(key)) for key, label in labels.items() if not whole(called.get(key))))


def command_clusters(options):
    called = answers.pairs(options.pairs)
    print(clusters_text(clusters(sets.edit_truth(), called)))
    if options.other:
        print("\n" + changes_text([(path, changes(called, answers.pairs(path))) for path in options.other]))


def command_same(options):
    """What each query was told, against what `pairs` says of it; pairs without a query are left out."""
    found = answers.matches(options.matches)
    online = answers.directed(found)
    batch = answers.both_ways(answers.pairs(options.pairs), found.keys())
    print(changes_text([("online against batch", changes(online, batch))]))
    print(f"\nAsked both ways round, {answers.two_verdicts(online):,} pairs got two verdicts.")


def command_dedup(options):
    import corpus

    truth = corpus.read_truth(options.truth)
    ids = [d["id"] for d in sets.documents(options.input)]
    result = dedup_result(truth, ids, [d["id"] for d in sets.documents(options.kept)])
    print(f"{result['documents']:,} documents, {result['kept']:,} kept, recall of planted copies {result['recall']:.4f}, false removals {result['false']:,}")
    print("\n" + markdown(("", "recall"), [(" ".join(key), value) for key, value in sorted(result["by"].items())]))


COMMANDS = {"edits": command_edits, "pairs": command_pairs, "clusters": command_clusters, "same": command_same, "dedup": command_dedup}

if __name__ == "__main__":
    main()
