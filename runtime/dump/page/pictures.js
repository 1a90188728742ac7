function left(index) {
  const box = $("left");
  box.textContent = "";
  box.append(title("What is computed"));
  const f = el("div", "formula");
  f.style.whiteSpace = "pre";
  f.textContent = formula();
  box.append(f, el("p", "note", letters[data.pass]));
  box.append(title("The loops", "around the kernel, then its own, i0 ..."), nest(index));
  box.append(title("The tile", "what the inner loop touches"));
  const used = new Map();
  const add = (t, op) => {
    if (!t || !t.at) return;
    if (!used.has(t.b)) used.set(t.b, []);
    used.get(t.b).push({ t, op });
  };
  const inner = k.ops.map((op, i) => ({ op, i })).filter(({ op }) => isInner(op.l) && op.w && !op.t.startsWith("prefetch"));
  const section = mainLoop();
  for (const a of k.acc) add(a.t, k.ops.findIndex((op) => op.a === a.r));
  for (const { op, i } of inner) if (!k.contract || op.l === section) add(op.w, i);
  if (!k.contract && !inner.length) k.ops.forEach((op, i) => add(op.w, i));
  for (const [buffer, touches] of used) box.append(card(buffer, touches));
  const shown = new Set([...used.values()].flatMap((list) => list.map(({ t }) => t.m)));
  for (const o of k.operands) if (!shown.has(o.buffer)) box.append(el("p", "", `${o.o} = ${reachText(o)}`));
  box.append(title("Words"));
  const list = el("dl");
  for (const [word, meaning] of words()) list.append(el("dt", "", word), el("dd", "", meaning));
  box.append(list);
}

const cache = (n) => n <= data.machine.l1 ? "L1 cache" : n <= data.machine.l2 ? "L2 cache" : n <= data.machine.l3 ? "L3 cache" : "memory";
// What a call reaches over through a pointer, and where that much fits.
function reachText(o) {
  const b = data.buffers[o.buffer], kind = b.role === "shared" ? " (workspace)" : b.role === "private" ? " (workspace of a thread)" : "";
  return `${b.name}${kind}: a call reaches over ${bytes(o.bytes)}, which fits the ${cache(o.bytes)}` +
    (cache(b.bytes) === cache(o.bytes) ? `; the whole has ${bytes(b.bytes)}` : `; the whole, ${bytes(b.bytes)}, ${cache(b.bytes) === "memory" ? "is in memory" : `fits the ${cache(b.bytes)}`}`);
}

function title(text, note) {
  const h = el("h3", "", text);
  if (note) h.append(el("span", "", note));
  return h;
}

function nest(index) {
  const box = el("div", "nest");
  const line = (depth, text, note, cls) => {
    const d = el("div", cls || "");
    d.style.marginLeft = `${depth * 12}px`;
    d.append(text, " ", el("em", "", note || ""));
    d.title = `${text} ${note || ""}`;
    box.append(d);
    return d;
  };
  loopRows = [];
  for (const phase of data.phases) {
    const here = phase.nest.some((n) => n.kernels && n.kernels.includes(index));
    line(0, `phase ${phase.name}`, `${phase.tasks} ${phase.tasks === 1 ? "task" : "tasks, dealt to threads"}` +
      (phase.over.length ? `: ${phase.over.map((o) => `${o.axis} ${o.steps}`).join(" \u00d7 ")}` : ""), here ? "here" : "");
    if (!here) continue;
    const indent = [1], single = [];  // loops of one step are named below, so that the others are seen
    for (const n of phase.nest) {
      const at = indent[n.depth];
      if (n.axis !== undefined) {
        indent[n.depth + 1] = at + (n.steps > 1 ? 1 : 0);
        if (n.steps > 1) line(at, `for ${n.axis}`, `${n.steps} steps`, "here");
        else single.push(n.axis);
        continue;
      }
      const mine = n.kernels.includes(index);
      line(at, `call ${n.call}`, n.kernels.map((x) => `k${x}`).join(" or "), mine ? "here" : "");
      if (!mine) continue;
      k.loops.forEach((l, i) => {
        let depth = at + 1;
        for (let up = l.p; up >= 0; up = k.loops[up].p) ++depth;
        const note = l.s.replace(/^i\d+: /, "").replace(/^(once|\d+ times)(, )?/, "");
        const row = line(depth, `i${i} \u00d7 ${l.t}`, note, "here body");
        loopRows[i] = row;
        const ops = k.ops.map((_, o) => o).filter((o) => o > l.b && o < l.e);
        row.onmouseenter = () => light(ops, [], "on");
        row.onclick = () => pin(l.b);
        if (isInner(i)) {
          const sums = ops.filter((o) => isSum(k.ops[o].t)).length;
          if (sums) line(depth + 1, `${sums} FMAs`, i === mainLoop() ? "unrolled: the main work" : "unrolled", "here");
        }
      });
    }
    if (single.length) line(1, "", `${single.join(", ")}: one step each`, "here");
  }
  return box;
}

// One tensor: where the tile lies in it, and the tile's elements.
function card(buffer, touches) {
  const b = data.buffers[buffer], box = el("div", "card"), top = el("div", "head");
  const name = el("b", b.role, b.name);
  top.append(name, el("span", "", b.axes.map((a, i) => b.extent[i] > 1 ? `${a} ${b.extent[i]}` : "").filter(Boolean).join(" \u00b7 ")));
  const result = k.contract && k.acc.some((a) => a.t.b === buffer);
  top.append(el("span", "badge", result ? "in registers" : touches.some((x) => x.t.n > 1) ? "read as vectors" : "read as scalars"));
  box.append(top);
  const pictures = el("div", "pictures");
  const map = where(b, touches);
  if (map) pictures.append(map);
  pictures.append(tile(b, touches));
  box.append(pictures);
  if (result) {
    const m = data.machine;
    box.append(el("p", "", `${k.acc.length} of ${m.registers} ${m.letter} registers, ${bytes(k.acc.length * m.vector_bytes)} of sums, stay there until the kernel is done`));
  }
  for (const o of k.operands) if (touches.some(({ t }) => t.m === o.buffer)) box.append(el("p", "", reachText(o)));
  const moves = new Set(touches.flatMap((x) => (x.t.mv || []).map((m) => m[0])));
  if (moves.size) box.append(el("p", "", `moves on with ${[...moves].sort((x, y) => x - y).map((i) => `i${i}`).join(", ")}`));
  return box;
}

// Bounding box on the two longest spatial axes, with the loops' reach lighter.
function where(b, touches) {
  const spatial = b.axes.map((_, i) => i).filter((i) => b.extent[i] > 1);
  if (spatial.length < 2) return null;
  const weights = b.axes[0] !== "n";
  let [y, x] = weights ? [0, 1] : [3, 4];
  if (b.extent[x] < 2 || b.extent[y] < 2) [y, x] = spatial.slice(-2);
  const low = (a) => Math.min(...touches.map(({ t }) => t.at[a]));
  const high = (a) => Math.max(...touches.map(({ t }) => t.at[a] + (t.ax === a ? (t.n - 1) * t.st : 0)));
  const reach = (a) => Math.min(b.extent[a] - 1, Math.max(...touches.map(({ t }) => t.at[a] + (t.ax === a ? (t.n - 1) * t.st : 0) +
    (t.mv || []).filter((m) => m[1] === a && m[2] > 0).reduce((s, m) => s + m[2] * Math.max(0, k.loops[m[0]].t - 1), 0))));
  const scale = Math.min(86 / b.extent[x], 86 / b.extent[y]);
  const w = Math.max(10, b.extent[x] * scale), h = Math.max(10, b.extent[y] * scale), s = svg("svg", { width: 102, height: h + 28 });
  const px = (v) => 12 + v * w / b.extent[x], py = (v) => 12 + v * h / b.extent[y];
  s.append(svg("rect", { x: 12, y: 12, width: w, height: h, fill: "#eef1f6", stroke: "#c6cfdc" }));
  const rect = (x1, y1, opacity) => svg("rect", { x: px(low(x)), y: py(low(y)), width: Math.max(2.5, px(x1 + 1) - px(low(x))), height: Math.max(2.5, py(y1 + 1) - py(low(y))), fill: `var(--${b.role})`, "fill-opacity": opacity });
  s.append(rect(reach(x), reach(y), .22), rect(high(x), high(y), .95));
  s.append(label(12 + w / 2, 8, `${b.axes[x]} 0..${b.extent[x] - 1}`, "middle"));
  s.append(label(12, h + 24, `${b.axes[y]} 0..${b.extent[y] - 1} \u2193`));
  const title = svg("title", {});
  title.textContent = `the tile in the plane of ${b.axes[y]} and ${b.axes[x]}; lighter: what the kernel's loops reach`;
  s.append(title);
  return s;
}

// The elements as a grid: lanes to the right, the axis that varies most downwards, a third one as groups.
function tile(b, touches) {
  const values = (a) => [...new Set(touches.map(({ t }) => t.at[a]))].sort((p, q) => p - q);
  const laned = touches.find(({ t }) => t.n > 1);
  const order = b.axes.map((_, i) => i).filter((a) => values(a).length > 1).sort((p, q) => values(q).length - values(p).length);
  const x = laned ? laned.t.ax : order.length > 1 ? order[1] : order[0] ?? 4;
  const rest = order.filter((a) => a !== x), y = rest[0] ?? -1, g = rest[1] ?? -1;
  const xs = values(x), ys = y < 0 ? [0] : values(y), gs = g < 0 ? [0] : values(g);
  const room = 172, width = Math.max(6, Math.min(laned ? 60 : 18, (room - 34 - (gs.length - 1) * 4) / (xs.length * gs.length)));
  const height = Math.max(5, Math.min(14, 170 / ys.length)), group = xs.length * width + 4;
  const s = svg("svg", { width: 34 + gs.length * group, height: ys.length * height + 26 });
  const name = (t) => b.axes[x] + t.at[x] + (t.n > 1 ? `..${t.at[x] + (t.n - 1) * t.st}` : "");
  ys.forEach((v, i) => { if (y >= 0 && (height > 9 || i % 2 === 0)) s.append(label(30, 12 + (i + .5) * height + 3.5, b.axes[y] + v, "end")); });
  const drawn = new Set();
  for (const { t, op } of touches) {
    const key = cellKey(t);
    const gx = 34 + (g < 0 ? 0 : gs.indexOf(t.at[g])) * group + xs.indexOf(t.at[x]) * width;
    const gy = 12 + (y < 0 ? 0 : ys.indexOf(t.at[y])) * height;
    if (drawn.has(key)) continue;
    drawn.add(key);
    const cell = svg("rect", { class: "cell", x: gx, y: gy, width, height, rx: 1.5, fill: `var(--${b.role})`, "fill-opacity": .38 + .3 * ((xs.indexOf(t.at[x]) + (y < 0 ? 0 : ys.indexOf(t.at[y]))) % 2) });
    const tip = svg("title", {});
    tip.textContent = t.s;
    cell.append(tip);
    if (op >= 0) {
      const mine = k.ops.map((_, i) => i).filter((i) => family(i).touches.some((f) => cellKey(f) === key) && (isInner(k.ops[i].l) || !k.contract));
      cell.onmouseenter = () => {
        light(mine, [...new Set(mine.flatMap((i) => family(i).touches))], "on");
        $("inspector").textContent = "";
        coloured($("inspector"), `${t.s}: ${mine.length} ${mine.length === 1 ? "op" : "ops"} of the inner loops`);
      };
      cell.onclick = () => mine.length && pin(mine[0]);
    }
    if (!cells.has(key)) cells.set(key, []);
    cells.get(key).push(cell);
    s.append(cell);
  }
  gs.forEach((v, i) => { if (g >= 0) s.append(label(34 + i * group + group / 2 - 2, 9, b.axes[g] + v, "middle")); });
  const first = touches.find(({ t }) => t.at[x] === xs[0]).t, last = touches.find(({ t }) => t.at[x] === xs[xs.length - 1]).t;
  s.append(label(34, ys.length * height + 23, xs.length > 1 ? `${b.axes[x]}${first.at[x]} to ${b.axes[x]}${last.at[x] + (last.n - 1) * last.st}` : name(first)));
  return s;
}

head();
const asked = /^#k(\d+)$/.exec(location.hash);
const busiest = data.kernels.reduce((best, x, i) => x.contract && x.calls > (best < 0 ? 0 : data.kernels[best].calls) ? i : best, -1);
show(asked && data.kernels[+asked[1]] ? +asked[1] : Math.max(0, busiest));
