// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which vector registers a contract's code keeps what in: accumulators first, then vectors of B, tables, and temporaries, which operands
// take in turn. Leaves the code to units/contract.
#pragma once

#include <cstddef>
#include <vector>

#include "codegen/tile/contract.h"
#include "codegen/units/element_code.h"
#include "codegen/units/quad_sums.h"
#include "cubejit/microkernel_registers.h"
#include "cubejit/result.h"

namespace cubejit {

class ContractRegisters {
 public:
  struct Elements {
    const ElementCode &vectorsA, &vectorsB, &results;
  };
  ContractRegisters(const Contract& c, const HostIsa& isa, const QuadSums& quads, const Elements& elements);

  bool fit() const { return fitsRegisters(needs_, isa_); }
  Error tooMany() const;

  /// Accumulators of one set; of all sets; registers that are kept all along, which are these and what quads take.
  int sums() const { return sums_; }
  int sets() const { return sums_ * c_.sets; }
  int kept() const { return kept_; }
  /// The register of a vector of B; -1: it has none, and is loaded where it is used.
  int vectorB(int b) const { return b < vectorsB_ ? kept_ + b : -1; }
  /// Vectors of B that have registers.
  int vectorsB() const { return vectorsB_; }
  /// The registers of the first table of Contract::tables, and of PairCode's; -1: tables are loaded into temporaries.
  int tables() const { return tables_; }
  int pairTables() const { return pairTables_; }
  const std::vector<int>& temporaries() const { return temporaries_; }
  /// The next temporary in turn, but neither `keep` nor `keepToo`, which still hold values.
  int temporary(int keep = -1, int keepToo = -1);
  /// What is not needed while accumulators are loaded or results are stored: B's vectors and temporaries.
  std::vector<int> freeAtEnds() const;

 private:
  void describe(const Elements& elements);
  void assign();
  int held() const;
  int there() const { return static_cast<int>(registersThere(needs_, isa_)); }

  const Contract& c_;
  const HostIsa& isa_;
  MicrokernelRegisters needs_;
  bool needsTemporary_ = false;
  int sums_ = 0, kept_ = 0, vectorsB_ = 0, tables_ = -1, pairTables_ = -1;
  std::vector<int> temporaries_;
  std::size_t next_ = 0;
};

}  // namespace cubejit
