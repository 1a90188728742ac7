function formula() {
  const p = data.problem, t = p.transposed;
  const one = { y: "y[n, pixel, o] = \u03a3 over taps k, i of\n    x[n, pixel \u2192 k, i] \u00b7 w[o, i, k]", dx: "dx[n, pixel, i] = \u03a3 over taps k, o of\n    dy[n, pixel \u2192 k, o] \u00b7 w[o, i, k]", dw: "dw[o, i, k] = \u03a3 over n, pixels of\n    dy[n, pixel, o] \u00b7 x[n, pixel \u2192 k, i]", db: "db[o] = \u03a3 over n, pixels of\n    dy[n, pixel, o]" };
  return one[data.pass] + (t ? "\n(transposed: x and y change places)" : "");
}
const letters = { y: "n: image of the batch; o, i: channel of y and of x; k: tap of the kernel (kd kh kw); pixel \u2192 k: the pixel that meets it over tap k",
  dx: "n: image of the batch; o, i: channel of y and of x; k: tap of the kernel (kd kh kw); pixel \u2192 k: the pixel that meets it over tap k",
  dw: "n: image of the batch; o, i: channel of y and of x; k: tap of the kernel (kd kh kw); pixel \u2192 k: the pixel that meets it over tap k",
  db: "n: image of the batch; o: channel of y" };
const words = () => [["tile", "what one pass through the inner loop works on; its sums stay in registers"],
  ["lane", `one of the ${data.machine.vector_bytes / 4} numbers in a vector register; c0..15 are sixteen channels side by side`],
  ["segment", { y: "one tap of the kernel: where the x and the w begin that meet there. A call is handed a list of them, shorter at the edges of the image", dx: "one tap of the kernel: where the dy and the w begin that meet there. A call is handed a list of them, shorter at the edges of the image", dw: "a run of pixels: where the dy and the x begin that meet there. A call is handed a list of them", db: "a run of pixels: where their dy begins" }[data.pass]],
  ["section", "an inner loop of its own, for segments that use other parts of the tile or have a remainder"],
  ["panel", "a few rows of a tensor, copied into the order in which the kernel reads them"],
  ["A, B, C", "the three pointers a call is given: two factors and the result"],
  ["s0, v0, k1", "registers: of addresses and counts, of vectors, of masks"]];

