# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of the TBE DSL for conv3d_backprop_filter: from tbe import tvm; from tbe import dsl. Computed by cubejit."""
