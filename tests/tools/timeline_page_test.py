#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Asks: does the page of a timeline know what the trace knows, and does it show it in a browser, at the widths of screens and of a phone,
# without errors? Needs a browser (tools/setup.sh browser) for the second question.
#
#   timeline_page_test.py CUBEJIT
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy

WIDTH_OF_EVENT = 11  # as in the page
FLAGS = "--input 2,32,14,14 --weight 48,32,3,3 --padding 1 --dtype f16 --layout ndhwc --soc ascend910b2".split()
# Looks at the page as a person would: moves the pointer over the first instruction of core 0's cube, presses keys.
LOOKS = """<script>
window.addEventListener('load', () => setTimeout(() => {
  const core = cores[0], list = pipesOf(core)[2], e = at(core, list[0]), box = canvas.getBoundingClientRect();
  const move = {clientX: box.left + x((e.start + e.end) / 2), clientY: box.top + core.top + 2 * PIPE + 4, bubbles: true};
  canvas.dispatchEvent(new PointerEvent('pointermove', move));
  const says = {tip: document.getElementById('tip').textContent, tipShown: document.getElementById('tip').style.display,
                overflow: document.documentElement.scrollWidth - window.innerWidth, width: window.innerWidth};
  canvas.dispatchEvent(new KeyboardEvent('keydown', {key: '+', bubbles: true}));
  says.zoomed = to - from < whole;
  canvas.dispatchEvent(new KeyboardEvent('keydown', {key: '0', bubbles: true}));
  canvas.dispatchEvent(new KeyboardEvent('keydown', {key: 'n', bubbles: true}));
  says.chosen = document.getElementById('says').textContent;
  const drawn = paint.getImageData(0, 0, canvas.width, canvas.height).data;
  says.coloured = 0;
  for (let i = 0; i < drawn.length; i += 4) if (drawn[i] !== drawn[i + 1] || drawn[i + 1] !== drawn[i + 2]) ++says.coloured;
  says.errors = window.errors;
  const out = document.createElement('pre');
  out.id = 'looked';
  out.textContent = JSON.stringify(says);
  document.body.append(out);
}, 100));
</script>"""
ERRORS = "<script>window.errors = []; window.onerror = m => { window.errors.push(String(m)); };</script>"


def run(cubejit, folder):
    shapes = {"dy": (2, 14, 14, 48), "x": (2, 14, 14, 32), "w": (48, 32, 3, 3)}
    inputs = []
    for name, shape in shapes.items():
        numpy.save(folder / f"{name}.npy", numpy.ones(shape, numpy.float16))
        inputs += ["--in", f"{name}={folder / name}.npy"]
    for form in ("html", "svg"):
        subprocess.run([cubejit, "run", *FLAGS, *inputs, "--out", f"dx={folder}/dx.npy", "--out", f"dw={folder}/dw.npy",
                        "--trace", f"{folder}/trace.json", "--timeline", f"{folder}/timeline.{form}"],
                       check=True, stdout=subprocess.DEVNULL)
    return (folder / "timeline.html").read_text(), json.loads((folder / "trace.json").read_text())["traceEvents"]


def compare(page, trace):
    data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S).group(1))
    shown = sorted((core, flat[i], flat[i + 2], flat[i + 3], data["names"][flat[i + 1]], flat[i + 4])
                   for core, flat in enumerate(data["events"]) for i in range(0, len(flat), WIDTH_OF_EVENT))
    traced = sorted((e["pid"], e["tid"], round(e["ts"] * data["mhz"]), round(e["dur"] * data["mhz"]), e["name"],
                     e["args"].get("bytes", e["args"].get("steps"))) for e in trace if e["ph"] == "X")
    assert shown == traced, "the page and the trace differ"
    assert len(shown) > 500 and data["left"] == 0
    starts = {e["id"]: e for e in trace if e["ph"] == "s"}
    ends = {e["id"]: e for e in trace if e["ph"] == "f"}
    waiting = sum(flat[i + 5] > 0 for flat in data["events"] for i in range(0, len(flat), WIDTH_OF_EVENT))
    assert len(starts) == len(ends) == waiting > 100, (len(starts), len(ends), waiting)
    assert {e["name"] for e in starts.values()} >= {"MTE2_MTE1", "MTE1_M", "M_FIX", "MTE2_V"}, {e["name"] for e in starts.values()}
    for number, start in starts.items():
        assert start["ts"] <= ends[number]["ts"] and start["pid"] == ends[number]["pid"], "an arrow leads back in time"
    for flat in data["events"]:
        for i in range(0, len(flat), WIDTH_OF_EVENT):
            back = flat[i + 5] * WIDTH_OF_EVENT
            if back:
                end = flat[i - back + 2] + flat[i - back + 3]
                until = flat[i - back + 9]
                assert flat[i + 2] in (end, until), "what waits begins when what it waited for has ended"
            assert flat[i + 8] <= data["buffers"][flat[i + 7]]["bytes"], "a buffer holds no more than it has"


def look(browser, page, folder, width):
    file = folder / f"look{width}.html"
    file.write_text(page.replace("<head>", "<head>" + ERRORS).replace("</body>", LOOKS + "</body>"))
    dom = subprocess.run([browser, "--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={width},900",
                          f"--user-data-dir={folder}/profile{width}", "--virtual-time-budget=4000", "--dump-dom", file.as_uri()],
                         capture_output=True, text=True, timeout=120).stdout
    found = re.search(r'<pre id="looked">(.*?)</pre>', dom, re.S)
    assert found, f"at {width}: the page did not run"
    says = json.loads(found.group(1).replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))
    assert says["errors"] == [], says
    assert says["overflow"] <= 0, f"at {width}: wider than the window by {says['overflow']}"
    assert says["tipShown"] == "block" and "mmad (M of core 0)" in says["tip"], says
    assert "steps of the cube" in says["tip"] and "waits for" in says["tip"], says
    assert says["zoomed"] and "gm_to_l1" in says["chosen"], says
    assert says["coloured"] > 2000, says


def main():
    cubejit = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        page, trace = run(cubejit, folder)
        compare(page, trace)
        svg = (folder / "timeline.svg").read_text()
        assert "viewBox" in svg and "cycle" in svg
        assert len(page) < 2_000_000
        browser = shutil.which("chromium")
        if browser is None:
            print("the page was not opened: there is no browser (tools/setup.sh browser)")
            return
        for width in (1920, 1366, 500):
            look(browser, page, folder, width)


main()
