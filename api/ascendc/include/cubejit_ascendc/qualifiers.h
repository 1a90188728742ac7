// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the qualifiers of device code mean on a host: nothing. They are macros because device code spells them so. C++17.
#pragma once

#include <cstdint>

// NOLINTBEGIN(bugprone-reserved-identifier): the language's own names
#ifndef __aicore__
#define __aicore__
#endif
#ifndef __gm__
#define __gm__
#endif
#ifndef __global__
#define __global__
#endif
#ifndef GM_ADDR
#define GM_ADDR __gm__ uint8_t*
#endif
// NOLINTEND(bugprone-reserved-identifier)
