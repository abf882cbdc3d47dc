#!/usr/bin/env python3
"""Makes corpora for `dedup` out of the texts of ../shared/data: the same bytes for the same name, every time.

    corpus.py NAME…          under target/verdicts/corpora: NAME.jsonl, and for `mixed` NAME.truth.tsv
    mixed-200000             half Chinese, half English, 2.2 KB each; one in ten is a copy of another with 0 to 10 % of its words edited
    template60-zh-100000     different pages, 60 % of each one shared header, footer and licence (any share; zh or en)
    copies-en-100000         copies of one page: equal, other white space or width, one character edited

There are not 200,000 real texts here, so real ones are cut into runs of a few words and put together anew: after each run the text
goes on at another place where the last word stands too. A run has 4 characters on average, or 2.5 English words, so that about as many
passages of eight characters occur in two documents as in real news. A document depends on the corpus' seed and its own number alone.
"""

import functools
import json
import multiprocessing
import os
import random
import re
import sys
from array import array
from collections import namedtuple

import sets

SEED = 20261115
RATES = ("0", "0.01", "0.02", "0.03", "0.05", "0.07", "0.10")
WORDS = {"zh": re.compile(r"[A-Za-z0-9]+|\s+|.", re.DOTALL), "en": re.compile(r"\S+\s*")}
RUN = {"zh": 4.0, "en": 2.5}
LONGEST_RUN = 64
RARE = 20
SOURCE_CHARACTERS = {"zh": 12_000_000, "en": 24_000_000}
PROSE = re.compile(r"[\s>*-]*[^\W_]")
LINK = re.compile(r"\]\([^)]*\)")
LONG_WORD = re.compile(r"[!-~]{40}")
BYTES_A_CHARACTER = {"zh": 2.85, "en": 1.0}

Slot = namedtuple("Slot", "language original rate")  # rate: None where it is no copy


class Source:
    """Text to cut runs from."""

    def __init__(self, language, texts):
        self.language = language
        self.text = "\n".join(texts)
        self.starts = array("I")
        self.after = {}  # word -> positions that follow it
        for at, found in enumerate(WORDS[language].finditer(self.text)):
            self.starts.append(found.start())
            self.after.setdefault(found.group(), array("I")).append(at + 1)
        self.words = len(self.starts)
        self.starts.append(len(self.text))
        if self.words <= 2 * LONGEST_RUN:
            raise ValueError(f"{self.words} words are too few to cut from")
        stay = 1 - 1 / RUN[language]
        self.lengths = []  # of runs, to be drawn from evenly
        for length in range(1, LONGEST_RUN):
            self.lengths += [length] * round(1024 * (1 - stay) * stay ** (length - 1))

    def make(self, draw, characters):
        """New text of about that length."""
        last = self.words - LONGEST_RUN
        text, starts, after, lengths = self.text, self.starts, self.after, self.lengths
        choices = len(lengths)
        at = int(draw() * last)
        pieces, size = [], 0
        while size < characters:
            end = at + lengths[int(draw() * choices)]
            piece = text[starts[at] : starts[end]]
            pieces.append(piece)
            size += len(piece)
            follow = after[text[starts[end - 1] : starts[end]]]
            at = follow[int(draw() * len(follow))]
            if at >= last or len(follow) < RARE:  # after a rare word the text would go on as it did there, every time
                at = int(draw() * last)
        return "".join(pieces).strip()

    def word(self, draw):
        """One word that is not white space."""
        while True:
            at = int(draw() * self.words)
            word = self.text[self.starts[at] : self.starts[at + 1]]
            if word.strip():
                return word


def edited(source, draw, text, rate):
    """Every word is equally likely to be replaced, removed or to get a new one before it; numbers are words like others."""
    words = WORDS[source.language].findall(text)
    real = [at for at, word in enumerate(words) if word.strip()]
    for at in random_choice(draw, real, max(1, round(rate * len(real)))) if rate else ():
        kind = int(draw() * 3)
        if kind == 0:
            words[at] = ""
        elif kind == 1:
            words[at] = source.word(draw) + words[at]
        else:
            old = words[at]
            while words[at] == old:
                words[at] = source.word(draw)
    return "".join(words)


def random_choice(draw, items, count):
    """Different ones, in any order."""
    items = list(items)
    for at in range(min(count, len(items))):
        other = at + int(draw() * (len(items) - at))
        items[at], items[other] = items[other], items[at]
    return items[:count]


def draws(kind, number):
    """A stream of random numbers of its own for each document."""
    return random.Random((SEED * 16 + kind) * 2**40 + number).random


# ------------------------------------------------------------------------------------------------ mixed


def plan(count):
    """Which slot of the corpus holds what: a tenth are copies, each of an original of its own."""
    draw = draws(0, count)
    copies = count // 10
    originals = count - copies
    slots = [Slot("zh" if number % 2 else "en", number, None) for number in range(originals)]
    for place, number in enumerate(random_choice(draw, range(originals), copies)):
        slots.append(Slot(slots[number].language, number, RATES[place % len(RATES)]))
    return random_choice(draw, slots, count)


def truth_of(slots):
    """[(original, copy, language, rate)]"""
    at = {slot.original: index for index, slot in enumerate(slots) if slot.rate is None}
    return [(name(at[s.original]), name(index), s.language, s.rate) for index, s in enumerate(slots) if s.rate is not None]


def name(index):
    return f"d{index:07}"


def size_of(draw):
    """Bytes: many short ones, few long ones, 2.2 KB on average."""
    return min(12_000, 300 + random.Random(int(draw() * 2**52)).expovariate(1 / 1920))


def mixed_text(sources, slot, index):
    source = sources[slot.language]
    draw = draws(1, slot.original)
    text = source.make(draw, size_of(draw) / BYTES_A_CHARACTER[slot.language])
    return text if slot.rate is None else edited(source, draws(2, slot.original), text, float(slot.rate))


# ------------------------------------------------------------------------------------------------ one template, one page

SURNAMES = {"zh": "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗", "en": ("Adams", "Baker", "Clark", "Davis", "Evans", "Foster", "Green", "Hughes", "Irwin", "Jones")}
LABELS = {"zh": ("编号", "姓名", "日期", "金额"), "en": ("Number", "Name", "Date", "Amount")}
TEMPLATE = {"zh": 1_000, "en": 2_400}  # characters


@functools.cache
def template(source, share):
    """Header and footer."""
    draw, size = draws(3, share), TEMPLATE[source.language]
    return source.make(draw, size // 3), source.make(draw, size - size // 3)


def template_page(source, share, index):
    """A page of which `share` is what all pages have."""
    language = source.language
    header, footer = template(source, share)
    draw = draws(4, index)
    surnames = SURNAMES[language]
    given = source.word(draw).strip() + ("" if language == "en" else source.word(draw).strip())
    values = (
        f"{int(draw() * 10**8):08}",
        surnames[int(draw() * len(surnames))] + (" " if language == "en" else "") + given,
        f"{1990 + int(draw() * 35)}-{1 + int(draw() * 12):02}-{1 + int(draw() * 28):02}",
        f"{int(draw() * 10**7) / 100:.2f}",
    )
    facts = "\n".join(f"{label}: {value}" for label, value in zip(LABELS[language], values))
    title = source.make(draw, 18 if language == "zh" else 50).replace("\n", " ")
    own = round((len(header) + len(footer)) * (100 - share) / share) - len(title) - len(facts)
    return "\n".join((title, header, facts, source.make(draw, max(20, own)), footer))


@functools.cache
def page(source):
    return source.make(draws(5, 0), 2200 / BYTES_A_CHARACTER[source.language])


def copy_of_page(source, index):
    """A third equal, a third with other white space or width, a third with one letter replaced (never a digit)."""
    text = page(source)
    draw = draws(6, index)
    kind = index % 3
    if kind == 1:
        text = "".join(respaced(draw, c) for c in text)
    elif kind == 2:
        letters = [at for at, c in enumerate(text) if c.isalpha()]
        at = letters[int(draw() * len(letters))]
        new = text[at]
        while new == text[at]:
            new = text[letters[int(draw() * len(letters))]]
        text = text[:at] + new + text[at + 1 :]
    return text


def respaced(draw, c):
    chance = draw()
    if c.isspace():
        return c + " " if chance < 0.3 else "\n" + c if chance < 0.4 else "\u3000" if chance < 0.5 else c
    if "!" <= c <= "~":
        return chr(ord(c) + 0xFEE0) if chance < 0.1 else c
    return c + "\n" if c in "。！？" and chance < 0.3 else c


# ------------------------------------------------------------------------------------------------ files

SOURCES = {}  # the workers inherit them


def load_sources(languages):
    sets.unpack()
    for language in languages:
        if language not in SOURCES:
            SOURCES[language] = Source(language, list(real_texts(language)))


def real_texts(language):
    """News and translated articles; pages of documentation. Only one of several versions, only prose, and no line twice: code, licences
    and tables would make different documents look alike."""
    if language == "zh":
        files = [("edits_background.jsonl", ""), ("lctt_revisions_docs.jsonl", "published_first")]
    else:
        files = [("mdn_revisions_en_docs.jsonl", "-new")]
    left, seen = SOURCE_CHARACTERS[language], set()
    for file, ending in files:
        for document in sets.documents(sets.DATA / file):
            if not document["id"].endswith(ending):
                continue
            fenced = False
            for part in document["text"].splitlines():
                part = LINK.sub("]", part)
                fenced ^= part.lstrip().startswith("```")
                if fenced or not PROSE.match(part) or LONG_WORD.search(part) or part in seen:
                    continue
                seen.add(part)
                left -= len(part)
                if left < 0:
                    return
                yield part


def parse(corpus):
    """mixed-N, templateS-L-N, copies-L-N"""
    found = re.fullmatch(r"mixed-(\d+)|template(\d\d)-(zh|en)-(\d+)|copies-(zh|en)-(\d+)", corpus)
    if not found:
        raise ValueError(f"{corpus}: not the name of a corpus; see corpus.py --help")
    mixed, share, template_language, pages, copy_language, copies = found.groups()
    if mixed:
        return "mixed", int(mixed), None, None
    if share:
        return "template", int(pages), template_language, int(share)
    return "copies", int(copies), copy_language, None


def line(job):
    kind, index, argument = job
    if kind == "mixed":
        text = mixed_text(SOURCES, argument, index)
    elif kind == "template":
        text = template_page(SOURCES[argument[0]], argument[1], index)
    else:
        text = copy_of_page(SOURCES[argument], index)
    return json.dumps({"id": name(index), "text": text}, ensure_ascii=False) + "\n"


def jobs(kind, count, language, share):
    if kind == "mixed":
        return [(kind, index, slot) for index, slot in enumerate(plan(count))]
    argument = (language, share) if kind == "template" else language
    return [(kind, index, argument) for index in range(count)]


def path(corpus):
    return sets.WORK / "corpora" / f"{corpus}.jsonl"


def truth_path(corpus):
    return sets.WORK / "corpora" / f"{corpus}.truth.tsv"


def read_truth(file):
    with open(file, encoding="utf-8") as lines:
        return [tuple(row.rstrip("\n").split("\t")) for row in lines]


def ensure(corpus, say=lambda text: None, processes=2):
    """The path of the corpus, which is made if it is not there."""
    kind, count, language, share = parse(corpus)
    file = path(corpus)
    if file.exists():
        return file
    say(f"making {corpus} …")
    load_sources(["zh", "en"] if kind == "mixed" else [language])
    file.parent.mkdir(parents=True, exist_ok=True)
    listed = jobs(kind, count, language, share)
    part = file.with_suffix(f".{os.getpid()}.part")
    with open(part, "w", encoding="utf-8") as out, multiprocessing.get_context("fork").Pool(processes) as pool:
        out.writelines(pool.imap(line, listed, chunksize=500))
    if kind == "mixed":
        with open(truth_path(corpus), "w", encoding="utf-8") as out:
            out.writelines("\t".join(row) + "\n" for row in truth_of([job[2] for job in listed]))
    part.rename(file)
    return file


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    for wanted in sys.argv[1:]:
        print(ensure(wanted, lambda text: print(text, file=sys.stderr)))
