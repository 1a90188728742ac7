#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Asks: are charts drawn to scale? The pages of explore, tune, dump and the comparison with peers are opened in a browser, and what is measured on
# the screen is set beside the numbers that the page was made from. timeline_page_test does so for timelines. Skipped (77) without a browser
# (tools/setup.sh browser).
#
#   page_charts_test.py CUBEJIT
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

import browser as pages

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import peers_report

DATA = re.compile(r'<script id="data" type="application/json">(.*?)</script>', re.S)
PRELUDE = """
  const box = node => { const b = node.getBoundingClientRect(); return [(b.left + b.right) / 2, (b.top + b.bottom) / 2, b.width, b.height, b.left, b.right]; };
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const texts = (selector, within) => all(selector, within).map(t => [t.textContent, ...box(t)]);
"""


def made(cubejit, folder, arguments):
    """The page that a command writes, and the data in it."""
    subprocess.run([cubejit, *arguments.split(), "--report", "page.html"], check=True, cwd=folder, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    page = (folder / "page.html").read_text()
    return page, json.loads(DATA.search(page).group(1))


def explore(browser, cubejit, folder):
    page, data = made(cubejit, folder, "explore --input 1,64,20,24 --weight 48,64,3,3 --padding 1 --passes dx,dw --dtype f16 --soc ascend910b2 "
                                       "--vary cores=2..48 --vary l0c=32K..256K --vary l2_read=20,110")
    of = {p["machine"]["name"]: p for p in data["points"]}
    assert len(of) == len(data["points"]) > 10
    kinds = {"us": lambda p: p["us"], "cycles": lambda p: p["cycles"], "energy": lambda p: p["energy_pj"] * 1e-6,
             "memory": lambda p: p["memory_bytes"]}
    script = PRELUDE + """
  return {charts: CHARTS.map(([x, y]) => {
    $('x').value = x; $('y').value = y;
    $('x').dispatchEvent(new Event('change'));
    const front = $('scatter').querySelector('path:not(.axis)');
    return {dots: all('#scatter circle').map(c => [c.querySelector('title').textContent.split('\\n')[0], ...box(c), c.classList.contains('front')]),
            labels: texts('#scatter text'), frame: box($('scatter').querySelector('.axis')),
            front: front ? front.getAttribute('d').slice(1).split('L').map(p => { const at = new DOMPoint(...p.split(' ').map(Number)).matrixTransform($('scatter').getScreenCTM()); return [at.x, at.y]; }) : []};
  })};"""
    charts = [("us", "energy"), ("energy", "cycles"), ("cycles", "us")]
    says = pages.look(browser, page, script.replace("CHARTS", json.dumps(charts)), folder)
    for (x, y), chart in zip(charts, says["charts"]):
        dots, what = chart["dots"], f"explore, {y} over {x}"
        assert len(dots) == sum(p["failed"] == 0 for p in data["points"])
        pages.proportional([d[1] for d in dots], [kinds[x](of[d[0]]) for d in dots], 0.5, what + ", across")
        pages.proportional([d[2] for d in dots], [kinds[y](of[d[0]]) for d in dots], 0.5, what + ", up")
        left, right = min(dots, key=lambda d: d[1]), max(dots, key=lambda d: d[1])
        assert kinds[x](of[left[0]]) < kinds[x](of[right[0]]), what + ": less is on the right"
        top, bottom = min(dots, key=lambda d: d[2]), max(dots, key=lambda d: d[2])
        assert kinds[y](of[top[0]]) > kinds[y](of[bottom[0]]), what + ": less is above"
        lit = sorted((d[1], d[2]) for d in dots if d[7])
        for at, dot in zip(sorted(map(tuple, chart["front"])), lit):
            pages.near(at[0], dot[0], 0.5, what + ": the front's line")
            pages.near(at[1], dot[1], 0.5, what + ": the front's line")
        for axis, kind, ends in ((1, x, (left, right)), (2, y, (bottom, top))):
            low, high = (kinds[kind](of[end[0]]) for end in ends)
            for i, label in enumerate(chart["labels"][axis - 1:6:2]):  # of the least, the middle and the most
                said = float(label[0].rstrip("KM")) * {"K": 1e3, "M": 1e6}.get(label[0][-1], 1)
                assert math.isclose(said, low + i / 2 * (high - low), rel_tol=1e-3), (label, what)
                pages.near(label[axis], ends[0][axis] + i / 2 * (ends[1][axis] - ends[0][axis]), 1.5, what + ": the label " + label[0])


def tune(browser, cubejit, folder):
    same, pointwise = {"kernel": [1, 3, 3], "stride": [1, 1, 1], "pad": [0, 0, 1, 1, 1, 1]}, {"kernel": [1, 1, 1], "stride": [1, 2, 2], "pad": [0] * 6}
    shapes = [(1, 64, 48, (20, 20), (20, 20), same), (1, 32, 80, (14, 14), (14, 14), same), (2, 48, 16, (29, 32), (15, 16), pointwise)]
    (folder / "suite.jsonl").write_text("".join(json.dumps(
        {"name": f"layer {i}", "rank": 2, "n": n, "ci": ci, "co": co, "groups": 1, "input": [1, *inputs], "output": [1, *outputs],
         "dilation": [1, 1, 1], **window}) + "\n" for i, (n, ci, co, inputs, outputs, window) in enumerate(shapes)))
    page, data = made(cubejit, folder, "tune --suite suite.jsonl --passes dw --dtype f16 --soc ascend310p3 --trials 40 --progress none --db t.db")
    layers = data["layers"]
    assert len(layers) == 3 and any(layer["tuned"] for layer in layers), "nothing was tuned"
    says = pages.look(browser, page, PRELUDE + """
  $('order').value = 'given';
  $('order').dispatchEvent(new Event('change'));
  const rows = id => all(id + ' g.row').map(g => ({circles: all('circle', g).map(box), lines: all('line', g).map(box)}));
  return {chosen: chosen.index, layers: rows('#layers'), shares: texts('#layers > text'), roofline: rows('#roofline'), roofs: texts('#roofline > text'),
          search: all('#search circle').map(box), scatter: all('#scatter circle').map(box),
          models: all('#models rect').map(box)};""", folder)
    peak = lambda layer: layer["flops"] / data["peak_gflops"] / layer["untuned_ns"]
    shown, wanted = [], []
    for row, layer in zip(says["layers"], layers):
        values = [peak(layer)] + ([peak(layer) / layer["rel"]] if layer["tuned"] else [])
        shown += [c[0] for c in row["circles"]]
        wanted += values
        pages.near(row["lines"][0][2], abs(row["circles"][-1][0] - row["circles"][0][0]), 0.5, "the line from before to after")
    shown += [t[1] for t in says["shares"]]
    wanted += [int(t[0].split()[0]) / 100 for t in says["shares"]]
    pages.proportional(shown, wanted, 1, "tune, share of the peak")
    across, up, of_x, of_y = [], [], [], []
    for row, layer in zip(says["roofline"], layers):
        for circle, ns in zip(row["circles"], (layer["untuned_ns"], layer["untuned_ns"] * layer["rel"])):
            across.append(circle[0]), up.append(circle[1])
            of_x.append(math.log2(layer["flops"] / layer["bytes"])), of_y.append(math.log2(layer["flops"] / ns))
    numbers = [(t, float(t[0][2:]) ** -1 if t[0].startswith("1/") else float(t[0])) for t in says["roofs"] if re.fullmatch(r"(1/)?\d+", t[0])]
    lowest = max(t[2] for t, _ in numbers)
    flat = [(t, v) for t, v in numbers if abs(t[2] - lowest) < 1]
    pages.proportional(across + [t[1] for t, _ in flat], of_x + [math.log2(v) for _, v in flat], 1, "tune, roofline across")
    upright = [(t, v) for t, v in numbers if abs(t[2] - lowest) >= 1]
    assert len(flat) > 2 and len(upright) > 2
    pages.proportional(up + [t[2] for t, _ in upright], of_y + [math.log2(v) for _, v in upright], 1.5, "tune, roofline up")
    chosen = layers[says["chosen"]]
    good = [(i, t) for i, t in enumerate(chosen["trials"]) if t["status"] == "measured" and t["rel"] > 0]
    pages.proportional([c[0] for c in says["search"]], [i for i, _ in good], 0.5, "tune, the order of plans")
    most = min(2.2, max([1.1] + [t["rel"] for _, t in good]) * 1.03)
    pages.proportional([c[1] for c in says["search"]], [-math.log(min(most, t["rel"])) for _, t in good], 0.5, "tune, the time of plans")
    pages.proportional([c[0] for c in says["scatter"]], [math.log(t["cycles"]) for _, t in good], 0.5, "tune, what was predicted")
    pages.proportional([c[1] for c in says["scatter"]], [-math.log(t["rel"]) for _, t in good], 0.5, "tune, what was measured")
    ranks = [m[key]["spearman"] for m in data["models"] for key in ("planner", "fitted", "others")]
    assert len(says["models"]) == 2 * len(ranks) > 0
    for rank, track, bar in zip(ranks, says["models"][::2], says["models"][1::2]):
        pages.near(bar[2], max(0, rank) * track[2], 0.5, "tune, how well a model ranks")
        pages.near(bar[4], track[4], 0.5, "where it begins")


def peers(browser, folder):
    records = []
    rates = {"cubejit": [100, 60, 25, 140], "onednn 2.6.3": [50, 70, 5, 90]}
    for peer, all_rates in rates.items():
        for i, rate in enumerate(all_rates):
            records.append({"peer": peer, "name": "a rather long name of a layer " * (i + 1), "pass": "dx", "layout": "ndhwc", "flops": 1e9,
                            "bytes": 1e7 * 4 ** i, "gflops": rate})
    page = peers_report.page({"suite": "s.jsonl", "dtype": "f32", "command": "compare", "threads": 2, "rounds": 1, "peak_gflops": 200.0,
                              "copy_gbytes": 20.0, "records": records})
    script = PRELUDE + """
  return {bars: all('.bar').map(b => [...box(b.querySelector('span')), ...box(b.querySelector('i'))]), circles: all('svg circle').map(box),
          labels: texts('svg text'), roof: document.querySelector('polyline').getAttribute('points').split(' ').map(p => { const at = new DOMPoint(...p.split(',').map(Number)).matrixTransform(document.querySelector('svg').getScreenCTM()); return [at.x, at.y]; })};"""
    order = [rates[peer][i] for i in range(4) for peer in rates]
    for width in (1366, 500):
        says = pages.look(browser, page, script, folder, width)
        bars = says["bars"]
        assert len(bars) == len(order)
        pages.proportional([b[5] for b in bars] + [b[4] for b in bars], order + [0] * len(bars), 1, f"peers at {width}, rates")
        for bar, rate in zip(bars, order):
            pages.near(bar[2], bar[8] * rate / 200, 1, f"peers at {width}, a rate of the peak of 200")
        x = [math.log(1e9 / (1e7 * 4 ** i)) for i in range(4) for _ in rates]
        y = [-math.log(rate) for rate in order]
        numbers = [(t, float(t[0])) for t in says["labels"] if re.fullmatch(r"[\d.]+", t[0])]
        lowest = max(t[2] for t, _ in numbers)
        flat = [(t, v) for t, v in numbers if abs(t[2] - lowest) < 1]
        upright = [(t, v) for t, v in numbers if abs(t[2] - lowest) >= 1]
        assert len(flat) > 2 and len(upright) > 2
        pages.proportional([c[0] for c in says["circles"]] + [t[1] for t, _ in flat], x + [math.log(v) for _, v in flat], 1,
                           f"peers at {width}, roofline across")
        pages.proportional([c[1] for c in says["circles"]] + [t[2] for t, _ in upright], y + [-math.log(v) for _, v in upright], 2,
                           f"peers at {width}, roofline up")


def dump(browser, cubejit, folder):
    subprocess.run([cubejit, *"dump --input 1,64,20,24 --weight 48,64,3,3 --padding 1 --dtype f16 --passes dx --soc ascend910b2 --emit all -o dump".split()],
                   check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    page = next((folder / "dump").glob("*/index.html")).read_text()
    chip = json.loads(DATA.search(page).group(1))["chip"]
    shares = {b["name"]: b["used"] / b["bytes"] for b in chip["buffers"] if b["bytes"]} | {p["name"]: p["busy"] for p in chip["pipes"]}
    for width in (1366, 500):
        says = pages.look(browser, page, PRELUDE + """
  return {gauges: all('.gauge').map(g => [g.querySelector('b').textContent, box(g.querySelector('.full')), box(g.querySelector('.used'))]),
          bars: all('.bar').map(b => [b.nextSibling.textContent, box(b), box(b.firstChild)])};""", folder, width)
        assert says["gauges"][0][1][2] > 60, f"dump at {width}: too narrow to be measured"
        assert len(says["gauges"]) == len(chip["buffers"]) + len(chip["pipes"]) and len({g[1][2] for g in says["gauges"]}) == 1
        for name, track, bar in says["gauges"]:
            pages.near(bar[2], shares[name] * track[2], track[2] / 1000 + 0.1, f"dump at {width}, {name}")
            pages.near(bar[4], track[4], 0.1, f"dump at {width}, where {name} begins")
        assert says["bars"]
        for text, track, bar in says["bars"]:
            share = int(re.search(r"(\d+) %", text).group(1)) / 100
            pages.near(bar[2], share * track[2], track[2] / 100 + 0.1, f"dump at {width}, {text}")


def main():
    browser = pages.find()
    if browser is None:
        print("no page was opened: there is no browser (tools/setup.sh browser)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        peers(browser, folder)
        explore(browser, sys.argv[1], folder)
        tune(browser, sys.argv[1], folder)
        dump(browser, sys.argv[1], folder)


main()
