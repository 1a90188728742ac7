#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Asks: does the page of a timeline know what the trace knows, and does it show it in a browser: at the widths of screens and of a phone, by
# day and by night, to scale, folded, and when there is a lot of it? Needs a browser (tools/setup.sh browser) for all but the first question.
#
#   timeline_page_test.py CUBEJIT
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import numpy

import browser as pages

WIDTH_OF_EVENT = 11  # as in the page
FLAGS = "--input 2,32,14,14 --weight 48,32,3,3 --padding 1 --dtype f16 --layout ndhwc --soc ascend910b2".split()
DATA = re.compile(r'(<script id="data" type="application/json">)(.*?)(</script>)', re.S)
COLOURS = [(0x48, 0x78, 0xa8), (0x6a, 0xa8, 0x4f), (0xc0, 0x50, 0x4d), (0x80, 0x64, 0xa2), (0xd6, 0xa0, 0x3c)]

# Looks at the page as a person would: moves the pointer over the first instruction of core 0's cube, presses keys.
LOOKS = """
  const core = cores[0], e = at(core, pipesOf(core)[2][0]), box = canvas.getBoundingClientRect(), row = rowOf(core, 2);
  const move = (px, py) => canvas.dispatchEvent(new PointerEvent('pointermove', {clientX: box.left + px, clientY: box.top + py, bubbles: true}));
  const key = k => canvas.dispatchEvent(new KeyboardEvent('keydown', {key: k, bubbles: true}));
  move(x((e.start + e.end) / 2), row.y + row.h / 2);
  const says = {tip: $('tip').textContent, tipShown: $('tip').style.display, overflow: document.documentElement.scrollWidth - window.innerWidth};
  move(x(e.end), unitsEnd(core) + 4 + 3 * BUFFER + 9);
  says.buffer = $('tip').textContent;
  key('+');
  says.zoomed = to - from < whole;
  key('0');
  key('n');
  says.chosen = $('says').textContent;
  says.missing = $('missing').textContent;
  const drawn = paint.getImageData(0, 0, canvas.width, canvas.height).data;
  says.coloured = 0;
  for (let i = 0; i < drawn.length; i += 4) if (drawn[i] !== drawn[i + 1] || drawn[i + 1] !== drawn[i + 2]) ++says.coloured;
  return says;"""

# In each window, the runs of a pipe's colour in core 0; then how high buffers and memory are drawn, in pixels, in the columns of the whole run.
MEASURES = """
  const lineAt = y => paint.getImageData(0, Math.round(y), canvas.width, 1).data;
  const is = (line, px, colour) => [0, 1, 2].every(i => line[px * 4 + i] === colour[i]);
  const says = {runs: [], left: LEFT, wide: canvas.clientWidth, ratio: window.devicePixelRatio, whole};
  $('path').click();
  for (const [pipe, a, b] of WINDOWS) {
    from = a; to = b;
    draw();
    const line = lineAt(rowOf(cores[0], pipe).y + 3), runs = [];
    for (let px = LEFT; px < canvas.width; ++px) if (is(line, px, COLOURS_RGB[pipe])) { if (runs.length && runs.at(-1)[1] === px) ++runs.at(-1)[1]; else runs.push([px, px + 1]); }
    says.runs.push(runs);
  }
  from = 0; to = whole;
  draw();
  const columns = Math.floor((canvas.clientWidth - LEFT - 8) / 2), heights = (bottom, high) => {
    const all = paint.getImageData(LEFT, bottom - high, columns * 2, high).data, found = [];
    for (let c = 0; c < columns; ++c) {
      let h = 0;  // grey is no colour, and what is mixed with the background counts as much as it is of the colour
      for (let y = 0; y < high; ++y) { const o = (y * columns * 2 + c * 2) * 4, p = [all[o], all[o + 1], all[o + 2]]; if (Math.max(...p) - Math.min(...p) > 12) ++h; }
      found.push(h);
    }
    return found;
  };
  says.buffers = D.buffers.map((_, b) => heights(unitsEnd(cores[0]) + 4 + b * BUFFER + BUFFER - 3, BUFFER - 4));
  says.memory = heights(70, 38);
  return says;"""

# Clicks on what folds, and looks how many rows of pixels have the colour of core 0's cube, and where core 1 begins.
FOLDS = """
  canvas.setPointerCapture = () => {};
  const click = (px, py) => { const box = canvas.getBoundingClientRect(); for (const type of ['pointerdown', 'pointerup']) canvas.dispatchEvent(new PointerEvent(type, {clientX: box.left + px, clientY: box.top + py, bubbles: true})); };
  const state = () => {
    const height = cores[1].top - cores[0].top, all = paint.getImageData(LEFT, cores[0].top, canvas.width - LEFT, height).data;
    let rows = 0;
    for (let y = 0; y < height; ++y) for (let px = 0; px < canvas.width - LEFT; ++px) { const o = (y * (canvas.width - LEFT) + px) * 4; if ([0, 1, 2].every(i => all[o + i] === COLOURS_RGB[2][i])) { ++rows; break; } }
    return {rows, height, pressed: [...$('keys').children].map(k => k.getAttribute('aria-pressed'))};
  };
  const says = {};
  $('path').click();
  says.open = state();
  click(40, rowOf(cores[0], 2).y + 5);
  says.unit = state();
  $('keys').children[2].click();
  says.again = state();
  click(10, cores[0].top + 5);
  says.core = state();
  click(10, cores[0].top + 5);
  says.unfolded = state();
  $('fold').click();
  says.all = cores.every(c => c.folded);
  $('unfold').click();
  says.none = cores.every(c => !c.folded);
  return says;"""

# The colour of each text and of what is behind it, as the browser computes them.
TEXTS = """
  const says = {dark: matchMedia('(prefers-color-scheme: dark)').matches, texts: []}, rgb = text => text.match(/[0-9.]+/g).map(Number);
  $('tip').textContent = 'a tip';
  $('tip').style.display = 'block';
  $('missing').textContent = 'something';
  for (const node of document.querySelectorAll('h1, p, button, label, #tip')) {
    let behind = node, colour = [0, 0, 0, 0];
    for (; behind && (colour.length === 4 && colour[3] === 0); behind = behind.parentElement) colour = rgb(getComputedStyle(behind).backgroundColor);
    says.texts.push([node.id || node.tagName + ' ' + node.textContent, rgb(getComputedStyle(node).color).slice(0, 3), colour.slice(0, 3)]);
  }
  const hex = name => { const probe = document.createElement('p'); probe.style.color = css(name); document.body.append(probe); const found = rgb(getComputedStyle(probe).color); probe.remove(); return found; };
  for (const name of ['--fg', '--soft']) says.texts.push(['canvas ' + name, hex(name), [...paint.getImageData(2, canvas.height - 2, 1, 1).data].slice(0, 3)]);
  return says;"""

# How long it took until the page was drawn, and takes to be drawn again; asking for pixels waits for the drawing.
TIMES = """
  paint.getImageData(0, 0, 1, 1);
  const says = {loaded: performance.now(), cores: cores.length, events: cores.reduce((sum, c) => sum + c.count, 0), draws: []};
  for (const act of [() => $('unfold').click(), () => zoom(0.5, whole / 2), () => move(whole / 8), () => $('fold').click()]) {
    const start = performance.now();
    act();
    paint.getImageData(0, 0, 1, 1);
    says.draws.push(performance.now() - start);
  }
  return says;"""

# Where bars, ticks and their labels are on the screen.
SVG = """
  const says = {bars: [], ticks: [], words: document.querySelector('svg').textContent};
  for (const r of document.querySelectorAll('rect[fill-opacity]')) {
    const box = r.getBoundingClientRect();
    says.bars.push([box.left, box.right, box.top, r.getAttribute('fill'), Number(r.getAttribute('fill-opacity'))]);
  }
  const labels = [...document.querySelectorAll('text[text-anchor=middle]')], places = [...document.querySelectorAll('path')].slice(1);
  labels.filter((_, i) => i % 2 === 0).forEach((t, i) => { const box = t.getBoundingClientRect(); says.ticks.push([Number(t.textContent), (box.left + box.right) / 2, places[i].getBoundingClientRect().left]); });
  return says;"""


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


def events_of(flat):
    return [flat[i:i + WIDTH_OF_EVENT] for i in range(0, len(flat), WIDTH_OF_EVENT)]


def compare(data, trace):
    shown = sorted((core, e[0], e[2], e[3], data["names"][e[1]], e[4]) for core, flat in enumerate(data["events"]) for e in events_of(flat))
    traced = sorted((e["pid"], e["tid"], round(e["ts"] * data["mhz"]), round(e["dur"] * data["mhz"]), e["name"],
                     e["args"].get("bytes", e["args"].get("steps"))) for e in trace if e["ph"] == "X")
    assert shown == traced, "the page and the trace differ"
    assert len(shown) > 500 and data["left"] == 0
    starts = {e["id"]: e for e in trace if e["ph"] == "s"}
    ends = {e["id"]: e for e in trace if e["ph"] == "f"}
    waiting = sum(e[5] > 0 for flat in data["events"] for e in events_of(flat))
    assert len(starts) == len(ends) == waiting > 100, (len(starts), len(ends), waiting)
    assert {e["name"] for e in starts.values()} >= {"MTE2_MTE1", "MTE1_M", "M_FIX", "MTE2_V"}, {e["name"] for e in starts.values()}
    for number, start in starts.items():
        assert start["ts"] <= ends[number]["ts"] and start["pid"] == ends[number]["pid"], "an arrow leads back in time"
    for flat in data["events"]:
        events = events_of(flat)
        for i, e in enumerate(events):
            if e[5]:
                awaited = events[i - e[5]]
                assert e[2] in (awaited[2] + awaited[3], awaited[9]), "what waits begins when what it waited for has ended"
            assert e[9] >= e[2] + e[3], "a fill is there when it is done"
        for b, buffer in enumerate(data["buffers"]):
            levels = levels_of(events, b)
            assert all(0 <= held <= buffer["bytes"] for held in levels.values()), f"{buffer['name']} holds more than it has"
            assert not levels or list(levels.values())[-1] == 0


def levels_of(events, buffer):
    """The bytes in use of a buffer from each cycle on at which they change."""
    changes = {}
    for e in events:
        if e[7] == buffer and e[8] > 0:
            changes[e[2]] = changes.get(e[2], 0) + e[8]
            changes[e[9]] = changes.get(e[9], 0) - e[8]
    held, levels = 0, {}
    for cycle in sorted(changes):
        held += changes[cycle]
        levels[cycle] = held
    return levels


def windows_of(trace):
    """For each pipe, from and to cycles around instructions of core 0, each long enough to be measured; and those that are seen."""
    found = []
    for pipe in range(4):
        events = [e for e in trace if e[0] == pipe]
        for count, i in ((c, i) for c in (8, 6, 4) for i in range(len(events) - c + 1)):
            some = events[i:i + count]
            a, b = some[0][2], some[-1][2] + some[-1][3]
            if min(e[3] for e in some) > (b - a) / 200:
                found.append((pipe, a, b, [(e[2], e[2] + e[3]) for e in some]))
                break
    assert {w[0] for w in found} >= {0, 1, 2}, "no instructions to be measured"
    return found


def script(text, windows=()):
    return text.replace("WINDOWS", json.dumps([w[:3] for w in windows])).replace("COLOURS_RGB", json.dumps(COLOURS))


def see(browser, page, folder, width):
    says = pages.look(browser, page, LOOKS, folder, width)
    assert says["overflow"] <= 0, f"at {width}: wider than the window by {says['overflow']}"
    assert says["tipShown"] == "block" and "mmad (M of core 0)" in says["tip"], says
    assert "steps of the cube" in says["tip"] and "waits for" in says["tip"], says
    assert re.fullmatch(r"L0C of core 0\nat cycle [\d,]+: [\d,]+ of 131,072 bytes in use \([1-9]\d* %\)", says["buffer"]), says
    assert says["zoomed"] and "gm_to_l1" in says["chosen"], says
    assert says["coloured"] > 2000, says
    assert says["missing"] == "", says


def to_scale(browser, page, data, folder):
    events = events_of(data["events"][0])
    windows = windows_of(events)
    says = pages.look(browser, page, script(MEASURES, windows), folder, 1920)
    assert says["ratio"] == 1
    for (pipe, _, _, seen), runs in zip(windows, says["runs"]):
        assert len(runs) == len(seen), f"pipe {pipe}: {len(runs)} bars are drawn for {len(seen)} instructions"
        pages.proportional([x for run in runs for x in (run[0], run[1] + 1)], [c for run in seen for c in run], 2, f"bars of pipe {pipe}")
        pages.near(runs[0][0], says["left"], 1, "what begins with the window")
    step = says["whole"] / len(says["memory"])
    for b, buffer in enumerate(data["buffers"]):
        levels = sorted(levels_of(events, b).items())
        wanted = [0.0] * len(says["memory"])
        for (cycle, held), (end, _) in zip(levels, levels[1:]):
            for c in range(int(cycle / step), min(len(wanted) - 1, int((end - 1e-6) / step)) + 1):
                wanted[c] = max(wanted[c], held / buffer["bytes"] * 14)
        assert max(wanted) > 0 or buffer["name"] == "UB", "nothing to be measured"
        for c, (drawn, height) in enumerate(zip(says["buffers"][b], wanted)):
            pages.near(drawn, height, 1, f"{buffer['name']} in column {c}")
    read, written = [0.0] * len(says["memory"]), [0.0] * len(says["memory"])
    for e in (e for flat in data["events"] for e in events_of(flat) if e[0] in (0, 3)):
        for c in range(int(e[2] / step), min(len(read) - 1, int((e[2] + e[3]) / step)) + 1):
            share = max(0, min(e[2] + e[3], (c + 1) * step) - max(e[2], c * step)) / max(1, e[3])
            (read if e[0] == 0 else written)[c] += e[4] * share / step
    peak = data["cores"] * max(data["rates"].values())
    wanted = [max(r, w) / peak * 38 for r, w in zip(read, written)]
    assert max(wanted) > 4, "too little traffic to be measured"
    for c, (drawn, height) in enumerate(zip(says["memory"], wanted)):
        pages.near(drawn, min(38, height), 1, f"memory in column {c}")


def folds(browser, page, folder):
    says = pages.look(browser, page, script(FOLDS), folder)
    assert says["open"]["rows"] == 10, says["open"]
    assert says["unit"]["rows"] == 2 and says["unit"]["pressed"] == ["false", "false", "true", "false", "false"], says["unit"]
    assert says["unit"]["height"] == says["open"]["height"] - 8, says
    assert says["again"] == says["open"], says
    assert says["core"]["height"] < 24 and 1 <= says["core"]["rows"] <= 3, says["core"]
    assert says["unfolded"] == says["open"] and says["all"] and says["none"], says


def luminance(colour):
    linear = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrasts(browser, page, folder, dark):
    says = pages.look(browser, page, TEXTS, folder, dark=dark)
    assert says["dark"] == dark and len(says["texts"]) > 12, says
    for what, text, behind in says["texts"]:
        light, dim = sorted((luminance(text), luminance(behind)), reverse=True)
        assert (light + 0.05) / (dim + 0.05) >= 4.5, f"{what}: {text} on {behind} cannot be read {'by night' if dark else ''}"
        assert (luminance(behind) < 0.2) == dark, f"{what}: {behind} is behind it {'by night' if dark else ''}"


def much(data):
    """A run of 48 cores and 200,000 instructions: core 0's, again and again."""
    once, count = events_of(data["events"][0]), 200_000 // 48
    cycles, tasks = max(e[9] for e in once) + 100, max(e[6] for e in once) + 1
    flat = []
    for i in range(count):
        e, again = once[i % len(once)], i // len(once)
        flat += [e[0], e[1], e[2] + again * cycles, *e[3:6], e[6] + again * tasks, e[7], e[8], e[9] + again * cycles, 0]
    whole = (count // len(once) + 1) * cycles
    parts = [{"name": "dx", "cycles": whole, "traced": 1_000_000, "dropped": 234_567}]
    return dict(data, cores=48, left=800_000, parts=parts, events=[flat] * 48)


def many(browser, page, data, folder):
    page = DATA.sub(lambda m: m.group(1) + json.dumps(much(data)) + m.group(3), page)
    says = pages.look(browser, page, TIMES, folder)
    assert says["cores"] == 48 and says["events"] > 199_000, says
    assert says["loaded"] < 5000, f"drawn after {says['loaded']:.0f} ms"
    assert max(says["draws"]) < 1500, f"drawn again after {says['draws']} ms"
    missing = pages.look(browser, page, "return {words: $('missing').textContent};", folder)["words"]
    assert "800,000 instructions of the trace are left out here: the last ones of core 47, and those of the cores behind it." in missing, missing
    assert ("The trace of dx has 1,000,000 of its 1,234,567 instructions; the other 234,567 were beyond the trace's own limit." in missing), missing
    print(f"48 cores: drawn after {says['loaded']:.0f} ms, again after {[round(d) for d in says['draws']]} ms")


def picture(browser, svg, trace, folder):
    root = xml.etree.ElementTree.fromstring(svg)
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    drawn = svg.replace("<svg ", '<svg style="width:100%;height:auto" ', 1)
    page = f'<!doctype html><html><head></head><body style="margin:0"><div style="width:800px">{drawn}</div></body></html>'
    says = pages.look(browser, page, SVG, folder)
    for word in ("cycle", "\u00b5s", "core 0", "core 23", "gm_to_l1", "cube", "the first event begins at cycle"):
        assert word in says["words"], word
    ticks = says["ticks"]
    assert len(ticks) >= 5
    for cycle, label, mark in ticks:
        pages.near(label, mark, 1.5, f"the label of tick {cycle}")
    # A tick's mark is a line of a whole pixel of the picture.
    scale = (ticks[-1][1] - ticks[0][1]) / (ticks[-1][0] - ticks[0][0])
    place = lambda cycle: ticks[0][1] + (cycle - ticks[0][0]) * scale
    column = 800 / float(root.get("width"))
    rows = {}
    for left, right, top, colour, opacity in says["bars"]:
        rows.setdefault((round(top), colour), []).append((left, right, opacity))
    busy = {}
    for e in trace:
        if e["ph"] == "X" and e["dur"] > 0:
            busy.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["ts"] + e["dur"]))
    assert len(rows) == len(busy) > 24, (len(rows), len(busy))
    mhz = 1800
    for (_, bars), (key, events) in zip(sorted(rows.items()), sorted(busy.items())):
        pages.near(bars[0][0], place(events[0][0] * mhz), 2 * column, f"the first bar of {key}")
        pages.near(max(b[1] for b in bars), place(max(e[1] for e in events) * mhz), 2 * column, f"the last bar of {key}")
        drawn = sum((right - left) * opacity for left, right, opacity in bars)
        wanted = sum(b - a for a, b in events) * mhz * scale
        columns = sum(right - left for left, right, _ in bars)
        assert wanted * 0.98 - 1 <= drawn <= wanted * 1.02 + 1 + columns / 10, f"{key}: {drawn} drawn of {wanted}"
    left = place(ticks[0][0]) if ticks[0][0] == 0 else min(b[0] for r in rows.values() for b in r)
    pages.near(min(b[0] for r in rows.values() for b in r), 60 * column, 1.5 * column, "the picture begins with what is drawn first; it")
    assert sum(b[0] < 60 * column + 1000 * column / 3 for r in rows.values() for b in r) > 20, f"blank from {left} on"


def main():
    cubejit = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        page, trace = run(cubejit, folder)
        data = json.loads(DATA.search(page).group(2))
        compare(data, trace)
        assert len(page) < 2_000_000
        browser = pages.find()
        if browser is None:
            print("the page was not opened: there is no browser (tools/setup.sh browser)")
            return
        for width in (1920, 1366, 500):
            see(browser, page, folder, width)
        to_scale(browser, page, data, folder)
        folds(browser, page, folder)
        for dark in (False, True):
            contrasts(browser, page, folder, dark)
        many(browser, page, data, folder)
        picture(browser, (folder / "timeline.svg").read_text(), trace, folder)


main()
