// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the parts differ for these operators: as data, a row a family. Leaves checking to the rules_*.cpp files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cubejit/dtype.h"
#include "cubejit/machine.h"
#include "cubejit/result.h"

namespace cubejit::acl {

/// Closed interval of what an attribute may be on an axis.
struct Range {
  std::int64_t least, most;
};

/// Documented ranges of a family: of width and height, and of depth. They are the chip's, not the arithmetic's.
struct Ranges {
  Range kernelHw, kernelD, strideHw, strideD, padHw, padD, dilationHw, dilationD;
  std::int64_t mostExtent;  ///< of every dimension of gradOutput, input and weight
};

struct Family {
  int architecture;             ///< Machine::npu.architecture; 0 = the host, which takes what can be computed
  const char* product;          ///< as the documents call it
  bool backward, tbc, forward;  ///< which gradients there are, and whether both forward operators
  bool bf16, fp32Cube, rank5, eightBit;
  bool emptyInputs;               ///< an empty input or weight goes its own way (step 9 of the documented checks)
  bool outputsOfSameType;         ///< gradInput like input, gradWeight like weight, gradBias like gradOutput
  bool biasIsNd;                  ///< gradBias must have format ND unless the convolution is transposed
  bool depthwiseMultiple;         ///< input channels == groups asks for a multiple of them in the output
  bool groupedDwStaysHalf;        ///< grouped 3D weight gradients of 16-bit products cannot be FLOAT
  DType hf32;                     ///< its HF32; kF32: it has none
  Ranges flat, deep, transposed;  ///< of 1D and 2D, of 3D, and of transposed convolutions
};

struct Part {
  std::string name;  ///< "host", or the chip's
  const Family* family = nullptr;
  std::shared_ptr<const Machine> machine;  ///< null: the host
  bool emulated = false;  ///< gradients are computed on the machine; otherwise by the host's own kernels
  bool isHost() const { return family->architecture == 0; }
  /// Tells parts apart, and whether they are emulated.
  std::string key() const { return name + (emulated ? " emulated" : ""); }
  const std::shared_ptr<const Machine>& chip() const {
    static const std::shared_ptr<const Machine> none;
    return emulated ? machine : none;
  }
};

/// kUnsupported: no such name, with the nearest ones; or a chip no operator of this face exists for.
Result<std::shared_ptr<const Part>> partByName(const std::string& name);

/// The part whose rules hold now, and whether it is emulated: chosen by CUBEJIT_SOC and CUBEJIT_ACL_EMULATE until the functions
/// below choose. Errors: what the environment says wrongly.
Result<std::shared_ptr<const Part>> currentPart();
void choosePart(const Part& part);
void chooseEmulation(bool on);

}  // namespace cubejit::acl
