// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how calls fit together of which the first copies the vectors it loads (Contract::copiesB) and the others read the copies:
// both walk over as many segments in the same order, so that a copy is found by counting.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "codegen/tile/contract.h"
#include "codegen/tile/program.h"

namespace cubejit {

/// Bytes that the copies of a call take behind D.
std::int64_t copiedBytes(const Contract& contract, const SegmentList& list);

/// Visits the place behind D, and the lanes, of every copy until `visit` returns false; false if it did.
bool visitCopies(const Contract& contract, const SegmentList& list,
                 const std::function<bool(std::int64_t, const LaneRange&)>& visit);

/// Where behind B the first byte of the element comes from that lies `offset` bytes behind D; nothing if none does.
std::optional<std::int64_t> copiedFrom(const Contract& contract, const SegmentList& list, std::int64_t offset);

/// The contract that reads as B what `contract` has copied, and the list it is called with.
Contract readingCopies(const Contract& contract);
SegmentList readingCopies(const Contract& contract, const SegmentList& list);

}  // namespace cubejit
