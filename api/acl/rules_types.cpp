// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides about types, formats, attributes' values and cubeMathType: what can be judged without comparing shapes.
#include <algorithm>
#include <utility>

#include "api/acl/rules.h"

namespace cubejit::acl {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 45;  // of 4 bytes: 2^47, the addresses of a process

bool isEightBit(aclDataType t) { return eightBitOf(t) != EightBit::kNone; }

void dtypes(const ConvRequest& r, Findings& findings) {
  const Family& family = *r.part->family;
  const bool eightBit = family.eightBit && ((r.transposed && !r.forward()) || r.part->isHost());
  for (std::size_t i = 0; i < r.tensors.size(); ++i) {
    if (r.tensors[i] == nullptr) continue;
    const aclDataType t = r.tensors[i]->dtype;
    const bool taken =
        t == ACL_FLOAT || t == ACL_FLOAT16 || (t == ACL_BF16 && family.bf16) || (isEightBit(t) && eightBit);
    findings.require(taken, kInvalid, kTensorNames[i],
                     std::string("data type ") + nameOf(t) + " is not one of FLOAT, FLOAT16" +
                         (family.bf16 ? ", BF16" : "") + (eightBit ? ", HIFLOAT8, FLOAT8_E4M3FN" : "") + " on " +
                         r.part->name + (family.eightBit && !eightBit && !r.forward() ? " unless transposed" : ""));
  }
}

void eightBits(const ConvRequest& r, Findings& findings) {
  const TensorPtr* t = r.tensors.data();
  for (const std::size_t i : {1U, 2U, 3U, 5U}) {
    if (t[i] != nullptr)
      findings.require(
          t[i]->dtype == t[0]->dtype, kInvalid, kTensorNames[i],
          std::string("data type ") + nameOf(t[i]->dtype) + " must be gradOutput's, " + nameOf(t[0]->dtype));
  }
  findings.require(r.mask.dx, kInvalid, "outputMask", "8-bit types need gradInput to be asked for");
  if (!r.mask.dw) return;
  const bool zero = std::all_of(r.outputPadding->values.begin(), r.outputPadding->values.end(),
                                [](std::int64_t v) { return v == 0; });
  findings.require(t[0]->dtype == ACL_HIFLOAT8 && t[4]->dtype == ACL_FLOAT && r.groups == 1 && zero, kInvalid,
                   "gradWeight", "8-bit types need HIFLOAT8, a FLOAT gradWeight, groups 1 and outputPadding 0");
}

// The type that the page asks for, which has no row for the 950: the higher precision of gradOutput and the tensor that a gradient is like.
void promotedOutputs(const ConvRequest& r, Findings& findings) {
  const aclDataType dy = r.output().dtype;
  for (const auto& [id, like] :
       {std::pair{TensorId::kDx, TensorId::kX}, {TensorId::kDw, TensorId::kW}, {TensorId::kDb, TensorId::kDy}}) {
    if (r.at(id) == nullptr) continue;
    const aclDataType given = r.tensor(id).dtype, wanted = promotedType({r.tensor(like).dtype, dy});
    findings.require(given == wanted, kInvalid, nameOf(id),
                     std::string("data type ") + nameOf(given) + " must be " + nameOf(wanted) + ", that of " +
                         (id == TensorId::kDb ? "" : std::string("the higher precision of ") + nameOf(like) + " and ") +
                         "gradOutput, on " + r.part->name);
  }
}

void outputTypes(const ConvRequest& r, Findings& findings) {
  if (r.forward() || r.part->isHost()) return;
  if (!r.part->family->outputsOfSameType) return promotedOutputs(r, findings);
  const TensorPtr* t = r.tensors.data();
  if (isEightBit(t[0]->dtype) || isEightBit(t[1]->dtype) || isEightBit(t[2]->dtype)) return eightBits(r, findings);
  constexpr std::size_t kSource[] = {1, 2, 0};
  for (std::size_t i = 0; i < 3; ++i) {
    const TensorPtr &output = t[3 + i], &source = t[kSource[i]];
    if (output == nullptr) continue;
    findings.require(output->dtype == source->dtype, kInvalid, kTensorNames[3 + i],
                     std::string("data type ") + nameOf(output->dtype) + " must be that of " +
                         kTensorNames[kSource[i]] + ", " + nameOf(source->dtype) + ", on " + r.part->name);
  }
}

void formats(const ConvRequest& r, Findings& findings) {
  const bool nd = !r.forward() || r.part->isHost();  // forward's pages do not name it
  for (const TensorId id : kTensorIds) {
    if (isBias(id) || r.at(id) == nullptr) continue;
    const Tensor& t = r.tensor(id);
    const bool known = (t.rank == 3 && ((t.format == ACL_FORMAT_ND && nd) || t.format == ACL_FORMAT_NCL)) ||
                       (t.rank == 4 && t.format == ACL_FORMAT_NCHW) || (t.rank == 5 && t.format == ACL_FORMAT_NCDHW);
    findings.require(known, kInvalid, nameOf(id),
                     "shape " + shapeText(t) + " with format " + nameOf(t.format) + " is none of: 3 dimensions NCL" +
                         (nd ? " or ND" : "") + ", 4 NCHW, 5 NCDHW");
  }
  const TensorPtr& bias = r.at(TensorId::kDb);
  if (bias != nullptr && r.part->family->biasIsNd && !r.transposed)
    findings.require(bias->format == ACL_FORMAT_ND, kInvalid, "gradBias",
                     std::string("format ") + nameOf(bias->format) + " must be ND on " + r.part->name);
}

void values(const IntArray& array, std::int64_t least, const char* name, Findings& findings) {
  for (const std::int64_t value : array.values) {
    if (value >= least) continue;
    findings.add(kInvalid, name, text(array) + " must be at least " + std::to_string(least) + " each");
    return;
  }
}

void attributes(const ConvRequest& r, Findings& findings) {
  values(*r.stride, 1, "stride", findings);
  values(*r.padding, 0, "padding", findings);
  values(*r.dilation, 1, "dilation", findings);
  const std::vector<std::int64_t>&out = r.outputPadding->values, &stride = r.stride->values,
        &dilation = r.dilation->values;
  if (!r.transposed && r.forward()) {
    // is not read
  } else if (!r.transposed) {
    const bool zero = std::all_of(out.begin(), out.end(), [](std::int64_t v) { return v == 0; });
    findings.require(zero, kInvalid, "outputPadding", text(*r.outputPadding) + " must be zero unless transposed");
  } else {
    values(*r.outputPadding, 0, "outputPadding", findings);
    for (std::size_t i = 0; i < std::min(out.size(), stride.size()) && out.size() == stride.size(); ++i) {
      const std::int64_t limit = r.part->isHost() && i < dilation.size() ? std::max(stride[i], dilation[i]) : stride[i];
      findings.require(out[i] < limit, kInvalid, "outputPadding",
                       "value " + std::to_string(out[i]) + " must be less than " + std::to_string(limit) +
                           ", the stride" + (r.part->isHost() ? " or the dilation" : ""));
    }
  }
  findings.require(r.groups >= 1, kInvalid, "groups", std::to_string(r.groups) + " must be at least 1");
}

}  // namespace

bool isFloating(aclDataType t) { return t == ACL_FLOAT || t == ACL_FLOAT16 || t == ACL_BF16; }

DType dtypeOf(aclDataType t) {
  return t == ACL_FLOAT16 || isEightBit(t) ? DType::kF16 : t == ACL_BF16 ? DType::kBf16 : DType::kF32;
}

EightBit eightBitOf(aclDataType t) {
  return t == ACL_HIFLOAT8 ? EightBit::kHif8 : t == ACL_FLOAT8_E4M3FN ? EightBit::kE4m3 : EightBit::kNone;
}

aclDataType promotedType(std::initializer_list<aclDataType> types) {
  const aclDataType first = *types.begin();
  return std::all_of(types.begin(), types.end(), [&](aclDataType t) { return t == first; }) ? first : ACL_FLOAT;
}

DType computeType(const Part& part, aclDataType promoted, int mathType, Findings& findings) {
  const Family& family = *part.family;
  const std::string asked = std::to_string(mathType) + " with " + nameOf(promoted) + " (after promotion)";
  if (mathType < 0 || mathType > 3) {
    findings.add(
        kInvalid, "cubeMathType",
        std::to_string(mathType) + " is none of 0 KEEP_DTYPE, 1 ALLOW_FP32_DOWN_PRECISION, 2 USE_FP16, 3 USE_HF32");
    return DType::kF32;
  }
  if (promoted == ACL_BF16) {
    findings.require(family.bf16, kInvalid, "cubeMathType", asked + " is not supported on " + part.name);
    return mathType == 2 ? DType::kF16 : DType::kBf16;
  }
  if (promoted == ACL_FLOAT16 || isEightBit(promoted)) return DType::kF16;
  if (mathType == 2 || (mathType == 1 && !family.fp32Cube)) return DType::kF16;
  findings.require(family.fp32Cube, kInvalid, "cubeMathType",
                   asked + " is not supported on " + part.name + ", whose cube has no FLOAT; 1 and 2 use FLOAT16");
  return mathType == 0 ? DType::kF32 : family.hf32;
}

DType checkTypes(const ConvRequest& r, Findings& findings) {
  dtypes(r, findings);
  const bool known = !findings.any();
  outputTypes(r, findings);
  formats(r, findings);
  attributes(r, findings);
  if (!known) return DType::kF32;
  const aclDataType x = r.input().dtype, w = r.weight().dtype;
  const aclDataType promoted = r.forward() ? promotedType({x, w}) : promotedType({r.output().dtype, x, w});
  return computeType(*r.part, promoted, r.mathType, findings);
}

void checkStorage(const Tensor& t, const char* name, Findings& findings) {
  findings.require(t.elements <= kMostElements, kInvalid, name,
                   "shape " + shapeText(t) + " has more than the 2^45 elements a process can address");
  if (t.empty() || t.storageRank == 0) return;
  std::int64_t stored = 1, last = t.offset;
  for (int i = 0; i < t.storageRank; ++i) stored *= t.storageDims[static_cast<std::size_t>(i)];
  for (int i = 0; i < t.rank; ++i)
    last += (t.dims[static_cast<std::size_t>(i)] - 1) * t.strides[static_cast<std::size_t>(i)];
  findings.require(last < stored, kInvalid, name,
                   "the view " + shapeText(t) + " with strides " +
                       text(t.strides.data(), static_cast<std::size_t>(t.rank)) + " and offset " +
                       std::to_string(t.offset) + " reaches element " + std::to_string(last) + " of a storage of " +
                       std::to_string(stored));
}

}  // namespace cubejit::acl
