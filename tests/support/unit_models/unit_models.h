// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what each unit instruction means: plain loops over the core's memory. Generated code must leave the same bits.
#pragma once

#include "algorithms/cube/unit_program.h"
#include "tests/support/unit_models/core_memory.h"
#include "tests/support/unit_models/operand_tables.h"

namespace cubejit {

/// What instructions refer to beside the core's memory.
struct UnitContext {
  const CubeWork& work;
  const OperandTables& tables;
};

/// Bytes that an instruction leaves in its destination.
std::int64_t bytesOf(const LoadImage& i, const UnitContext& c);
std::int64_t bytesOf(const LoadWeights& i, const UnitContext& c);
std::int64_t bytesOf(const LoadPixels& i, const UnitContext& c);
std::int64_t bytesOf(const Unfold& i, const UnitContext& c);
std::int64_t bytesOf(const LoadFractals& i, const UnitContext& c);
std::int64_t bytesOf(const Mmad& i, const UnitContext& c);

/// Bytes that a load reads from memory: zeros between and channels that do not exist cost nothing.
std::int64_t memoryBytesOf(const LoadImage& i, const UnitContext& c);

void execute(const LoadImage& i, const UnitContext& c, CoreMemory& memory);
void execute(const LoadWeights& i, const UnitContext& c, CoreMemory& memory);
void execute(const LoadPixels& i, const UnitContext& c, CoreMemory& memory);
void execute(const Unfold& i, const UnitContext& c, CoreMemory& memory);
void execute(const LoadFractals& i, const UnitContext& c, CoreMemory& memory);
void execute(const Mmad& i, const UnitContext& c, CoreMemory& memory);

}  // namespace cubejit
