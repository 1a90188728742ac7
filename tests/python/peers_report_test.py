# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides that a comparison with peers is reported as it was measured: the best rate of each side, ratios, geometric means."""
import json
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import cubejit_command
import peers_report


def record(peer, name, layout, gflops, pass_="dx", **more):
    found = dict({"peer": peer, "name": name, "pass": pass_, "layout": layout, "flops": 1e9, "bytes": 1e7}, **more)
    return dict(found, gflops=gflops) if gflops else dict(found, error="refused")


DOCUMENT = {"suite": "s.jsonl", "dtype": "f32", "command": "compare", "threads": 2, "rounds": 1, "peak_gflops": 200.0,
            "copy_gbytes": 20.0, "records": [
                record("cubejit", "a<b", "ndhwc", 90), record("cubejit", "a<b", "ndhwc", 100),
                record("cubejit", "a<b", "ncdhw", 60), record("onednn 2.6.3", "a<b", "any", 50),
                record("onednn 2.6.3", "a<b", "ndhwc", 40), record("onednn 2.6.3", "a<b", "ncdhw", 20),
                record("cubejit", "c", "ndhwc", 80), record("onednn 2.6.3", "c", "any", 10),
                record("cubejit", "c", "ncdhw", 50), record("cubejit", "c", "ndc1hwc16", 90),
                record("onednn 2.6.3", "c", "ncdhw", None)]}


def flexes(css, selectors):
    """Those of the selectors whose boxes are flex containers: they shrink a bar that stands beside a long label."""
    rules = re.findall(r"([^{}]+)\{([^{}]*)\}", css)
    return [s for s in selectors for names, body in rules
            if s in [n.strip() for n in names.split(",")] and re.search(r"display:\s*(inline-)?flex", body)]


class BarsAreToScale(unittest.TestCase):
    """A bar is a per cent of a track that every row has as wide; the label is not in the track."""

    def test_of_the_peers_page(self):
        page = peers_report.page(DOCUMENT)
        css = page[page.index("<style>"):page.index("</style>")]
        self.assertEqual(flexes(css, [".bar", ".bar i", ".bars td"]), [])
        self.assertIn("grid-template-columns:minmax(0,1fr) 12em", css)
        bars = re.findall(r'<div class="bar">(.*?)</div>', page)
        self.assertEqual(len(bars), page.count('class="bar"'))
        for bar in bars:
            self.assertRegex(bar, r'^<i><span style="width:[0-9.]+%;[^"]*"></span></i><em>[^<]*</em>$')
        self.assertIn('width:50.0%;background:' + peers_report.COLOURS[peers_report.OURS], bars[0].replace(" ", ""))  # 100 of the peak of 200

    def test_of_the_page_of_a_dump(self):
        folder = pathlib.Path(__file__).resolve().parents[2] / "runtime" / "dump" / "page"
        css, script = (folder / "page.css").read_text(), (folder / "page.js").read_text()
        self.assertEqual(flexes(css, [".bar", ".bar i", ".gauge", ".gauge .full", ".gauge .used"]), [])
        for track in (".bar {", ".gauge {"):  # one rule each: a second one would change the first one's track
            self.assertEqual(len(re.findall("^" + re.escape(track), css, re.MULTILINE)), 1)
        self.assertIn("grid-template-columns: 9ch minmax(0, 1fr) 22ch", css)
        self.assertIn("full.append(", script)  # the track holds the bar alone; names and numbers are its siblings
        self.assertIn('row.append(el("b", "", name), full, el("span", "text", text))', script)
        self.assertIn("card.append(bar, ", script)

    def test_of_the_tuning_report(self):
        page = (pathlib.Path(__file__).resolve().parents[2] / "tools" / "cli" / "tune_report.html").read_text()
        self.assertIn("w = Math.max(0, q.spearman) * (width - left - right)", page)  # drawn in coordinates, of the track's width
        self.assertIn('{x: left, y: y + 2, width: width - left - right, height: 15', page)


class PeersReport(unittest.TestCase):
    def test_ratios_are_of_best_rates(self):
        text = peers_report.markdown(DOCUMENT)
        self.assertIn("| a<b | dx | 100.0 | 60.0 | - | 50.0 | 2.00 | 20.0 | 3.00 |", text)
        self.assertIn("| c | dx | 80.0 | 50.0 | 90.0 | 10.0 | 9.00 | - | - |", text)
        self.assertIn("| **geometric mean** | dx |  |  |  |  | 4.24 |  | 3.00 |", text)
        means = peers_report.summary(DOCUMENT)
        self.assertAlmostEqual(means["dx onednn best"], 18 ** 0.5)
        self.assertAlmostEqual(means["dx onednn plain"], 3)

    def test_the_page_stands_alone_and_shows_every_row(self):
        page = peers_report.page(DOCUMENT)
        self.assertNotIn("<script src", page)
        self.assertNotIn("http", page)
        self.assertIn("a&lt;b", page)
        self.assertNotIn("a<b", page)
        self.assertEqual(page.count("<circle"), 4)
        self.assertIn("(ours 9.00x)", page)

    def test_a_comparison_of_an_earlier_version_is_read(self):
        old = json.dumps(DOCUMENT).replace('"pass":', '"gradient":')
        self.assertIn('"gradient":', old)
        self.assertEqual(cubejit_command.read(old), DOCUMENT)

    def test_a_peer_that_refused_everything_is_listed_without_numbers(self):
        refused = dict(DOCUMENT, records=[record("cubejit", "c", "ndhwc", 80), record("torch 1", "c", "ndhwc", None)])
        self.assertIn("| c | dx | 80.0 | - | - | - | - |", peers_report.markdown(refused))
        self.assertIn("torch: -", peers_report.page(refused))

    def test_versions_and_reasons_are_told(self):
        refused = dict(DOCUMENT, records=DOCUMENT["records"] + [record("onnxruntime 1.23", name, "ndhwc", None) for name in ("a<b", "c")])
        text = peers_report.markdown(refused)
        self.assertIn(", f32, against onednn 2.6.3, onnxruntime 1.23: every row", text)
        self.assertIn("against onednn 2.6.3, onnxruntime 1.23", peers_report.page(refused))
        self.assertTrue(text.endswith("- onednn 2.6.3, dx of ncdhw, 1 problem: refused\n- onnxruntime 1.23, dx of ndhwc, 2 problems: refused\n"), text)
        self.assertNotIn("What is blank", peers_report.markdown(dict(DOCUMENT, records=DOCUMENT["records"][:-1])))

    def test_cpu_time_of_one_thread_stands_beside_wall_time(self):
        timed = dict(DOCUMENT, threads=1, records=[
            record("cubejit", "c", "ncdhw", 50, cpu_ns_median=1e7), record("cubejit", "c", "ncdhw", 40, cpu_ns_median=5e6),
            record("torch 2", "c", "ncdhw", 100, cpu_ns_median=2e7), record("cubejit", "d", "ncdhw", 100), record("torch 2", "d", "ncdhw", 100)])
        text = peers_report.markdown(timed)
        self.assertIn("| c | dx | 50.0 | 100.0 | 0.50 (4.00) | 100.0 | 0.50 (4.00) |", text)
        self.assertIn("| d | dx | 100.0 | 100.0 | 1.00 | 100.0 | 1.00 |", text)
        self.assertIn("| **geometric mean** | dx |  |  | 0.71 (4.00) |  | 0.71 (4.00) |", text)
        self.assertIn("the ratio of CPU time", text)
        self.assertAlmostEqual(peers_report.summary(timed)["dx torch plain, CPU time"], 4)
        self.assertNotIn("CPU time", peers_report.markdown(DOCUMENT))
        self.assertNotIn("CPU time", peers_report.markdown(dict(timed, threads=2)))

    def test_ticks_are_round(self):
        self.assertEqual(peers_report.ticks(3, 60), [5, 10, 20, 50])


if __name__ == "__main__":
    unittest.main()
