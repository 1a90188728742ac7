// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the protocol of a gradient object; see the header.
#include "api/ascendc/kernel/call_order.h"

namespace cubejit::ascendc {

const char* toString(Call call) {
  constexpr const char* kNames[] = {"Init",          "SetWeight",      "SetInput",
                                    "SetGradOutput", "SetSingleShape", "SetStartPosition",
                                    "Iterate",       "GetTensorC",     "End"};
  return kNames[static_cast<std::size_t>(call)];
}

std::string CallOrder::missing() const {
  std::string names;
  for (const Call setter : {operand_, Call::kSetGradOutput, Call::kSetSingleShape, Call::kSetStartPosition}) {
    if ((given_ & bit(setter)) == 0) names += (names.empty() ? "" : ", ") + std::string(toString(setter));
  }
  return names.empty() ? "" : "Iterate before " + names + ": the setters come before a single shape's first Iterate";
}

std::string CallOrder::refuses(Call call, bool first) const {
  const std::string name = toString(call);
  if (stage_ == Stage::kEnded) return name + " after End: End is the last call, and there is one";
  if (call == Call::kInit) return stage_ == Stage::kNew ? "" : "a second Init: Init comes once";
  if (stage_ == Stage::kNew) return name + " before Init: Init comes first";
  switch (call) {
    case Call::kIterate:
      if (stage_ == Stage::kBlock)
        return "Iterate while a block waits in L0C: call GetTensorC once after each Iterate that returned true";
      if (stage_ == Stage::kFinished && !first)
        return "Iterate after it returned false: set ctx.isFirstIter_ = true before another single shape";
      return missing();
    case Call::kGetTensorC:
      return stage_ == Stage::kBlock
                 ? ""
                 : "GetTensorC without a block: it comes once after each Iterate that returned true";
    case Call::kEnd:
      return stage_ == Stage::kBlock ? "End while a block waits in L0C: call GetTensorC after the last Iterate" : "";
    default:
      if (stage_ == Stage::kReady || stage_ == Stage::kFinished || first) return "";
      return name +
             " between Iterates: setters come before a single shape's first Iterate; finish the loop, or set "
             "ctx.isFirstIter_ = true to begin anew";
  }
}

}  // namespace cubejit::ascendc
