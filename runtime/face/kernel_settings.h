// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing: parameters as the public face has them, and as lang/parse has them.
#pragma once

#include "codegen/lang/parse.h"
#include "cubejit/kernel.h"

namespace cubejit {

inline lang::Settings settingsOf(const KernelParameters& parameters) {
  lang::Settings settings;
  for (const auto& [name, value] : parameters) settings[name] = value.text();
  return settings;
}
inline KernelParameters parametersOf(const lang::Settings& settings) {
  KernelParameters parameters;
  for (const auto& [name, value] : settings) parameters.emplace(name, KernelParameter(value));
  return parameters;
}

}  // namespace cubejit
