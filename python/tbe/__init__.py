# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of the TBE DSL for gradients of convolutions: from tbe import tvm; from tbe import dsl. Computed by cubejit."""
