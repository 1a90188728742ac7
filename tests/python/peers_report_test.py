# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides that a comparison with peers is reported as it was measured: the best rate of each side, ratios, geometric means."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import peers_report


def record(peer, name, layout, gflops, gradient="dx"):
    found = {"peer": peer, "name": name, "gradient": gradient, "layout": layout, "flops": 1e9, "bytes": 1e7}
    return dict(found, gflops=gflops) if gflops else dict(found, error="refused")


DOCUMENT = {"suite": "s.jsonl", "dtype": "f32", "command": "compare", "threads": 2, "rounds": 1, "peak_gflops": 200.0,
            "copy_gbytes": 20.0, "records": [
                record("cubejit", "a<b", "ndhwc", 90), record("cubejit", "a<b", "ndhwc", 100),
                record("cubejit", "a<b", "ncdhw", 60), record("onednn 2.6.3", "a<b", "any", 50),
                record("onednn 2.6.3", "a<b", "ndhwc", 40), record("onednn 2.6.3", "a<b", "ncdhw", 20),
                record("cubejit", "c", "ndhwc", 80), record("onednn 2.6.3", "c", "any", 10),
                record("cubejit", "c", "ncdhw", 50), record("cubejit", "c", "ndc1hwc16", 90),
                record("onednn 2.6.3", "c", "ncdhw", None)]}


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

    def test_a_peer_that_refused_everything_is_listed_without_numbers(self):
        refused = dict(DOCUMENT, records=[record("cubejit", "c", "ndhwc", 80), record("torch 1", "c", "ndhwc", None)])
        self.assertIn("| c | dx | 80.0 | - | - | - | - |", peers_report.markdown(refused))
        self.assertIn("torch: -", peers_report.page(refused))

    def test_ticks_are_round(self):
        self.assertEqual(peers_report.ticks(3, 60), [5, 10, 20, 50])


if __name__ == "__main__":
    unittest.main()
