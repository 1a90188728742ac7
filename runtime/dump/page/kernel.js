
// What a page of a kernel in the kernel language has of its own. coloured() and head() stand in the place of those above.
const roles = new Map(data.buffers.filter((b) => b.axes).map((b) => [b.name, b.role]));

function coloured(parent, text) {
  let last = 0;
  for (const m of text.matchAll(/\b(\w+)\[[^\]]*\]/g)) {
    if (!roles.has(m[1])) continue;
    parent.append(text.slice(last, m.index), el("span", roles.get(m[1]), m[0]));
    last = m.index + m[0].length;
  }
  parent.append(text.slice(last));
  return parent;
}

function head() {
  $("title").append(`Kernel ${data.kernel}`);
  const parameters = data.flags.replace(/^--set /, "").replaceAll(",", ", ");
  $("facts").textContent = [parameters, data.isa, `cubejit ${data.version}`].filter(Boolean).join(" \u00b7 ");
  if (data.measured) $("facts").append(" \u00b7 ", el("b", "measured", data.measured));
  $("lead").textContent = "Left: the kernel's text, the loops around one of the pieces it became, and the tile that works on. " +
    "Middle: its vector program. Right: its machine code. Point at anything to see what belongs to it; click to bring the other columns there.";
  data.kernels.forEach((k, i) => {
    const b = el("button", "", `k${i} ${k.name}`);
    b.title = k.what;
    b.onclick = () => show(i);
    $("kernels").append(b);
  });
}

const formula = () => data.text;
const letters = {
  kernel: "A[3, 5] is the element 3, 5 of the tensor A; A[3, 0..15] are sixteen side by side. " +
    "What let names within a loop counts from the tile's beginning",
};
const words = () => [["tile", "what one pass through the inner loop works on; its sums stay in registers"],
  ["lane", `one of the ${data.machine.vector_bytes / 4} numbers in a vector register`],
  ["segment", "one run of a sum's index: where the two factors begin that meet there. A call is handed a list of them"],
  ["section", "an inner loop of its own, for segments that use other parts of the tile or have a remainder"],
  ["A, B, C", "above the machine code: the three pointers a call is given, two operands and the result"],
  ["s0, v0, k1", "registers: of addresses and counts, of vectors, of masks"]];

