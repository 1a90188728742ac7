// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "codegen/lang/empty.h"

#include <algorithm>
#include <utility>

#include "codegen/lang/places.h"

namespace cubejit::lang {
namespace {

bool anyEmpty(const Source& k, const std::vector<int>& indices) {
  return std::any_of(indices.begin(), indices.end(),
                     [&](int i) { return k.indices[static_cast<std::size_t>(i)].extent == 0; });
}

void reduceNothing(const Source& k, Expr& value) {
  if (const auto* how = std::get_if<Reduction>(&value.what); how != nullptr && anyEmpty(k, how->over))
    value = {Number{identityOf(how->combine)}, {}};
  for (Expr& part : value.of) reduceNothing(k, part);
}

std::vector<Item> happening(const Source& k, std::vector<Item> items) {
  std::vector<Item> rest;
  for (Item& item : items) {
    const bool loop = item.index >= 0;
    if (anyEmpty(k, loop ? std::vector<int>{item.index} : indicesOf(item.statement.target))) continue;
    if (loop) item.body = happening(k, std::move(item.body));
    if (loop && item.body.empty()) continue;
    reduceNothing(k, item.statement.value);
    rest.push_back(std::move(item));
  }
  return rest;
}

}  // namespace

Source withoutEmpty(Source kernel) {
  kernel.body = happening(kernel, std::move(kernel.body));
  return kernel;
}

}  // namespace cubejit::lang
