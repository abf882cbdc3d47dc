"""The rivals, each through its own index, in the virtual environment of run.py. Answers have the form of ours, so that one scorer reads all.

    rivals.py match  NAME -o OUT --index FILE… --queries FILE     as `leitong add` and `check --json`
    rivals.py pairs  NAME -o OUT INPUT…                           as `leitong pairs --json`
    rivals.py dedup  NAME -o OUT INPUT                            as `leitong dedup`: keeps the first of each group
    rivals.py settings                                            {name: what it is set to}

NAME: rensa, gaoya, datasketch, simhash; with `+normalised` the texts first get NFKC, simplified characters
and no tags.
"""

import argparse
import itertools
import json
import re
import unicodedata

THRESHOLD = 0.5
PERMUTATIONS, BANDS, ROWS = 128, 32, 4
GRAM = 5

SETTINGS = {
    "rensa": f"character {GRAM}-grams, R-MinHash of {PERMUTATIONS}, LSH of {BANDS} bands (its default at 0.5), its estimate at least {THRESHOLD}; dedup by RMinHashDeduplicator.add_pairs",
    "gaoya": f"MinHashStringIndex, character {GRAM}-grams, 32-bit hashes, {BANDS} bands of {ROWS}, its estimate at least {THRESHOLD}, smallvec buckets",
    "datasketch": f"MinHash of {PERMUTATIONS} over character {GRAM}-grams hashed by mmh3, MinHashLSH of {BANDS} bands of {ROWS}, its estimate at least {THRESHOLD}",
    "simhash": "Simhash of the text as it is (4-grams, MD5), SimhashIndex, k = 3",
}


def grams(text):
    return [text[at : at + GRAM] for at in range(max(1, len(text) - GRAM + 1))]


class Rensa:
    def __init__(self):
        from rensa import RMinHash, RMinHashLSH

        self.sketch = RMinHash.from_token_sets
        self.index = RMinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS, num_bands=BANDS)
        self.sketches, self.ids = [], []

    def make(self, text):
        return self.sketch([grams(text)], num_perm=PERMUTATIONS, seed=42)[0]

    def find(self, made):
        for key in self.index.query(made):
            estimate = made.jaccard(self.sketches[key])
            if estimate >= THRESHOLD:
                yield self.ids[key], estimate

    def add(self, id, made):
        self.index.insert(len(self.ids), made)
        self.ids.append(id)
        self.sketches.append(made)


class Gaoya:
    def __init__(self):
        from gaoya.minhash import MinHashStringIndex

        self.index = MinHashStringIndex(
            hash_size=32,
            jaccard_threshold=THRESHOLD,
            num_bands=BANDS,
            band_size=ROWS,
            analyzer="char",
            ngram_range=(GRAM, GRAM),
            id_container="smallvec",
        )
        self.ids = []

    def make(self, text):
        # A text shorter than a gram has none, and then no signature either.
        return text.ljust(GRAM)

    def find(self, made):
        return [(self.ids[key], estimate) for key, estimate in self.index.query(made, return_similarity=True)]

    def add(self, id, made):
        self.index.insert_document(len(self.ids), made)
        self.ids.append(id)


class Datasketch:
    def __init__(self):
        import mmh3
        from datasketch import MinHash, MinHashLSH

        first = MinHash(num_perm=PERMUTATIONS, hashfunc=lambda gram: mmh3.hash(gram, signed=False))
        self.empty = first
        self.index = MinHashLSH(params=(BANDS, ROWS), num_perm=PERMUTATIONS)
        self.sketches = {}

    def make(self, text):
        made = self.empty.copy()
        made.update_batch([gram.encode() for gram in grams(text)])
        return made

    def find(self, made):
        for key in self.index.query(made):
            estimate = made.jaccard(self.sketches[key])
            if estimate >= THRESHOLD:
                yield key, float(estimate)

    def add(self, id, made):
        self.index.insert(id, made)
        self.sketches[id] = made


class SimHash:
    def __init__(self):
        import logging

        from simhash import Simhash, SimhashIndex

        logging.disable(logging.WARNING)  # "big bucket found", thousands of times
        self.sketch, self.index = Simhash, SimhashIndex([], k=3)

    def make(self, text):
        return self.sketch(text)

    def find(self, made):
        return [(id, None) for id in self.index.get_near_dups(made)]

    def add(self, id, made):
        self.index.add(id, made)


RIVALS = {"rensa": Rensa, "gaoya": Gaoya, "datasketch": Datasketch, "simhash": SimHash}


def normaliser():
    import opencc

    simplify = opencc.OpenCC("t2s").convert
    tags = re.compile(r"(?is)<(script|style|head)\b.*?</\1>|<!--.*?-->|<[^>]+>")

    def normalise(document):
        text = document["text"]
        if document.get("format") == "html":
            text = tags.sub(" ", text)
        return simplify(unicodedata.normalize("NFKC", text))

    return normalise


def documents(paths, text_of):
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                document = json.loads(line)
                yield document["id"], text_of(document)


def near(id, estimate):
    return {"id": id, "verdict": "near", "jaccard": estimate}


def match(rival, text_of, index, queries, out):
    for id, text in documents(index, text_of):
        rival.add(id, rival.make(text))
    for id, text in documents([queries], text_of):
        found = [near(*hit) for hit in rival.find(rival.make(text))]
        out.write(json.dumps({"id": id, "duplicate": bool(found), "matches": found}, ensure_ascii=False) + "\n")


def pairs(rival, text_of, inputs, out):
    for id, text in documents(inputs, text_of):
        made = rival.make(text)
        for other, estimate in rival.find(made):
            out.write(json.dumps({"a": other, "b": id, "verdict": "near", "jaccard": estimate}, ensure_ascii=False) + "\n")
        rival.add(id, made)


def batches(source, size=1000):
    with open(source, encoding="utf-8") as lines:
        while batch := list(itertools.islice(lines, size)):
            yield batch


def dedup(rival, source, out):
    for batch in batches(source):
        for line in batch:
            document = json.loads(line)
            made = rival.make(document["text"])
            if next(iter(rival.find(made)), None) is None:
                rival.add(document["id"], made)
                out.write(line)


def dedup_rensa(source, out):
    from rensa import RMinHashDeduplicator

    seen = RMinHashDeduplicator(threshold=THRESHOLD, num_perm=PERMUTATIONS, use_lsh=True)
    for batch in batches(source):
        documents = map(json.loads, batch)
        keep = seen.add_pairs((document["id"], grams(document["text"])) for document in documents)
        out.writelines(itertools.compress(batch, keep))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=("match", "pairs", "dedup", "settings"))
    parser.add_argument("name", nargs="?")
    parser.add_argument("inputs", nargs="*")
    parser.add_argument("-o", "--out")
    parser.add_argument("--index", nargs="*")
    parser.add_argument("--queries")
    options = parser.parse_intermixed_args()
    if options.task == "settings":
        print(json.dumps(SETTINGS))
        return
    name, _, normalised = options.name.partition("+")
    text_of = normaliser() if normalised else lambda document: document["text"]
    with open(options.out, "w", encoding="utf-8") as out:
        if options.task == "dedup" and name == "rensa":
            dedup_rensa(options.inputs[0], out)
        elif options.task == "dedup":
            dedup(RIVALS[name](), options.inputs[0], out)
        elif options.task == "match":
            match(RIVALS[name](), text_of, options.index, options.queries, out)
        else:
            pairs(RIVALS[name](), text_of, options.inputs, out)


if __name__ == "__main__":
    main()
