// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which arguments make two requests one, and how the documented arguments spell the library's problem.
#include "api/acl/request.h"

namespace cubejit::acl {
namespace {

void append(std::string& key, const IntArrayPtr& array) {
  appendKey(key, array == nullptr ? -1 : static_cast<std::int64_t>(array->values.size()));
  if (array == nullptr) return;
  for (const std::int64_t value : array->values) appendKey(key, value);
}

// The last `rank` values onto the last `rank` axes.
void spread(const std::int64_t* values, int rank, Dhw& to) {
  for (int i = 0; i < rank; ++i) to[3 - rank + i] = values[i];
}

}  // namespace

void appendKey(std::string& key, std::int64_t value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void appendKey(std::string& key, const Tensor* t) {
  if (t == nullptr) return appendKey(key, -1);
  appendKey(key, std::int64_t{t->rank} << 32 | t->storageRank);
  appendKey(key, std::int64_t{t->dtype} << 32 | (t->format + 1));
  appendKey(key, t->offset);
  for (int i = 0; i < t->rank; ++i) {
    appendKey(key, t->dims[static_cast<std::size_t>(i)]);
    appendKey(key, t->strides[static_cast<std::size_t>(i)]);
  }
  for (int i = 0; i < t->storageRank; ++i) appendKey(key, t->storageDims[static_cast<std::size_t>(i)]);
}

std::string keyOf(const ConvRequest& r) {
  std::string key = r.part->key();
  key.reserve(768);
  key += '\0';
  for (const TensorPtr& tensor : r.tensors) appendKey(key, tensor.get());
  for (const auto& array : {r.biasSizes, r.stride, r.padding, r.dilation, r.outputPadding}) append(key, array);
  appendKey(key, r.groups);
  appendKey(key, (r.transposed ? 1 : 0) | (r.mask.dx ? 2 : 0) | (r.mask.dw ? 4 : 0) | (r.mask.db ? 8 : 0) |
                     (r.deterministic ? 16 : 0) | (r.mask.y ? 32 : 0));
  appendKey(key, r.mathType);
  return key;
}

Problem geometryOf(const ConvRequest& r) {
  Problem p;
  const Tensor &x = r.input(), &y = r.output(), &w = r.weight();
  p.rank = w.rank - 2;
  p.batch = x.dims[0], p.cin = x.dims[1], p.cout = y.dims[1], p.groups = r.groups;
  p.transposed = r.transposed;
  spread(&x.dims[2], p.rank, p.in);
  spread(&y.dims[2], p.rank, p.out);
  spread(&w.dims[2], p.rank, p.kernel);
  spread(r.stride->values.data(), p.rank, p.stride);
  spread(r.dilation->values.data(), p.rank, p.dilation);
  const std::vector<std::int64_t>& pads = r.padding->values;
  if (pads.size() == static_cast<std::size_t>(p.rank)) {
    spread(pads.data(), p.rank, p.padBefore);
    p.padAfter = p.padBefore;
  } else {  // up, down, left, right
    p.padBefore = {0, pads[0], pads[2]};
    p.padAfter = {0, pads[1], pads[3]};
  }
  return p;
}

}  // namespace cubejit::acl
