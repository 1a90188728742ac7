// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which texts are kernels. What is in a loop stands further to the right than that; `;` begins a comment. After the first line,
//
//   cubejit kernel 1
//
// declarations stand before loops and statements, one a line:
//
//   kernel NAME
//   parameter NAME [= VALUE]                       an integer or a type, with the value it has without a setting
//   parameter NAME in VALUE ...                    one of these, without a setting the first: what a tuner may try
//   require EXTENT <= EXTENT                       or <, ==, >=, >: what parameters must be together
//   input NAME TYPE [EXTENT, ...] [strides [N, ...]]     a type (f32, f16, bf16, i8, i32) or a parameter that is one; extents and strides in elements, dense and the last one fastest by default
//   output NAME TYPE [EXTENT, ...] [strides [N, ...]]
//   index NAME in EXTENT                           all numbers from 0 up, at once
//   parallel NAME in EXTENT [by TILE]              loops: tiles of an index in any order, on any thread; or one behind another
//   loop NAME in EXTENT [by TILE]
//   let NAME[INDEX, ...] [= EXPRESSION]            memory of f32 that is known up to the end of the loop around it, a task's own within one
//   NAME[SUBSCRIPT, ...] = EXPRESSION              into an output or such memory
//
// Extents are sums, differences and products of numbers and parameters, quotients too (rounded down); subscripts of indices as well, each times
// a number. Expressions: numbers, indices, which are their numbers, elements, + - * /, the operations of source.h, and sum[INDEX, ...](EXPRESSION),
// min[...], max[...], argmin[...], argmax[...]: the last two are where the extremum is first, made of the others.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "codegen/lang/source.h"
#include "cubejit/result.h"

namespace cubejit::lang {

/// Values of parameters, as they are written: 64, bf16.
using Settings = std::map<std::string, std::string>;

/// The kernel of a text, with these parameters' values. Errors (kTile) name line and column, and what was expected there or may be there.
Result<Source> parse(std::string_view text, const Settings& settings);

}  // namespace cubejit::lang
