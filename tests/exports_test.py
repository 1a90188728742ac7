#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the shared libraries export is tests/exports.txt, and is what the installed headers declare: no more, no less.

exports_test.py [--update] LIBRARY...   --update writes the list as the libraries are; commit it if that was meant.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "tests/exports.txt"
# Installed headers of each library, and the word that marks what it exports.
FACES = {
    "libcubejit.so": ("CUBEJIT_API", ["include/cubejit", "api/ascendc/include", "api/tbe/include"]),
    "libcubejit_acl.so": ("ACL_FUNC_VISIBILITY", ["api/acl/include"]),
}


def exported(library):
    """Demangled names of all defined dynamic symbols, without versions, each once (constructors have several)."""
    text = subprocess.run(["nm", "-D", "--defined-only", "-C", library], check=True, capture_output=True, text=True).stdout
    # ADDRESS KIND NAME; a version is @ and what follows.
    return sorted({re.sub(r"@.*", "", line.split(" ", 2)[2]) for line in text.splitlines() if line})


def name_of(symbol):
    """A function's qualified name: no parameters, no ABI tags."""
    return re.sub(r"\[abi:\w+\]", "", symbol.split("(")[0])


def declared(marker, folders):
    """Qualified names of the functions that headers mark."""
    names = set()
    for folder in folders:
        for header in sorted((ROOT / folder).rglob("*")):
            if not header.is_file() or header.name == "export.h":
                continue
            # Comments and preprocessor lines say nothing about names.
            text = re.sub(r"/\*.*?\*/|//[^\n]*|^#[^\n]*", "", header.read_text(), flags=re.S | re.M)
            scope, before = [], 0  # open braces: the name of a namespace or type, or nothing; where the statement began
            for token in re.finditer(r"[{};]|\b" + marker + r"\b[^;(]*?(?P<function>~?\w+)\(", text):
                if token["function"]:
                    names.add("::".join([*filter(None, scope), token["function"]]))
                    continue
                if token[0] == "{":
                    opened = re.match(r"\s*(?:namespace|class|struct)\s+([\w:]+)", text[before:token.start()])
                    scope.append(opened[1] if opened else None)
                elif token[0] == "}":
                    del scope[-1:]
                before = token.end()
    return names


def listed():
    """The list's sections, one a library."""
    sections, current = {}, []
    for line in LIST.read_text().splitlines() if LIST.exists() else []:
        if line.startswith("["):
            current = sections.setdefault(line.strip("[]"), [])
        elif line:
            current.append(line)
    return sections


def tell(title, lines):
    if lines:
        print(title, *(f"  {line}" for line in sorted(lines)), sep="\n")


def main():
    update = "--update" in sys.argv
    libraries = {pathlib.Path(path).name: path for path in sys.argv[1:] if path != "--update"}
    if set(libraries) != set(FACES):
        sys.exit(f"usage: exports_test.py [--update] PATH/{' PATH/'.join(FACES)}")
    found = {name: exported(path) for name, path in libraries.items()}
    if update:
        LIST.write_text("\n".join(f"[{name}]\n" + "".join(f"{symbol}\n" for symbol in found[name]) for name in FACES))
    expected = listed()
    broken = False
    for name, (marker, folders) in FACES.items():
        want, have = set(expected.get(name, [])), set(found[name])
        if not want:
            print(f"{name}: {LIST} lists nothing")
        tell(f"{name} exports, and tests/exports.txt does not list:", have - want)
        tell(f"tests/exports.txt lists, and {name} does not export:", want - have)
        if not want or want != have:
            print(f"If that was meant: {pathlib.Path(__file__)} --update {' '.join(libraries.values())}")
        names, declarations = {name_of(symbol) for symbol in have}, declared(marker, folders)
        tell(f"{name} exports what no installed header declares with {marker}:", names - declarations)
        tell(f"installed headers declare with {marker} what {name} does not export:", declarations - names)
        broken = broken or not want or want != have or names != declarations
    sys.exit(broken)


if __name__ == "__main__":
    main()
