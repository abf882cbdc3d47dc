"""The labelled sets of ../shared/data: unpacked once under target/verdicts/data, read from there.

None of this text may enter the repository or a result. `LEITONG_SHARED` names another place than ../shared.
"""

import json
import os
import subprocess
from collections import namedtuple
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = ROOT / "target" / "verdicts"
DATA = WORK / "data"
SHARED = Path(os.environ.get("LEITONG_SHARED", ROOT.parent / "shared")) / "data"

# name -> documents, labelled pairs, column of the label
PAIR_SETS = {
    "lctt": ("lctt_revisions_docs.jsonl", "lctt_revisions_pairs.tsv", 2),
    "mdn_zh": ("mdn_revisions_zh_docs.jsonl", "mdn_revisions_zh_pairs.tsv", 2),
    "mdn_en": ("mdn_revisions_en_docs.jsonl", "mdn_revisions_en_pairs.tsv", 2),
    "rmrb_natural": ("rmrb_natural/docs.jsonl", "rmrb_natural/pairs.tsv", 6),
    "law_versions_zh": ("law_versions_zh/docs.jsonl", "law_versions_zh/pairs.tsv", 2),
    "pawsx_zh": ("pawsx_zh/docs.jsonl", "pawsx_zh/pairs.tsv", 2),
    "gdut": ("gdut_chachong_zh/docs.jsonl", "gdut_chachong_zh/pairs.tsv", 2),
    "mccormick": ("mccormick_minhash_en_100/docs.jsonl", "mccormick_minhash_en_100/pairs.tsv", 2),
}
EDIT_PARTS = ("bases", "hosts", "background")

Edit = namedtuple("Edit", "variant base kind size second")


class Absent(Exception):
    """The data is not on this machine."""


def unpack():
    """Decompresses what is not there yet."""
    if not SHARED.is_dir():
        raise Absent(f"{SHARED} is not there (LEITONG_SHARED names another place)")
    done = DATA / "unpacked"
    packs = sorted(SHARED.glob("*.jsonl.zst")) + sorted(SHARED.glob("*.tsv.zst"))
    stamp = "\n".join(f"{f.name} {f.stat().st_size}" for f in packs)
    if done.exists() and done.read_text() == stamp:
        return
    DATA.mkdir(parents=True, exist_ok=True)
    for packed in packs:
        # -c: the copy shall not inherit that the original is read-only
        with open(DATA / packed.stem, "wb") as out:
            subprocess.run(["zstd", "-q", "-d", "-c", "--long=27", packed], stdout=out, check=True)
    for plain in SHARED.glob("*.tsv"):
        (DATA / plain.name).write_bytes(plain.read_bytes())
    with subprocess.Popen(["zstd", "-q", "-d", "-c", "--long=27", SHARED / "labelled_small.tar.zst"], stdout=subprocess.PIPE) as packed:
        subprocess.run(["tar", "x", "-C", DATA], stdin=packed.stdout, check=True)
    done.write_text(stamp)


def documents(path):
    """The objects of a JSONL file, one by one."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def texts(paths, ids):
    """The texts of these ids."""
    return {d["id"]: d["text"] for path in paths for d in documents(path) if d["id"] in ids}


def edit_files():
    return [DATA / f"edits_{part}.jsonl" for part in EDIT_PARTS]


def edit_truth(path=None):
    """What each variant was made from, in file order."""
    with open(path or DATA / "edits_truth.tsv", encoding="utf-8") as lines:
        next(lines)
        rows = (line.rstrip("\n").split("\t") for line in lines)
        return [Edit(r[0], r[1], r[2], r[3], r[8] or None) for r in rows]


def labelled_pairs(name):
    """{(a, b) sorted: label} of a set."""
    _, file, column = PAIR_SETS[name]
    with open(DATA / file, encoding="utf-8") as lines:
        next(lines)
        rows = (line.rstrip("\n").split("\t") for line in lines)
        return {tuple(sorted(r[:2])): r[column] for r in rows}


def pair_documents(name):
    return DATA / PAIR_SETS[name][0]


def law_clusters():
    with open(DATA / "law_versions_zh" / "clusters.tsv", encoding="utf-8") as lines:
        next(lines)
        return dict(line.rstrip("\n").split("\t") for line in lines)
