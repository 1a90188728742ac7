# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how a problem is computed by the command: flags, files, layouts, chips. Leaves right and wrong to judge.py."""

import os
import subprocess
import tempfile

import numpy

import data
import layouts
import plans
import post

ALGORITHMS = ("", "direct", "spatial", "grouped", "winograd")
SOCS = ("ascend910b2", "ascend310p3", "ascend910b1", "ascend950")
NAMES = ("dy", "x", "w", "dx", "dw", "db", "y")
READ = {"dx": ("dy", "w"), "dw": ("dy", "x"), "db": ("dy",), "y": ("x", "w")}  # the command refuses what it does not read
BLOCKED = ("ndc1hwc0", "ndc1hwc16")


class Refused(Exception):
    """The command ended with a message."""


def usual():
    """plans: of which session any legal plan may be taken, None for the one that is chosen."""
    return {"layout": {}, "dtype": {}, "flags": [], "passes": ("dx", "dw", "db"), "plans": None, "post": post.Post(),
            "dirty": False}


def degenerate_options(isas, backends):
    for layout in ("ncdhw", "ndhwc", *BLOCKED):
        for dtype in ("f32", "f16", "bf16"):
            lies = {"layout": dict.fromkeys(("dy", "x", "dx", "y"), layout), "dtype": dict.fromkeys(NAMES, dtype), "dirty": True}
            yield {**usual(), **lies}
            yield {**usual(), **lies, "post": post.Post(activation="leaky_relu:0.25")}
            yield {**usual(), **lies, "passes": ("y",), "post": post.Post(True, True, "leaky_relu:0")}
    for flags in (*(["--isa", isa] for isa in isas), *(["--backend", b] for b in backends), ["--threads", "3"],
                  *(["--algorithm", a] for a in ALGORITHMS[1:4]), ["--algorithm", "winograd", "--math", "relaxed"],
                  ["--math", "relaxed"]):
        yield {**usual(), "flags": flags}
    for soc in SOCS[:2]:
        for dtype in ("f16", "f32", "bf16"):
            for fast in ([], ["--fast"], ["--sanitize"]):
                yield {**usual(), "dtype": dict.fromkeys(NAMES, dtype), "flags": ["--soc", soc, *fast]}


def random_options(random, isas, backends, chip):
    """Of problems without groups and with; flags_of leaves fractals to the first."""
    options = usual()
    everywhere = random.choice(("ncdhw", "ndhwc", "ndc1hwc0") if chip else ("ncdhw", "ndhwc", *BLOCKED))
    options["layout"] = {n: everywhere if random.random() < 0.8 else random.choice(("ncdhw", "ndhwc", "ndc1hwc0"))
                         for n in ("dy", "x", "dx", "y")}
    options["layout"].update({n: random.choice(("ncdhw", "ncdhw", "ndhwc", "fractal_z_3d")) for n in ("w", "dw")})
    main = random.choice(("f16", "bf16", "f32"))
    options["dtype"] = {n: main for n in NAMES}
    if random.random() < (0.05 if chip else 0.3):
        options["dtype"] = {n: random.choice(("f16", "bf16", "f32")) for n in NAMES}
    threads = random.choice((1, 2, 3))
    flags = ["--threads", str(threads)]
    if not chip and random.random() < 0.5:
        isa = random.choice(isas)
        flags += ["--isa", isa]
        options["plans"] = {"isa": isa, "threads": threads}
    elif chip:
        flags += ["--soc", random.choice(SOCS), *random.choice(([], ["--fast"], ["--sanitize"]))]
    else:
        flags += ["--isa", random.choice(isas), "--backend", random.choice(backends[:2] * 3 + backends)]
        algorithm = random.choice(ALGORITHMS)
        flags += ["--algorithm", algorithm] if algorithm else []
        flags += ["--math", "relaxed"] if algorithm == "winograd" or random.random() < 0.1 else []
    options["flags"] = flags
    options["passes"] = random.choice([("dx", "dw", "db")] * 3 + [("y",)] * 3 + [("dx",), ("dw",), ("db",), ("dx", "db")])
    options["dirty"] = not chip and random.random() < 0.7  # a cube multiplies what fills blocks up
    if not chip and "relaxed" not in flags and (options["passes"] == ("y",) or random.random() < 0.3):
        options["post"] = post.draw(random)
    if options["passes"] != ("y",):
        options["post"] = post.Post(activation=options["post"].activation)
        for of in ("layout", "dtype"):  # y lies as dy does
            options[of]["y"] = options[of]["dy"]
    if "ndc1hwc16" in options["layout"].values():
        options["plans"] = None  # Python has no word for these blocks
    return options


def _words(values):
    return ",".join(map(str, values))


def flags_of(c, options):
    words = ["--input", _words(c.x_shape), "--weight", _words(c.w_shape), "--stride", _words(c.stride), "--dilation", _words(c.dilation),
             "--padding", _words(side for pair in zip(c.before, c.after) for side in pair), "--groups", str(c.groups)]
    if c.transposed:
        words += ["--transposed", "--output-padding", _words(c.output_padding)]
    orders = {**dict.fromkeys(("dy", "x", "dx", "w", "dw", "y"), "ncdhw"), **options["layout"]}
    if c.groups > 1:
        orders.update({n: "ncdhw" for n in ("w", "dw") if orders[n] == "fractal_z_3d"})
    words += ["--layout", ",".join(f"{n}={t}" for n, t in orders.items())]
    types = {**dict.fromkeys(NAMES, "f32"), **options["dtype"]}
    words += ["--dtype", ",".join(f"{n}={t}" for n, t in types.items())]
    if str(options["post"]):
        words += ["--post-ops", str(options["post"])]
    return words + options["flags"], orders, types


def run(random, c, kind, dice, command, sessions, options):
    """As python_face.run, of y as well, and of post-ops: reads six arrays, dy, x, w, and y, bias and addend."""
    words, orders, types = flags_of(c, options)
    shapes = {"dy": c.y_shape, "x": c.x_shape, "w": c.w_shape, "dx": c.x_shape, "dw": c.w_shape, "db": (c.cout,), "y": c.y_shape,
              "b": (c.cout,), "z": c.y_shape}
    types.update(b=types["y"], z=types["y"])
    lies = {**orders, "b": "ncdhw", "z": orders["y"]}
    inputs = ("dy", "x", "w", "y", "b", "z")
    values = data.operands(dice, kind, [shapes[n] for n in inputs], [types[n] for n in inputs])
    ops, forward = options["post"], "y" in options["passes"]
    read = [n for n in inputs[:3] if any(n in READ[g] for g in options["passes"])]
    read += [n for n, there in (("y", ops.activation and not forward), ("b", ops.bias), ("z", ops.add)) if there]
    did = ("with NaN between channels, " if options["dirty"] else "") + "cubejit run " + " ".join(words) + "".join(f" --in {n}={n}.npy" for n in read)
    with tempfile.TemporaryDirectory() as folder:
        line = [command, "run", *words]
        for name, array in zip(inputs, values):
            if name not in read:
                continue
            # 16-bit types are also read from float32, which the command rounds.
            stored = array.astype(numpy.float32) if random.random() < 0.2 else data.operand(array, types[name], random)
            numpy.save(f"{folder}/{name}.npy", numpy.ascontiguousarray(layouts.into(stored, lies[name], types[name], options["dirty"])))
            line += ["--in", f"{name}={folder}/{name}.npy"]
        for name in options["passes"]:
            line += ["--out", f"{name}={folder}/{name}.npy"]
        chosen = []
        if options["plans"]:
            session = sessions.of(options["plans"])
            chosen = [random.choice(plans.legal(c, orders, types, g, session)) for g in ("dx", "dw", "y") if g in options["passes"]]
            with open(f"{folder}/plans.jsonl", "w", encoding="ascii") as file:
                file.write("".join(plan + "\n" for plan in chosen))
        if chosen:
            line += ["--plan", f"{folder}/plans.jsonl"]
            did += f" --plan (a file of {chosen})"
        did += "".join(f" --out {n}={n}.npy" for n in options["passes"])
        ended = subprocess.run(line, capture_output=True, text=True, env={**os.environ, "CUBEJIT_TUNE": "off"}, timeout=300)
        if ended.returncode != 0:
            message = ended.stderr.strip()
            if ended.returncode < 0 or not message:
                return values, [None] * 4, [f"ended with {ended.returncode}: {message}"], did
            raise Refused(message)
        found = []
        for name in ("dx", "dw", "db", "y"):
            if name not in options["passes"]:
                found.append(None)
                continue
            array = numpy.load(f"{folder}/{name}.npy")
            if array.dtype != data.STORED[types[name]]:
                return values, [None] * 4, [f"{name}.npy holds {array.dtype}"], did
            array = layouts.back(array, orders.get(name, "ncdhw"), shapes[name], kind == "special" and "--soc" in words)
            if array is None:
                return values, [None] * 4, [f"{name}.npy is not zero between channels"], did
            found.append((data.decode(array, types[name]), types[name]))
    return values, found, [], did
