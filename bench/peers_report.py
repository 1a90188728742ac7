#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how a comparison with peers is shown: ratios per row as a Markdown table, and the same with a roofline and a bar
per row as one self-contained page. Leaves measuring to compare_peers.py; also a program that renders its JSON again."""
import argparse
import html
import math
import pathlib

import cubejit_command

OURS = "cubejit"
COLOURS = {OURS: "#0b6fb8", "onednn": "#c9571b", "torch": "#7a7f87", "onnxruntime": "#3f8f4f"}
KINDS = ("best", "plain")
PLAIN = "ncdhw"


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


class Rates:
    """The best rate of each (who, kind), kinds being any layout, plain tensors, for each (problem, pass); GFLOP/s of the time on the wall,
    or of the processor's as far as records of one thread have it: what other threads use, the kernel may only add at its ticks."""

    def __init__(self, document, clock="wall"):
        self.rows, self.rates, self.facts = [], {}, {}
        self.peers, self.versions, self.our_layouts = [], [], []
        for record in document["records"]:
            who = record["peer"].split()[0]
            if who != OURS and who not in self.peers:
                self.peers.append(who)
                self.versions.append(record["peer"])
            if "gflops" not in record or (clock == "cpu" and not (document["threads"] == 1 and record.get("cpu_ns_median"))):
                continue
            gflops = record["gflops"] if clock == "wall" else record["flops"] / record["cpu_ns_median"]
            row = (record["name"], record["pass"])
            if row not in self.rows:
                self.rows.append(row)
            self.facts.setdefault(row, record)
            layout = record["layout"]
            if who == OURS and layout not in self.our_layouts:
                self.our_layouts.append(layout)
            for kind in ["best", layout] + (["plain"] if layout == PLAIN else []):
                key = (*row, who, kind)
                self.rates[key] = max(self.rates.get(key, 0), gflops)

    def rate(self, row, who, kind):
        return self.rates.get((*row, who, kind))

    def ratio(self, row, peer, kind):
        ours, theirs = self.rate(row, OURS, kind), self.rate(row, peer, kind)
        return ours / theirs if ours and theirs else None

    def mean(self, pass_, peer, kind):
        ratios = [self.ratio(row, peer, kind) for row in self.rows if row[1] == pass_]
        return geometric_mean([r for r in ratios if r])

    def passes(self):
        return sorted({row[1] for row in self.rows}, key=["y", "dx", "dw", "dw+db"].index)


def summary(document):
    means = {}
    for clock, suffix in (("wall", ""), ("cpu", ", CPU time")):
        rates = Rates(document, clock)
        means.update({f"{g} {p} {k}{suffix}": rates.mean(g, p, k) for g in rates.passes() for p in rates.peers for k in KINDS})
    return means


def refusals(document):
    """A line for each reason that a peer gave for what it does not compute."""
    reasons = {}
    for record in document["records"]:
        if "error" in record:
            parts = reasons.setdefault((record["peer"], record["error"]), ({}, {}, {}))
            for part, field in zip(parts, ("pass", "layout", "name")):
                part[record[field]] = None
    return [f"- {peer}, {', '.join(passes)} of {', '.join(layouts)}, {len(names)} problem{'s' if len(names) > 1 else ''}: {reason}"
            for (peer, reason), (passes, layouts, names) in reasons.items()]


def markdown(document):
    """Per row: our rate in each layout, each peer's best and plain rate, and ours, best and plain, over theirs."""
    rates, cpu = Rates(document), Rates(document, "cpu")
    cell = lambda value, form: form.format(value) if value else "-"
    both = lambda wall, other: cell(wall, "{:.2f}") + (f" ({other:.2f})" if wall and other else "")
    columns = [(p, k) for p in rates.peers for k in KINDS]
    ours = rates.our_layouts
    header = ["problem", "pass"] + [f"ours {'plain' if layout == PLAIN else layout}" for layout in ours]
    for peer, kind in columns:
        header += [f"{peer} {kind}", "ratio"]
    threads = f"{document['threads']} pinned threads" if document["threads"] > 1 else "one pinned thread"
    lines = [f"# Peers on {document['suite']}: GFLOP/s on {threads}", "",
             f"Made by `{document['command']}`, {document['dtype']}, against {', '.join(rates.versions) or 'none'}: every row interleaved in one run, the best of {document['rounds']} rounds "
             "counts. A ratio above 1 means that cubejit is faster; best: of any layout, plain: of plain tensors, conversions included."
             + (" In parentheses is the ratio of CPU time." if cpu.rows else ""), "",
             "| " + " | ".join(header) + " |", "|---|---" + "|---:" * (len(header) - 2) + "|"]
    for row in rates.rows:
        cells = [row[0], row[1]] + [cell(rates.rate(row, OURS, layout), "{:.1f}") for layout in ours]
        for peer, kind in columns:
            cells += [cell(rates.rate(row, peer, kind), "{:.1f}"), both(rates.ratio(row, peer, kind), cpu.ratio(row, peer, kind))]
        lines.append("| " + " | ".join(cells) + " |")
    for pass_ in rates.passes():
        cells = ["**geometric mean**", pass_] + [""] * len(ours)
        for peer, kind in columns:
            cells += ["", both(rates.mean(pass_, peer, kind), cpu.mean(pass_, peer, kind))]
        lines.append("| " + " | ".join(cells) + " |")
    if blank := refusals(document):
        lines += ["", "What is blank, and why:", ""] + blank
    return "\n".join(lines) + "\n"


def ticks(low, high):
    """1, 2 and 5 times powers of ten in [low, high]."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [t for t in (m * 10.0 ** d for d in decades for m in (1, 2, 5)) if low <= t <= high]


def roofline(document, rates, pass_):
    """Log-log: work per byte if every tensor moved once, against GFLOP/s; under the measured peak and copy bandwidth."""
    peak, bandwidth = document["peak_gflops"], document["copy_gbytes"]
    points = [(row, who, rates.facts[row]["flops"] / rates.facts[row]["bytes"], rates.rate(row, who, "best"))
              for row in rates.rows if row[1] == pass_ and rates.facts[row].get("bytes")
              for who in [OURS] + rates.peers if rates.rate(row, who, "best")]
    if not points or not peak:
        return ""
    left, right = min(p[2] for p in points) / 1.5, max(p[2] for p in points) * 1.5
    bottom, top = min(min(p[3] for p in points) / 1.5, peak / 10), peak * 1.4
    x = lambda v: 60 + 560 * math.log(v / left) / math.log(right / left)
    y = lambda v: 300 - 280 * math.log(v / bottom) / math.log(top / bottom)
    knee = max(left, peak / bandwidth) if bandwidth else left
    roof = [(left, min(peak, max(bottom, left * bandwidth))), (min(knee, right), peak if knee <= right else right * bandwidth),
            (right, min(peak, right * bandwidth))]
    out = ['<svg viewBox="0 0 640 340" role="img" aria-label="roofline">']
    for line in ticks(bottom, top):
        out.append(f'<line class="grid" x1="60" x2="620" y1="{y(line):.1f}" y2="{y(line):.1f}"/>'
                   f'<text x="54" y="{y(line) + 4:.1f}" text-anchor="end">{line:g}</text>')
    for line in ticks(left, right):
        out.append(f'<line class="grid" y1="20" y2="300" x1="{x(line):.1f}" x2="{x(line):.1f}"/>'
                   f'<text x="{x(line):.1f}" y="316" text-anchor="middle">{line:g}</text>')
    path = " ".join(f"{x(a):.1f},{y(max(b, bottom)):.1f}" for a, b in roof)
    out.append(f'<polyline class="roof" points="{path}"/>')
    for row, who, intensity, rate in points:
        colour = COLOURS.get(who, "#555")
        out.append(f'<circle cx="{x(intensity):.1f}" cy="{y(max(rate, bottom)):.1f}" r="{4.5 if who == OURS else 3.5}" '
                   f'fill="{colour}"><title>{html.escape(row[0])} {pass_}, {who}: {rate:.1f} GFLOP/s, '
                   f'{intensity:.1f} FLOP/byte</title></circle>')
    out.append('<text x="340" y="334" text-anchor="middle">FLOP per byte, each tensor moved once</text>'
               '<text x="14" y="160" transform="rotate(-90 14 160)" text-anchor="middle">GFLOP/s</text></svg>')
    return "".join(out)


def bars(document, rates, pass_, kind):
    peak = document["peak_gflops"] or max(rates.rates.values())
    most = max([peak] + [v for k, v in rates.rates.items() if k[1] == pass_ and k[3] == kind])
    out = ['<table class="bars">']
    for row in rates.rows:
        if row[1] != pass_:
            continue
        cells = []
        for who in [OURS] + rates.peers:
            rate = rates.rate(row, who, kind)
            if not rate:
                cells.append(f'<div class="none">{who}: -</div>')
                continue
            ratio = "" if who == OURS else f" (ours {rates.ratio(row, who, kind):.2f}x)" if rates.ratio(row, who, kind) else ""
            cells.append(f'<div class="bar"><i><span style="width:{100 * rate / most:.1f}%;background:{COLOURS.get(who, "#555")}">'
                         f'</span></i><em>{rate:.0f}{ratio}</em></div>')
        out.append(f"<tr><th>{html.escape(row[0])}</th><td>{''.join(cells)}</td></tr>")
    return "".join(out) + "</table>"


STYLE = """body{font:14px/1.45 system-ui,sans-serif;margin:24px auto;max-width:1180px;padding:0 16px;color:#1c2733}
h1{font-size:22px}h2{font-size:17px;margin:28px 0 8px}code{background:#eef2f6;padding:1px 4px;border-radius:3px}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(460px,1fr));gap:20px}svg{display:block;width:100%;max-width:820px;font-size:11px}
.grid{stroke:#e1e7ee}.roof{fill:none;stroke:#1c2733;stroke-width:1.6}.key span{display:inline-block;width:11px;height:11px;
border-radius:6px;margin:0 5px 0 14px}.bars{border-collapse:collapse;width:100%}.bars th{text-align:left;font-weight:500;width:30%;
padding:5px 8px 5px 0;vertical-align:top;overflow-wrap:anywhere}.bars tr{border-top:1px solid #e1e7ee}.bars td{padding:4px 0}
.bar{display:grid;grid-template-columns:minmax(0,1fr) 12em;align-items:center;height:15px}.bar span{display:block;height:10px;border-radius:2px}.bar em{font-style:normal;
font-size:12px;margin-left:6px;white-space:nowrap}.none{font-size:12px;color:#7a7f87}.means td,.means th{padding:3px 14px 3px 0;
text-align:left}"""


def page(document):
    rates = Rates(document)
    key = "".join(f'<span style="background:{COLOURS.get(w, "#555")}"></span>{w}' for w in [OURS] + rates.peers)
    means = "".join(f"<tr><th>{g}</th><td>{p}</td><td>{k}</td><td>{rates.mean(g, p, k):.2f}x</td></tr>"
                    for g in rates.passes() for p in rates.peers for k in KINDS if rates.mean(g, p, k))
    title = f"{document['suite']}, {document['dtype']}: cubejit and its peers"
    out = [f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title><style>{STYLE}</style>',
           f"<h1>{html.escape(title)}</h1><p>Made by <code>{html.escape(document['command'])}</code> against {html.escape(', '.join(rates.versions))}: every row interleaved in one "
           f"run, {document['threads']} pinned threads, the best of {document['rounds']} rounds. Measured in the run: "
           f"{document['peak_gflops']:.0f} GFLOP/s of the type's own multiply-add, copies of {document['copy_gbytes']:.0f} GB/s "
           f'(bytes read and written).</p><p class="key">{key}</p>',
           f'<h2>Ours over theirs, geometric means</h2><table class="means">{means}</table>']
    for pass_ in rates.passes():
        out.append(f"<h2>{pass_}: roofline, best layouts</h2>{roofline(document, rates, pass_)}"
                   "<p>The slope is a copy through memory: rows whose tensors stay in the caches lie above it.</p>"
                   f'<div class="two"><div><h2>{pass_}, best layouts, GFLOP/s</h2>{bars(document, rates, pass_, "best")}</div>'
                   f'<div><h2>{pass_}, plain tensors, GFLOP/s</h2>{bars(document, rates, pass_, "plain")}</div></div>')
    return "\n".join(out) + "\n</html>\n"


def main():
    parser = argparse.ArgumentParser(description="Renders a comparison's JSON as Markdown and as a page.")
    parser.add_argument("document", type=pathlib.Path, help="OUTPUT.json of compare_peers.py")
    options = parser.parse_args()
    document = cubejit_command.read(options.document.read_text())
    options.document.with_suffix(".md").write_text(markdown(document))
    options.document.with_suffix(".html").write_text(page(document))


if __name__ == "__main__":
    main()
