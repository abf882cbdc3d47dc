"""Time and memory of programs, and what is kept of a rival's answers."""

import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

import measure
import sections
import tools


def python(code, **options):
    return measure.run([sys.executable, "-c", code], **options)


class Measure(unittest.TestCase):
    def test_memory_is_that_of_the_program_not_of_the_caller(self):
        ballast = bytearray(b"x" * 300_000_000)
        large = python("x = bytearray(b'x' * 100_000_000)")["peak_bytes"]
        self.assertGreater(large, 100_000_000)
        self.assertLess(large, len(ballast))

    def test_output_goes_where_it_should(self):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, "out")
            took = python("import os; print(len(os.sched_getaffinity(0)), os.environ['X'])", stdout=out, cores=[min(os.sched_getaffinity(0))], environment={"X": "y"})
            self.assertEqual(out.read_text(), "1 y\n")
            self.assertEqual(set(took), {"wall_s", "cpu_s", "peak_bytes", "late", "load"})

    def test_a_failure_says_the_last_line(self):
        with self.assertRaisesRegex(measure.Failed, "no such thing"):
            python("import sys; print('first', file=sys.stderr); sys.exit('no such thing')")
        with self.assertRaisesRegex(measure.Failed, "not-there"):
            measure.run(["/not-there", "now"])

    def test_what_hangs_is_ended(self):
        with self.assertRaisesRegex(measure.Failed, "longer than 1 s"):
            python("import time; time.sleep(60)", timeout=1)


class Kept(unittest.TestCase):
    def test_only_ids_are_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            part, kept = Path(folder, "part"), Path(folder, "kept")
            part.write_text(json.dumps({"id": "a", "text": "long"}) + "\n")
            tools.keep_ids(part, kept)
            self.assertEqual(sections.ids(kept), ["a"])
            self.assertFalse(part.exists())

    def test_the_middle_one_counts(self):
        self.assertEqual(sections.median([{"cpu_s": s} for s in (3, 1, 9)]), {"cpu_s": 3})
        self.assertEqual(sections.median([{"cpu_s": s} for s in (3, 1)]), {"cpu_s": 1})


class Evidence(unittest.TestCase):
    def test_unreadable_evidence_is_said(self):
        text = sections.evidence_text([("a", "b", "zh", "0")], "/not-there", 1)
        self.assertIn("could not be read", text)

    def test_named_partners_are_counted(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "removed")
            file.write_text('{"id": "b", "kept": "a"}\n{"id": "x", "match": {"id": "c"}}\n')
            text = sections.evidence_text([("a", "b", "zh", "0"), ("c", "d", "zh", "0")], file, 2)
            self.assertIn("2 lines for 2 removed documents; 1 name", text)


if __name__ == "__main__":
    unittest.main()
