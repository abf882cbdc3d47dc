"""The measurements, a function each. Each returns Markdown; what several of them share stands in a `Run`."""

import filecmp
import json
import random
from collections import defaultdict

import answers
import corpus
import score
import sets
from measure import Failed
from table import Goal, goals, markdown, met
from tools import say

RIVALS = ("rensa", "rensa+normalised", "gaoya", "datasketch", "simhash")
DEDUP_RIVALS = {"gaoya": None, "datasketch": 50_000, "simhash": 20_000}  # name -> most documents
ORDERS = 3


class Run:
    def __init__(self, ours, rivals, sizes, rounds):
        self.ours, self.rivals, self.sizes, self.rounds = ours, rivals, sizes, rounds
        self.beside = defaultdict(dict)  # tool -> {column: figure}, for the table of all
        self.goals = []
        self.matches = None  # of the edits, for `online`
        self.took = []  # (tool, what, documents, measurement)

    def judge(self, section, listed):
        self.goals += [(section, goal) for goal in listed]

    def note(self, tool, what, documents, took):
        self.took.append((tool, what, documents, took))


def of_rivals(run, ask):
    """Calls `ask(name)` for every rival; one that fails is a line in the result, not the end of it."""
    if run.rivals is None:
        return
    for name in RIVALS:
        try:
            ask(name)
        except Failed as failed:
            run.beside[name]["failed"] = str(failed)


# ------------------------------------------------------------------------------------------------ verdicts


def edits(run):
    files, queries = sets.edit_files(), sets.DATA / "edits_variants.jsonl"
    truth = sets.edit_truth()

    def enter(tool, result):
        total = result["total"]
        per = 1000 / total["queries"]
        run.beside[tool] |= {"edits recall": total["recall"], "edits precision": total["precision"], "edits wrong per 1,000": total["wrong"] * per}

    def ask(name):
        found, took = run.rivals.match(name, files, queries)
        enter(name, score.edits(truth, answers.matches(found), score.edit_texts))
        run.note(name, "edits", len(truth), took)

    of_rivals(run, ask)
    db, added = run.ours.add(files, "edits")
    run.matches, checked = run.ours.check(queries, db, "edits")
    result = score.edits(truth, answers.matches(run.matches), score.edit_texts)
    enter("leitong", result)
    run.judge("edits", result["goals"])
    return f"{score.edits_text(result)}\n\nAdding took {cost(added)}, checking {cost(checked)}."


def labelled(name):
    def section(run):
        file = sets.pair_documents(name)

        def read(path):
            return score.labelled_pairs(name, answers.pairs(path), lambda ids: sets.texts([file], ids))

        def enter(tool, result):
            run.beside[tool] |= figures(name, result)

        def ask(rival):
            found, took = run.rivals.pairs(rival, file)
            enter(rival, read(found))
            run.note(rival, name, None, took)

        of_rivals(run, ask)
        found, took = run.ours.pairs([file], name)
        result = read(found)
        enter("leitong", result)
        run.judge(name, result["goals"])
        return f"{score.pairs_text(name, result)}\n\nIt took {cost(took)}."

    return section


def figures(name, result):
    """The columns of a set in the table of all tools: by whole-document verdicts, as `dedup` would act."""
    rows = result["labels"]
    strangers = sum(map(score.whole, result["others"].values()))
    if name == "rmrb_natural":
        wanted = [rows[label] for label in ("same_normalised", "contained", "same_numbers")]
        return {"rmrb found": sum(row["whole"] for row in wanted) / sum(row["n"] for row in wanted), "rmrb templates called": rows["template_like"]["whole"]}
    if "1" in rows and name in ("lctt", "mdn_zh", "mdn_en"):
        row = rows["1"]
        found = {f"{name} recall": row["whole"] / row["n"]}
        return found | ({"lctt precision": score.share(row["whole"], row["whole"] + strangers)} if name == "lctt" else {})
    return {}


def cost(took):
    return f"{took['wall_s']:.1f} s, {took['cpu_s']:.1f} CPU seconds, {took['peak_bytes'] / 1e6:,.0f} MB at most (load {took['load']:.1f})"


def shuffled(lines, order, name, run):
    """A file of these lines in order 0 (as they are), 1, 2 …"""
    lines = list(lines)
    if order:
        random.Random(order).shuffle(lines)
    file = run.ours.file(f"{name}-order{order}.jsonl")
    file.write_text("".join(lines), encoding="utf-8")
    return file


def lines_of(*files):
    for file in files:
        with open(file, encoding="utf-8") as opened:
            yield from opened


def clusters(run):
    run.ours.need("pairs")
    truth = sets.edit_truth()
    lines = list(lines_of(sets.DATA / "edits_bases.jsonl", sets.DATA / "edits_variants.jsonl"))
    batch, online = [], []
    for order in range(ORDERS + 1):
        file = shuffled(lines, order, "clusters", run)
        found, took = run.ours.pairs([file], f"clusters{order}")
        batch.append(answers.pairs(found))
        say(f"clusters, order {order}: {cost(took)}")
        db, _ = run.ours.add([file], "clusters")
        online.append(answers.directed(answers.matches(run.ours.check(file, db, f"clusters{order}")[0])))
        file.unlink()
    result = score.clusters(truth, batch[0])
    rows = [(f"pairs, order {order}", score.changes(batch[0], other)) for order, other in enumerate(batch) if order]
    rows += [(f"add and check, order {order}", score.changes(online[0], other)) for order, other in enumerate(online) if order]
    everything = {json.loads(line)["id"] for line in lines}
    rows += [("add and check against pairs, order 0", score.changes(online[0], answers.both_ways(batch[0], everything)))]
    worst = max(counts["verdict"] / max(1, counts["pairs"]) for _, counts in rows[:-1])
    result["goals"].append(Goal("verdicts that change with the order, at worst", worst, "<=", 0.005))
    run.judge("clusters", result["goals"])
    text = (
        f"{len(lines):,} documents in one collection; order 0 has the bases first, the others are shuffled. Compared with order 0, a pair counted once "
        "by `pairs`, and once each way by `check`, which asks from both sides:"
    )
    ways = f"Asked both ways round, {answers.two_verdicts(online[0]):,} pairs got two verdicts."
    return "\n\n".join([score.clusters_text(result), text, score.changes_text(rows), ways])


def online(run):
    """What `pairs` says of documents against what `check` says where the same are stored."""
    run.ours.need("pairs")
    files, queries = sets.edit_files(), sets.DATA / "edits_variants.jsonl"
    if run.matches is None:
        db, _ = run.ours.add(files, "edits")
        run.matches, _ = run.ours.check(queries, db, "edits")
    asked = answers.matches(run.matches)
    indexed = {d["id"] for file in files for d in sets.documents(file)}
    texts = {json.loads(line)["id"]: line for line in lines_of(queries)}
    rank, packs = defaultdict(int), defaultdict(list)
    for edit in sets.edit_truth():
        packs[rank[edit.base]].append(edit.variant)
        rank[edit.base] += 1
    rows, before, whole = [], [], 0
    for pack, variants in sorted(packs.items()):
        file = run.ours.file(f"pack{pack}.jsonl")
        file.write_text("".join(texts[id] for id in variants), encoding="utf-8")
        found = answers.pairs(run.ours.pairs([*files, file], f"pack{pack}")[0])
        variants = set(variants)
        batch = answers.both_ways(found, variants)
        db, _ = run.ours.add([*files, file], "pack")
        checked = answers.matches(run.ours.check(file, db, f"pack{pack}")[0])
        rows.append((f"pack {pack + 1}, {len(variants):,} variants", score.changes(answers.directed(checked), batch)))
        whole += rows[-1][1]["duplicate"]
        single = answers.directed({id: asked.get(id, []) for id in variants})
        batch = {key: v for key, v in batch.items() if key[1] in indexed}
        before.append((f"pack {pack + 1}, asked for where it is not stored", score.changes(single, batch)))
    db, _ = run.ours.add([*files, queries], "everything")
    checked = answers.matches(run.ours.check(queries, db, "everything")[0])
    batch = answers.both_ways(answers.pairs(run.ours.pairs([*files, queries], "everything")[0]), checked.keys())
    rows.append(("all, stored and then asked for", score.changes(answers.directed(checked), batch)))
    listed = [
        Goal("(variant, document) pairs that are duplicates for one way only, packs", whole, "==", 0),
        Goal("the same, everything stored", rows[-1][1]["duplicate"], "==", 0),
    ]
    run.judge("online", listed)
    text = (
        "A pack has at most one variant of each base. Bases, hosts, background and a pack are stored, and its variants asked for by `check`, against `pairs` "
        "over the same documents; `all`: the same with all variants. Last lines, for information: the variants of a pack asked for where only bases, hosts "
        "and background are stored. That is another collection: a wording that several variants of the pack have is more common where these are stored."
    )
    return "\n\n".join([goals(listed), text, score.changes_text(rows + before)])


# ------------------------------------------------------------------------------------------------ dedup


def ids(file):
    return [d["id"] for d in sets.documents(file)]


def deduplicated(name, kept):
    return score.dedup_result(corpus.read_truth(corpus.truth_path(name)), ids(corpus.path(name)), ids(kept))


def dedup_row(tool, result, took):
    by = result["by"]
    speed = result["documents"] / took["cpu_s"]
    rates = [by["all", rate] for rate in corpus.RATES]
    return (tool, result["documents"], speed, took["wall_s"], took["peak_bytes"] // 10**6, result["recall"], by["zh", "all"], by["en", "all"], *rates, result["false"], took["load"])


DEDUP_HEADER = ("", "documents", "docs/s per core", "wall s", "peak MB", "recall", "zh", "en", *(f"{float(r):.0%}" for r in corpus.RATES), "false removals", "load")


def dedup(run):
    main = sorted(run.sizes)[len(run.sizes) // 2]
    name = f"mixed-{main}"
    file = corpus.ensure(name, say)
    mine, rensa, problem = [], [], None
    for _ in range(run.rounds):  # in turns, so that a busy neighbour hits both
        try:
            out, removed, took = run.ours.dedup(file, name, threads=1)
            mine.append(took)
        except Failed as failed:
            problem = failed
        if run.rivals:
            theirs, took = run.rivals.dedup("rensa", file, again=True)
            rensa.append(took)
    rows = [dedup_row("rensa, same run", rensa_result := deduplicated(name, theirs), median(rensa))] if rensa else []
    rows += rival_rows(run, main)
    text = (
        "Documents a second and core: documents by CPU seconds, user and system, of the process and its children, reading and writing JSONL included; "
        f"everybody with one thread. leitong and rensa in turns, {run.rounds} times each, the median; other rivals may come from an earlier run on the same input (their load is "
        "that of then). Recall: of each planted pair exactly one stays. False removals: documents that are nobody's copy, and pairs of which none stays."
    )
    if problem:
        return "\n\n".join([f"leitong not measured: {problem}.", text, markdown(DEDUP_HEADER, rows)])
    ours, result, listed = median(mine), deduplicated(name, out), []
    rows.insert(0, dedup_row("leitong", result, ours))
    if rensa:
        listed.append(Goal("documents a second and core, times rensa's", median(rensa)["cpu_s"] / ours["cpu_s"], ">=", 10.0))
        listed.append(Goal("recall, against rensa's", result["recall"], ">=", rensa_result["recall"]))
    listed.append(Goal("peak memory, bytes", ours["peak_bytes"], "<=", 1_000_000_000))
    listed.append(Goal("false removals", result["false"], "==", 0))
    variants, same = other_ways(run, file, name, out, removed)
    listed += same
    growth = [growth_row(run, size, (ours, result) if size == main else None) for size in sorted(run.sizes)]
    run.judge("dedup", listed)
    parts = [goals(listed), text, markdown(DEDUP_HEADER, rows), "Other ways to run it, and whether the bytes of both outputs are the same:"]
    parts += [markdown(("", "wall s", "CPU s", "peak MB", "same output", "same evidence"), variants), "Growth:"]
    parts += [markdown(("documents", "docs/s per core", "wall s", "peak MB", "recall", "false removals"), growth), evidence_text(corpus.read_truth(corpus.truth_path(name)), removed, result["documents"] - result["kept"])]
    for made in (out, removed):
        made.unlink()
    return "\n\n".join(parts)


def median(measured):
    return sorted(measured, key=lambda took: took["cpu_s"])[(len(measured) - 1) // 2]


def rival_rows(run, main):
    rows = []
    for tool, most in DEDUP_RIVALS.items() if run.rivals else ():
        name = f"mixed-{min(main, most or main)}"
        try:
            kept, took = run.rivals.dedup(tool, corpus.ensure(name, say))
            rows.append(dedup_row(f"{tool}, {took['date'][:10]}", deduplicated(name, kept), took))
        except Failed as failed:
            rows.append((f"{tool}: {failed}", *[None] * (len(DEDUP_HEADER) - 1)))
    return rows


def other_ways(run, file, name, out, removed):
    """All cores, two threads, little memory: the same bytes?"""
    rows, listed = [], []
    for what, extra, threads in (("all cores", (), None), ("2 threads", (), 2), ("--memory 256M", ("--memory", "256M"), None)):
        try:
            other, their_evidence, took = run.ours.dedup(file, f"{name}-other", extra, threads)
        except Failed as failed:
            rows.append((f"{what}: {failed}", *[None] * 5))
            listed.append(Goal(f"{what}: the same bytes", None, "==", True))
            continue
        same = [filecmp.cmp(a, b, shallow=False) for a, b in ((out, other), (removed, their_evidence))]
        rows.append((what, took["wall_s"], took["cpu_s"], took["peak_bytes"] // 10**6, *same))
        listed.append(Goal(f"{what}: the same bytes", all(same), "==", True))
        if "256M" in what:
            listed.append(Goal("--memory 256M: peak bytes", took["peak_bytes"], "<=", 256 * 2**20))
        other.unlink(), their_evidence.unlink()
    return rows, listed


def growth_row(run, size, known):
    name = f"mixed-{size}"
    try:
        if known is None:
            out, _, took = run.ours.dedup(corpus.ensure(name, say), name, threads=1)
            known = took, deduplicated(name, out)
            for made in (out, run.ours.file(f"{name}.removed.jsonl")):
                made.unlink()
    except Failed as failed:
        return (f"{size:,}: {failed}", *[None] * 5)
    took, result = known
    return (f"{size:,}", size / took["cpu_s"], took["wall_s"], took["peak_bytes"] // 10**6, result["recall"], result["false"])


def evidence_text(truth, removed, gone):
    """Does the evidence file name every removed document, and the right one as kept? Its partner stands anywhere in the line."""
    partner = {}
    for original, copy, _, _ in truth:
        partner[original], partner[copy] = copy, original
    try:
        rows = list(answers.objects(removed))
        named = sum(row["id"] in partner and json.dumps(partner[row["id"]]) in json.dumps(row) for row in rows)
        return f"The evidence file has {len(rows):,} lines for {gone:,} removed documents; {named:,} name the planted partner."
    except (SystemExit, KeyError, TypeError, OSError) as error:
        return f"The evidence file could not be read as lines of JSON with an `id`: {error!r}."


# ------------------------------------------------------------------------------------------------ one template, one page


def pile(kind, names, rival_names, wanted_of):
    """Corpora of one template or one page: how many stay, and whether time grows with the number of documents only.
    The rivals compare each page of a template with most of the others, so they get fewer."""

    def section(run):
        rows, listed = [], []
        for name in names:
            count = corpus.parse(name)[1]
            file = corpus.ensure(name, say)
            wanted = wanted_of(count)
            try:
                out, removed, took = run.ours.dedup(file, name)
                kept = sum(1 for _ in lines_of(out))
                rows.append(("leitong", name, kept, wanted, took["wall_s"], count / took["cpu_s"], took["peak_bytes"] // 10**6))
                out.unlink(), removed.unlink()
            except Failed as failed:
                kept = None
                rows.append((f"leitong: {failed}", name, *[None] * 5))
            listed.append(Goal(f"{name}: kept", kept, "==", wanted))
        for tool in ("rensa", "gaoya") if run.rivals else ():
            rows += [pile_row(run, tool, name, wanted_of) for name in rival_names]
        run.judge(kind, listed)
        return "\n\n".join([goals(listed), markdown(("", "corpus", "kept", "wanted", "wall s", "docs/s per core", "peak MB"), rows)])

    return section


def pile_row(run, tool, name, wanted_of):
    count = corpus.parse(name)[1]
    try:
        kept, took = run.rivals.dedup(tool, corpus.ensure(name, say))
    except Failed as failed:
        return (f"{tool}: {failed}", name, *[None] * 5)
    return (tool, name, sum(1 for _ in lines_of(kept)), wanted_of(count), took["wall_s"], count / took["cpu_s"], took["peak_bytes"] // 10**6)


TEMPLATES = [f"template85-zh-{n}" for n in (25000, 50000, 100000)] + [f"template{s}-100000" for s in ("60-zh", "60-en", "85-en")]
RIVAL_TEMPLATES = [f"template{s}-10000" for s in ("60-zh", "85-zh", "60-en", "85-en")]
COPIES = [f"copies-zh-{n}" for n in (25000, 50000, 100000)] + ["copies-en-100000"]

SECTIONS = {
    "edits": ("Edited Chinese news", edits),
    **{name: (name, labelled(name)) for name in sets.PAIR_SETS},
    "clusters": ("Clusters, and the order of arrival", clusters),
    "online": ("Online and batch", online),
    "dedup": ("Deduplication end to end", dedup),
    "template": ("One template, different pages: all stay", pile("template", TEMPLATES, RIVAL_TEMPLATES, lambda count: count)),
    "copies": ("Copies of one page: one stays", pile("copies", COPIES, COPIES[-2:], lambda count: 1)),
}

COLUMNS = (
    "edits recall", "edits precision", "edits wrong per 1,000", "lctt recall", "lctt precision", "mdn_zh recall", "mdn_en recall", "rmrb found", "rmrb templates called",
)


def beside(run):
    """Everybody on the labelled sets."""
    rows = [(tool, *(values.get(column) for column in COLUMNS)) for tool, values in sorted(run.beside.items(), key=lambda item: item[0] != "leitong")]
    failed = [f"{tool}: {values['failed']}" for tool, values in run.beside.items() if "failed" in values]
    text = "Edits by any verdict, the other sets by whole-document verdicts; a rival knows only one. rmrb: of 269 true look-alikes, and of 9,029 of one template."
    return "\n\n".join([text, markdown(("", *COLUMNS), rows), *failed]) if rows else ""


def overview(run):
    failed = [(section, goal) for section, goal in run.goals if not met(goal)]
    return f"{len(run.goals) - len(failed)} of {len(run.goals)} goals met." + "".join(f"\n- **{section}**: {goal.what}" for section, goal in failed)
