// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which words passes, tensors, types and layouts are read from, at every face that takes words. An unknown one is kInvalidProblem: the
// nearest that is known, by its letters or by what other projects call it, and all there are. Options' words are in options.h.
#pragma once

#include <string>
#include <vector>

#include "cubejit/export.h"
#include "cubejit/problem.h"
#include "cubejit/result.h"

namespace cubejit {

CUBEJIT_API Result<Pass> parsePass(const std::string& name);
CUBEJIT_API Result<TensorId> parseTensor(const std::string& name);
CUBEJIT_API Result<DType> parseDType(const std::string& name);
/// Sets types and layouts of tensors: "bf16", "f16,dw=f32", "ndc1hwc0,w=fractal_z_3d,dw=fractal_z_3d". A name alone is meant for every tensor
/// (a layout: every activation), TENSOR=NAME for one. Layouts: ncdhw, ndhwc, ndc1hwc0, fractal_z_3d; names of images (nchw, nhwc) and of weights
/// (oidhw) as well. "ndc1hwc16" and "fractal_z_3d:16" have blocks of 16 channels, else as many as fill 32 bytes. Empty texts change nothing.
CUBEJIT_API Status applyFormats(Problem& problem, const std::string& dtypes, const std::string& layouts);

/// "; the nearest is f32; there are f32, f16", for faces with words of their own, to be written behind what is wrong.
CUBEJIT_API std::string wordsInstead(const std::string& word, const std::vector<std::string>& known);

}  // namespace cubejit
