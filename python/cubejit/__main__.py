# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python3 -m cubejit, and what an installed wheel has as `cubejit`: the command that lies in this package, so that both are of one version."""

import os
import sys
from pathlib import Path


def main():
    command = Path(__file__).parent / "bin" / "cubejit"
    if not command.exists():
        sys.exit(f"cubejit: the package at {command.parents[1]} was built without the command")
    os.environ.setdefault("CUBEJIT_PYTHON", sys.executable)  # of `cubejit kernel FILE.py`: this one has the package
    os.execv(command, ["cubejit", *sys.argv[1:]])


if __name__ == "__main__":
    main()
