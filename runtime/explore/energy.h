// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a pass's energy is modelled as: figures per product and per byte, and which bytes are counted where. Sources are in
// docs/energy.md. Figures compare machines; they are no measurements of a chip.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cubejit/core_counts.h"
#include "cubejit/dtype.h"
#include "cubejit/machine.h"
#include "cubejit/result.h"
#include "runtime/text/json_value.h"

namespace cubejit {

/// Picojoules. The defaults are published ones.
struct EnergyFigures {
  double macF16 = 2.0, macBf16 = 2.0, macHf32 = 2.0, macF32 = 4.6;  ///< a multiply-add, summed in f32
  /// The energy of a memory of so many bytes, for a byte read or written: sizes ascending. Between two sizes a power law; below the first its
  /// square root; above the last a memory is banks of that size.
  std::vector<std::pair<double, double>> sram = {{8192, 1.25}, {32768, 2.5}, {1048576, 12.5}};
  double memory = 31.4;  ///< a byte of the chip's memory

  double mac(DType type) const;
  double sramByte(double bytes) const;
};

Json energyToJson(const EnergyFigures& figures);
/// Figures of a file, {"schema":"cubejit.energy/1", ...}; what it leaves out stays as it is. Every broken rule is reported.
Result<EnergyFigures> readEnergy(const std::string& path);

/// Picojoules of a pass by what takes them: "mac", "l0a", "l0b", "l0c", "l1", "ub", "l2", "memory". `memoryBytes`: to and from the
/// chip's memory, of those that the counts have as GM.
Json energyOf(const EnergyFigures& figures, const Machine& machine, const MatrixProduct& step, const CoreCounts& counts,
              double memoryBytes);

}  // namespace cubejit
