"""The scorers, on answers small enough to count by hand."""

import json
import tempfile
import unittest
from pathlib import Path

import answers
import score
from sets import Edit
from table import Goal, goals, markdown, met

LONG = "一二三四五六七八九十" * 9  # 90 characters


class Edits(unittest.TestCase):
    truth = [
        Edit("v1", "b1", "char_1", "long", None),
        Edit("v2", "b2", "char_1", "long", None),
        Edit("v3", "b1", "merge", "long", "b2"),
        Edit("v4", "b3", "char_1", "short", None),
    ]

    def score(self, found, texts=None):
        return score.edits(self.truth, found, lambda ids: {id: (texts or {}).get(id, id) for id in ids})

    def test_counts_base_and_second_by_any_and_whole(self):
        result = self.score({"v1": [("b1", "near")], "v2": [("b2", "quotes")], "v3": [("b1", "contains"), ("b2", "quotes")], "v4": []})
        long, merge, short = (result["kinds"][key] for key in (("char_1", "long"), ("merge", "long"), ("char_1", "short")))
        self.assertEqual((long["n"], long["any"], long["whole"]), (2, 2, 1))
        self.assertEqual((merge["any"], merge["second"], merge["second whole"], merge["seconds"]), (1, 1, 0, 1))
        self.assertEqual((short["n"], short["any"]), (1, 0))
        self.assertEqual(result["total"]["recall"], 0.75)
        self.assertEqual(result["total"]["precision"], 1.0)

    def test_a_match_with_none_of_the_true_ones_is_wrong(self):
        result = self.score({"v1": [("b2", "near"), ("x", "quotes")], "v2": [("b2", "exact")], "v3": [], "v4": []})
        total = result["total"]
        self.assertEqual((total["wrong"], total["wrong whole"], total["wrong, passage shared"]), (2, 1, 0))
        self.assertAlmostEqual(total["precision"], 1 / 3)
        self.assertFalse(met(result["goals"][-1]))

    def test_wrong_ones_that_share_a_passage_with_a_true_source_stand_apart(self):
        texts = {"b1": "甲" + LONG, "x": LONG.replace("一", "一，") + "乙", "y": LONG[:79], "b2": LONG}
        result = self.score({"v1": [("x", "quotes"), ("y", "near")], "v3": [("x", "quotes")]}, texts)
        self.assertEqual([case[3] for case in result["cases"]], [True, False, True])
        self.assertEqual(result["total"]["wrong, passage shared"], 2)
        self.assertEqual(result["total"]["unanswered"], 2)

    def test_goals_name_the_lowest_kind(self):
        result = self.score({"v1": [("b1", "near")], "v2": [("b2", "near")], "v3": [("b2", "near")], "v4": [("b3", "quotes")]})
        self.assertIn("merge long", result["goals"][0].what)
        self.assertEqual(result["goals"][0].value, 0.0)
        text = score.edits_text(result)
        self.assertIn("**FAIL**", text)
        self.assertIn("PASS", text)


class Pairs(unittest.TestCase):
    def test_labels_are_counted_and_the_rest_is_kept(self):
        labels = {("a", "b"): "1", ("c", "d"): "1", ("e", "f"): "weak"}
        result = score.labelled(labels, {("a", "b"): "near", ("c", "d"): "quotes", ("a", "c"): "near", ("a", "d"): "quotes"})
        self.assertEqual((result["labels"]["1"]["any"], result["labels"]["1"]["whole"], result["labels"]["weak"]["n"]), (2, 1, 1))
        self.assertEqual(len(result["others"]), 2)
        recall, precision = score.group_goals("lctt", result)
        self.assertEqual((recall.value, precision.value), (0.5, 0.5))

    def test_natural_look_alikes(self):
        labels = {("t", str(n)): "template_like" for n in range(100)}
        labels |= {("p", "1"): "contained", ("p", "2"): "same_numbers", ("p", "3"): "same_normalised"}
        called = {("t", "1"): "near", ("t", "2"): "near", ("t", "3"): "quotes", ("p", "1"): "contains", ("p", "2"): "near"}
        result = score.labelled(labels, called)
        listed = score.group_goals("rmrb_natural", result)
        self.assertEqual([met(goal) for goal in listed], [True, True, False, False])
        self.assertIn("same_normalised", listed[3].what)

    def test_jaccard_is_over_letters(self):
        self.assertEqual(score.jaccard("ＡＢＣＤＥＦ", "a b-c d e f"), 1.0)
        self.assertEqual(score.jaccard("abcdef", "ghijkl"), 0.0)


class Ways(unittest.TestCase):
    def test_contains_turns_round_with_its_pair(self):
        self.assertEqual(answers.pair("b", "a", "contains"), (("a", "b"), "contained"))
        self.assertEqual(answers.pair("a", "b", "contains"), (("a", "b"), "contains"))

    def test_files_are_read_as_the_contracts_say(self):
        with tempfile.TemporaryDirectory() as folder:
            check, pairs = Path(folder, "check"), Path(folder, "pairs")
            rows = [
                {"id": "q", "duplicate": True, "matches": [{"id": "a", "verdict": "contains", "distance": 3}, {"id": "c", "verdict": "none"}]},
                {"id": "a", "duplicate": True, "matches": [{"id": "q", "verdict": "near"}]},
            ]
            check.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
            pairs.write_text(json.dumps({"a": "q", "b": "a", "verdict": "contains"}) + "\n" + json.dumps({"a": "q", "b": "z", "verdict": None}))
            asked, called = answers.directed(answers.matches(check)), answers.pairs(pairs)
            self.assertEqual(asked, {("q", "a"): "contains", ("a", "q"): "near"})
            self.assertEqual(answers.two_verdicts(asked), 1)
            self.assertEqual(called, {("a", "q"): "contained"})
            self.assertEqual(answers.both_ways(called, {"q"}), {("q", "a"): "contains"})
            self.assertEqual(answers.both_ways(called, {"q", "a"}), {("q", "a"): "contains", ("a", "q"): "contained"})
            self.assertEqual(answers.two_verdicts(answers.both_ways(called, {"q", "a"})), 0)
            check.write_text("not json")
            with self.assertRaises(SystemExit):
                answers.matches(check)

    def test_changes(self):
        one = {(1, 2): "near", (1, 3): "quotes", (1, 4): "exact", (1, 5): "quotes"}
        two = {(1, 2): "near", (1, 3): "near", (1, 4): "near", (1, 6): "quotes"}
        counts = score.changes(one, two)
        self.assertEqual([counts[key] for key in ("pairs", "verdict", "called", "duplicate")], [5, 4, 2, 1])

    def test_clusters(self):
        truth = [Edit("v1", "b1", "char_1", "long", None), Edit("v2", "b1", "html", "long", None), Edit("v3", "b2", "merge", "long", "b1")]
        called = {("b1", "v1"): "near", ("v1", "v2"): "near", ("v1", "v3"): "quotes", ("b2", "v1"): "near"}
        result = score.clusters(truth, called)
        self.assertAlmostEqual(result["total"]["recall"], 1 / 3)
        self.assertEqual((result["total"]["unrelated"], result["total"]["unrelated whole"]), (1, 1))
        self.assertIn("html long", score.clusters_text(result))


class Dedup(unittest.TestCase):
    def test_one_of_each_planted_pair_must_stay(self):
        truth = [("a", "b", "zh", "0"), ("c", "d", "en", "0.10"), ("e", "f", "en", "0.10")]
        result = score.dedup_result(truth, list("abcdefgh"), list("acdg"))
        self.assertAlmostEqual(result["recall"], 1 / 3)
        self.assertEqual(result["by"]["zh", "all"], 1.0)
        self.assertEqual(result["by"]["all", "0.10"], 0.0)
        self.assertEqual(result["false"], 2)  # h, and one of e and f
        self.assertEqual(result["invented"], 0)


class Tables(unittest.TestCase):
    def test_figures(self):
        self.assertEqual(markdown(("a", "b"), [("x", 1234), ("y", 0.5), ("z", None)]).splitlines()[2:], ["| x | 1,234 |", "| y | 0.5000 |", "| z | – |"])
        self.assertIn("**FAIL**", goals([Goal("g", None, ">=", 0.5)]))
        self.assertIn("PASS", goals([Goal("g", 0, "==", 0)]))


if __name__ == "__main__":
    unittest.main()
