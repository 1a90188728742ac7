# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Of te.lang there is te.lang.cce alone."""
