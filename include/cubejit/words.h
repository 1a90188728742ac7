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
/// Names of images (nchw, nhwc) and of weights (oidhw) as well.
CUBEJIT_API Result<Layout> parseLayout(const std::string& name);

/// "; the nearest is f32; there are f32, f16", for faces with words of their own, to be written behind what is wrong.
CUBEJIT_API std::string wordsInstead(const std::string& word, const std::vector<std::string>& known);

}  // namespace cubejit
