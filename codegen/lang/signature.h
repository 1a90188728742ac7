// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which parameters of a kernel follow from the types and extents of the arrays it is called with: those of which an extent is a multiple, with
// a constant or not, and those that are a tensor's type. Leaves to lang/parse what else a text means, and what is wrong with it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/lang/parse.h"
#include "cubejit/result.h"

namespace cubejit::lang {

/// What a text declares, before its parameters are known.
struct Signature {
  struct Parameter {
    std::string name;
    std::string value;  ///< that the text has for it, the first of a list; empty: none
  };
  struct Tensor {
    std::string name;
    bool output = false;
    std::string type;                  ///< a type, or the name of a parameter
    std::vector<std::string> extents;  ///< as they are written
  };
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<Tensor> tensors;  ///< inputs and outputs

  const Tensor* tensorNamed(std::string_view tensor) const;
};

struct Shape {
  std::string tensor;
  Element element = Element::kF32;
  std::vector<std::int64_t> extents;
};

/// Errors: those of a text whose declarations do not read.
Result<Signature> signatureOf(std::string_view text);

/// `given`, and all parameters that follow from it and the arrays. Where an extent is more than a multiple and a constant, say a quotient, parameters
/// that do not follow have in it what the text says; others are left to parse(). Errors (kRun) name each array that contradicts another one, what
/// was given, or the text, with both dimensions.
Result<Settings> settingsFor(const Signature& signature, const Settings& given, const std::vector<Shape>& arrays);

}  // namespace cubejit::lang
