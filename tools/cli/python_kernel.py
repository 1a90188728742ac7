# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Decides what `cubejit kernel FILE.py` reads of a Python file: runs it, and writes the text of the kernel that it defines, as JSON, to descriptor 3.
import json
import os
import runpy
import sys
import traceback


def told(file, name):
    try:
        import cubejit
        from cubejit.define import Definition
    except Exception as absent:
        return {"error": f"{sys.executable} cannot import cubejit: {absent}",
                "fix": "install cubejit for that Python, or put its folder into PYTHONPATH, or set CUBEJIT_PYTHON to one that has it"}
    sys.argv = [file]
    sys.path[0] = os.path.dirname(os.path.abspath(file))
    try:
        names = runpy.run_path(file, run_name="cubejit_kernel_file")
    except BaseException as raised:
        if isinstance(raised, SyntaxError):
            place, what = f"{raised.filename or file}:{raised.lineno}", raised.msg
        else:
            within = [f for f in traceback.extract_tb(raised.__traceback__) if f.filename == file]
            place, what = f"{file}:{within[-1].lineno}" if within else file, str(raised)
        return {"error": f"{place}: {type(raised).__name__}: {what}"}
    all_of_them = {n: d for n, d in names.items() if isinstance(d, Definition)}
    own = {}  # by their first names
    for n, d in all_of_them.items():
        if d.__wrapped__.__code__.co_filename == file and d not in own.values():
            own[n] = d
    if name and name not in all_of_them:
        return {"error": f"{file} defines no kernel {name}; there are {', '.join(own)}" if own else f"{file} defines no kernel"}
    if not name and not own:
        return {"error": f"{file} defines no kernel", "fix": "put @cubejit.define above the function that is one"}
    if not name and len(own) > 1:
        return {"error": f"{file} defines {len(own)} kernels: {', '.join(own)}", "fix": f"name one: {file}:{next(iter(own))}"}
    kernel = all_of_them[name] if name else next(iter(own.values()))
    return {"text": kernel.text, "places": [f"{place}:{line}" for place, line in kernel.places]}


os.set_inheritable(3, False)
answer = json.dumps(told(sys.argv[1], sys.argv[2])).encode()
while answer:
    answer = answer[os.write(3, answer):]
os._exit(0)  # whatever threads the file has started
