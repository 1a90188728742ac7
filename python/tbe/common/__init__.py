# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An older place of tbe.platform."""
