"""The generator, on sources made here."""

import random
import unittest
from collections import Counter

import corpus
import score

DRAWN = random.Random(1)
KNOWN = "w47 w142 w89 w0 w7 w144 w126 w169 w80 w182 w30 w80 w180 w79 w130"


class Corpus(unittest.TestCase):
    zh = corpus.Source("zh", ["，".join("".join(chr(0x4E00 + (a * 37 + b * 11) % 500) for b in range(12)) for a in range(200)) + "。"])
    en = corpus.Source("en", [" ".join(f"w{int(DRAWN.random() * 211)}" for _ in range(9000))])

    def text(self, source, number):
        return source.make(corpus.draws(1, number), 500)

    def test_the_same_number_gives_the_same_text_and_another_another(self):
        for source in (self.zh, self.en):
            self.assertEqual(self.text(source, 7), self.text(source, 7))
            self.assertNotEqual(self.text(source, 7), self.text(source, 8))
            self.assertGreaterEqual(len(self.text(source, 7)), 490)

    def test_known_text(self):
        """The generator may not drift: results of different days would no longer compare."""
        self.assertEqual(corpus.Source.make(self.en, corpus.draws(1, 7), 60), KNOWN)

    def test_edits_are_as_many_as_asked_for(self):
        text = self.text(self.en, 1)
        words = text.split()
        for rate in (0.0, 0.05, 0.1):
            changed = corpus.edited(self.en, corpus.draws(2, 1), text, rate).split()
            common = Counter(words) & Counter(changed)
            self.assertLessEqual(len(words) - sum(common.values()), round(rate * len(words)))
            self.assertEqual(changed == words, rate == 0)

    def test_a_tenth_are_copies_each_with_an_original_of_its_own(self):
        slots = corpus.plan(1000)
        truth = corpus.truth_of(slots)
        self.assertEqual((len(slots), len(truth)), (1000, 100))
        self.assertEqual(len({id for row in truth for id in row[:2]}), 200)
        self.assertEqual({row[3] for row in truth}, set(corpus.RATES))
        self.assertEqual(slots, corpus.plan(1000))
        sources = {"zh": self.zh, "en": self.en}
        index = {corpus.name(at): (slot, at) for at, slot in enumerate(slots)}
        for original, copy, _, rate in truth[:30]:
            one, two = (corpus.mixed_text(sources, *index[id]) for id in (original, copy))
            self.assertEqual(one == two, rate == "0")

    def test_pages_share_what_they_should(self):
        for language, source in (("zh", self.zh), ("en", self.en)):
            for share in (60, 85):
                one, two = (corpus.template_page(source, share, index) for index in (1, 2))
                self.assertNotEqual(one, two)
                header = one.split("\n", 1)[1][: corpus.TEMPLATE[language] // 3]
                self.assertIn(header, two)
                self.assertAlmostEqual(corpus.TEMPLATE[language] / len(one), share / 100, delta=0.05)

    def test_copies_of_one_page(self):
        pages = [corpus.copy_of_page(self.zh, index) for index in range(30)]
        self.assertEqual(len(set(pages[0::3])), 1)
        for page in pages[1::3]:
            self.assertEqual(score.letters(page), score.letters(pages[0]))
        for page in pages[2::3]:
            self.assertEqual(sum(a != b for a, b in zip(page, pages[0])), 1)
            self.assertEqual(len(page), len(pages[0]))

    def test_names(self):
        self.assertEqual(corpus.parse("mixed-200000"), ("mixed", 200000, None, None))
        self.assertEqual(corpus.parse("template85-zh-100"), ("template", 100, "zh", 85))
        self.assertEqual(corpus.parse("copies-en-7"), ("copies", 7, "en", None))
        with self.assertRaises(ValueError):
            corpus.parse("mixed")


if __name__ == "__main__":
    unittest.main()
