// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what elementary functions are: operations of an expression, so that every backend and interpreter gives the same bits.
// Each appends its steps and returns the value that they give. NaN gives NaN. Errors are in units of the last place of the exact result, over all
// finite arguments (functions_test.cpp measures them); results below the least normal number are right to its last place.
#pragma once

#include "codegen/tile/expression.h"

namespace cubejit {

ExpressionValue expOf(Expression& f, ExpressionValue x);      ///< within 1.5 units; from 88.8 on infinite
ExpressionValue logOf(Expression& f, ExpressionValue x);      ///< within 1.5 units; of 0 minus infinity, of less NaN
ExpressionValue sigmoidOf(Expression& f, ExpressionValue x);  ///< 1 / (1 + exp(-x)), within 3 units
ExpressionValue tanhOf(Expression& f, ExpressionValue x);     ///< within 3 units
ExpressionValue erfOf(Expression& f, ExpressionValue x);      ///< within 3 units
ExpressionValue negativeOf(Expression& f, ExpressionValue x);

}  // namespace cubejit
