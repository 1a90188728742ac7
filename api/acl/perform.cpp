// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how each step of what was prepared is done, once addresses are known. Leaves which steps there are to prepare.cpp.
#include "api/acl/prepare.h"

namespace cubejit::acl {
namespace {

struct Performance {
  const Prepared& prepared;
  const Addresses& addresses;
  char* workspace;

  char* address(const Place& p) const {
    return p.tensor >= 0 ? addresses[static_cast<std::size_t>(p.tensor)] : workspace + p.offset;
  }
  const View& view(int tensor) const { return prepared.views[static_cast<std::size_t>(tensor)]; }

  Status operator()(const WidenStep& s) const {
    widen(view(s.tensor), addresses[static_cast<std::size_t>(s.tensor)], address(s.to));
    return Unit{};
  }
  Status operator()(const RepackStep& s) const { return s.repacking->run(address(s.from), address(s.to)); }
  Tensors tensorsAt(const std::array<Place, kTensors>& places) const {
    const auto of = [&](TensorId id) { return address(places[at(id)]); };
    Tensors t{of(TensorId::kDy), of(TensorId::kX),  of(TensorId::kW),
              of(TensorId::kDx), of(TensorId::kDw), of(TensorId::kDb)};
    t.y = of(TensorId::kY), t.b = of(TensorId::kB);
    return t;
  }
  Status operator()(const RunStep& s) const {
    return s.executable->run(tensorsAt(s.tensors), s.workspaceBytes == 0 ? nullptr : workspace + s.workspaceOffset,
                             s.workspaceBytes);
  }
  Status operator()(const ScatterStep& s) const {
    char* const to = addresses[static_cast<std::size_t>(s.tensor)];
    if (!s.rounded)
      scatter(view(s.tensor), address(s.from), to);
    else
      scatterRounded(view(s.tensor), address(s.from), prepared.views[at(TensorId::kB)],
                     s.bias ? addresses[at(TensorId::kB)] : nullptr, to);
    return Unit{};
  }
  Status operator()(const FillStep& s) const {
    fill(view(s.tensor), s.value, addresses[static_cast<std::size_t>(s.tensor)]);
    return Unit{};
  }
};

}  // namespace

Status perform(const Prepared& prepared, const Addresses& addresses, char* workspace) {
  const Performance performance{prepared, addresses, workspace};
  for (const Step& step : prepared.steps) {
    const Status done = std::visit(performance, step);
    if (!done.ok()) return done;
  }
  return Unit{};
}

}  // namespace cubejit::acl
