"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const el = (tag, cls, text) => {
  const e = document.createElement(tag);
  if (cls) e.className = cls;
  if (text !== undefined) e.textContent = text;
  return e;
};
const bytes = (n) => n < 1024 ? `${n} B` : n < 1 << 20 ? `${+(n / 1024).toFixed(n < 10240 ? 1 : 0)} KiB` : `${+(n / 1048576).toFixed(1)} MiB`;
const hex = (n) => n.toString(16).padStart(5, "0");
const tensorNames = ["dx", "dy", "dw", "db", "w", "x"];

// Words like dx[h0 w1 c0..15] take the colour of their tensor.
function coloured(parent, text) {
  const pattern = /\b(dx|dy|dw|db|w|x)\[[^\]]*\]/g;
  let last = 0;
  for (const m of text.matchAll(pattern)) {
    parent.append(text.slice(last, m.index), el("span", m[1], m[0]));
    last = m.index + m[0].length;
  }
  parent.append(text.slice(last));
  return parent;
}

const size = (v) => data.problem.rank === 3 ? v.join("\u00d7") : v.slice(3 - data.problem.rank).join("\u00d7");
// The emulated chip: how full its buffers get, how busy its pipes are, and what core 0 does when.
function chip(c) {
  const box = $("chip");
  box.hidden = false;
  box.querySelector("summary").textContent = `${c.name}: ${c.tasks} tasks on ${c.cores} cores, ${c.blocks} base blocks, ` +
    `${Math.round(c.cycles)} cycles as estimated`;
  const bar = (parent, name, share, text) => {
    const row = el("div", "gauge"), full = el("span", "full");
    full.append(Object.assign(el("span", "used"), { style: `width:${(100 * share).toFixed(1)}%` }));
    row.append(el("b", "", name), full, el("span", "text", text));
    parent.append(row);
  };
  const tables = $("chipTables");
  tables.append(el("h3", "", "Buffers of a core"));
  for (const b of c.buffers) bar(tables, b.name, b.bytes ? b.used / b.bytes : 0, `${bytes(b.used)} of ${bytes(b.bytes)}`);
  tables.append(el("h3", "", "Pipes of core 0"));
  for (const p of c.pipes) bar(tables, p.name, p.busy, `${(100 * p.busy).toFixed(1)} % busy`);
  tables.append(el("h3", "", "Plan"), el("p", "plan", Object.entries(c.plan).map(([key, v]) => `${key} ${JSON.stringify(v)}`).join(", ")));
  $("chipPicture").innerHTML = c.picture;
}
function head() {
  const p = data.problem;
  const names = { y: "Forward y", dx: "Data gradient dX", dw: "Weight gradient dW", db: "Bias gradient dB" };
  const title = $("title");
  title.append(`${names[data.pass]} of a ${p.rank}D ${p.transposed ? "transposed " : ""}convolution`);
  $("facts").textContent = `${p.cin} \u2192 ${p.cout} channels, ${size(p.in)} pixels, kernel ${size(p.kernel)}` +
    (p.stride.some((s) => s > 1) ? `, stride ${size(p.stride)}` : "") + (p.dilation.some((s) => s > 1) ? `, dilation ${size(p.dilation)}` : "") +
    (p.groups > 1 ? `, ${p.groups} groups` : "") + `, batch ${p.batch} \u00b7 ${p.dtype}, ${p.layout} \u00b7 ${data.isa} \u00b7 cubejit ${data.version}`;
  if (data.measured) $("facts").append(" \u00b7 ", el("b", "measured", data.measured));
  $("lead").textContent = "Left: the loops around one kernel, and the tile it works on. Middle: the program it became. Right: its machine code. " +
    "Point at anything to see what belongs to it; click to bring the other columns there.";
  if (data.chip) chip(data.chip);
  data.kernels.forEach((k, i) => {
    const b = el("button", "", `k${i} ${k.name}`);
    b.title = k.what;
    b.onclick = () => show(i);
    $("kernels").append(b);
  });
}

let k, opRows = [], asmRows = [], cells = new Map(), loopRows = [], pinned = null, cpu = 0;

// Everything that belongs to op i: the values it uses come from other ops.
function family(i) {
  const op = k.ops[i], touches = [];
  if (op.w) touches.push(op.w);
  for (const u of op.u || []) if (k.ops[u].w) touches.push(k.ops[u].w);
  const acc = op.a === undefined ? null : k.acc.find((a) => a.r === op.a);
  if (acc) touches.push(acc.t);
  return { ops: [i], touches };
}
const cellKey = (t) => t.at ? `${t.b}:${t.at.join(",")}` : "";

function light(ops, touches, cls) {
  for (const e of document.querySelectorAll("." + cls)) e.classList.remove(cls);
  for (const i of ops) {
    opRows[i] && opRows[i].classList.add(cls);
    for (const r of asmRows) if (+r.dataset.op === i) r.classList.add(cls);
  }
  for (const t of touches) for (const c of cells.get(cellKey(t)) || []) c.classList.add(cls);
  if (ops.length) for (let l = k.ops[ops[0]].l; l >= 0; l = k.loops[l].p) loopRows[l] && loopRows[l].classList.add(cls);
}

function hover(i) {
  const f = family(i);
  light(f.ops, f.touches, "on");
  const op = k.ops[i], bar = $("inspector");
  bar.textContent = "";
  bar.append(el("b", "", op.t));
  if (op.p) { bar.append(el("span", "k", "   means   ")); coloured(bar, op.p); }
  const code = k.asm.filter((a) => a.op === i);
  if (code.length) bar.append(el("span", "k", "   at "), hex(code[0].o));
  if (op.l >= 0) bar.append(el("span", "k", "   in loop "), k.loops[op.l].s);
}
function pin(i) {
  light([i], [], "pin");
  const put = (box, row) => { if (row) box.scrollTop = row.offsetTop - box.offsetTop - box.clientHeight / 3; };
  put($("ops"), opRows[i]);
  put($("asm"), asmRows.find((r) => +r.dataset.op === i));
}
function react(row, i) {
  row.onmouseenter = () => hover(i);
  row.onclick = () => pin(i);
}

const depthOf = (loop) => { let d = 0; for (; loop >= 0; loop = k.loops[loop].p) ++d; return d; };
// The inner loop with the most multiplications a call, or the most work.
function mainLoop() {
  const weight = k.loops.map((l, i) => {
    if (!isInner(i)) return -1;
    let times = 1;
    for (let up = i; up >= 0; up = k.loops[up].p) times *= k.loops[up].t;
    const sums = k.ops.filter((op) => op.l === i && isSum(op.t)).length;
    return times * (1000 * sums + (l.e - l.b));
  });
  return weight.indexOf(Math.max(...weight));
}
const isSum = (op) => /^(fma|dot)/.test(op);
const isInner = (loop) => loop >= 0 && !k.loops.some((l) => l.p === loop);

function middle() {
  const box = $("ops");
  box.textContent = "";
  opRows = k.ops.map((op, i) => {
    if (op.c) box.append(el("div", "row comment", "  ".repeat(op.d) + op.c));
    const row = el("div", "row" + (isInner(op.l) ? " inner" : "") + (/^(end)?loop/.test(op.t) ? " loop" : ""));
    row.append(el("span", "code", "  ".repeat(op.d) + op.t));
    row.append(coloured(el("span", "p"), op.p || ""));
    react(row, i);
    box.append(row);
    return row;
  });
}

function right() {
  const box = $("asm"), pick = $("cpuPick");
  box.textContent = pick.textContent = "";
  const choose = el("select");
  choose.title = "CPU model of the simulated throughput";
  k.cpus.forEach((c, i) => choose.append(new Option(c.cpu, i, false, i === cpu)));
  choose.onchange = () => { cpu = +choose.value; right(); };
  pick.append("inner loops simulated on ", choose);
  const model = k.cpus[cpu];
  const inside = (o) => model.blocks.find((b) => o >= b.b && o < b.e);
  asmRows = k.asm.map((a) => {
    const starts = model.blocks.find((b) => b.b === a.o);
    if (starts) box.append(blockCard(starts));
    const row = el("div", "row" + (inside(a.o) ? " inner" : ""));
    row.dataset.op = a.op;
    row.append(el("span", "o", hex(a.o)));
    const [name, ...rest] = a.t.split("\t");
    row.append(el("span", "code", name.padEnd(13) + (a.to === undefined ? rest.join(" ") : hex(a.to))));
    if (a.op >= 0) react(row, a.op);
    box.append(row);
    return row;
  });
  if (model.problem) box.prepend(el("div", "block", model.problem));
}
function blockCard(b) {
  const card = el("div", "block"), loop = k.loops.find((l, i) => isInner(i) && k.asm.some((a) => a.o >= b.b && a.o < b.e && a.op > l.b && a.op < l.e));
  const fmas = k.asm.filter((a) => a.o >= b.b && a.o < b.e && /^(vfmadd|vdpbf16|fmla|fmad)/.test(a.t)).length;
  card.append(el("b", "", `${b.c.toFixed(1)} cycles an iteration`), ` as llvm-mca models ${k.cpus[cpu].cpu}: ${b.i} instructions` + (fmas ? `, ${fmas} of them multiply-adds` : ""));
  card.append(el("br"));
  card.append(`the busiest units alone need ${b.m.toFixed(1)};`);
  for (const [name, share] of b.busy.slice(0, 3)) {
    const bar = el("span", "bar"), fill = el("i");
    fill.style.width = `${share * 100}%`;
    bar.append(fill);
    card.append(bar, `${name} ${Math.round(share * 100)} %`);
  }
  if (loop) card.append(el("br"), loop.s);
  return card;
}

function show(index) {
  k = data.kernels[index];
  [...$("kernels").children].forEach((b, i) => b.setAttribute("aria-pressed", i === index));
  cells = new Map();
  middle();
  left(index);
  right();
  const work = mainLoop();
  let first = k.ops.findIndex((op) => op.l === work && isSum(op.t));
  if (first < 0) first = k.ops.findIndex((op) => op.w);
  $("ops").scrollTop = $("asm").scrollTop = 0;
  if (first >= 0) { pin(first); hover(first); }
  location.replace(`#k${index}`);
}

const svg = (tag, attributes) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const a in attributes) e.setAttribute(a, attributes[a]);
  return e;
};
const label = (x, y, text, anchor = "start") => {
  const t = svg("text", { x, y, "text-anchor": anchor });
  t.textContent = text;
  return t;
};

