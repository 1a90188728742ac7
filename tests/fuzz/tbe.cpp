// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of any call of the TBE DSL: it is refused, or it describes a legal problem, whose operator computes it inside the three arrays. An input
// is which of the four calls, and numbers that its shapes and dictionaries are changed by.
#include "tests/api/tbe/cases.h"

#include "cubejit_tbe/operator.h"
#include "runtime/verify/guarded_buffer.h"
#include "tests/fuzz/target.h"
#include "tiling/check_problem.h"

using namespace cubejit;

namespace {

constexpr std::int64_t kOdd[] = {0, -1, 1, 2, 15, 16, 17, 1000001, INT64_MAX, INT64_MIN, 1LL << 32};

// Every number of the call, in a fixed order.
template <class Visitor>
void describe(tbe::Case& c, const Visitor& v) {
  for (auto* list :
       {&c.first.shape, &c.dy.shape, &c.filter, &c.input, &c.para.strides, &c.para.pads, &c.para.dilations}) {
    for (std::int64_t& value : *list) v(value);
  }
  v(c.para.groups);
  v(c.para.offset_x);
  if (c.para.group_dict)
    tbe::describeGroupDict(*c.para.group_dict, [&](const char*, std::int64_t& value) { v(value); });
  if (c.para.extend_dict)
    tbe::describeExtendDict(*c.para.extend_dict, [&](const char*, std::int64_t& value) { v(value); });
}

tbe::Case drawn(fuzz::Bytes& bytes) {
  const std::int64_t groups = 1 + bytes.below(4), cin = groups * (1 + bytes.below(20)),
                     cout = groups * (1 + bytes.below(20));
  const bool ofFilter = bytes.below(2) == 0, flat = bytes.below(2) == 0;
  tbe::Case c = tbe::groupedCase(cin, cout, groups, ofFilter, flat);
  if (bytes.below(3) == 0) c.para.group_dict = *tbe::groupDict(cin, cout, groups);
  if (bytes.below(3) == 0) c.para.extend_dict = tbe::extendDict(*tbe::groupDict(cin, cout, groups), groups);
  if (bytes.below(4) == 0) c.para.res_dtype = bytes.below(2) == 0 ? "float16" : "float32";
  if (bytes.below(4) == 0) c.para.group_result = tbe::GroupResult::kRaw;
  if (bytes.below(8) == 0) c.para.soc = bytes.below(2) == 0 ? "" : "ascend910b2";
  for (int changes = static_cast<int>(bytes.below(4)); changes > 0; --changes) {
    std::int64_t count = 0, at = 0;
    describe(c, [&](std::int64_t&) { ++count; });
    const std::int64_t chosen = bytes.below(count), odd = bytes.below(2), value = bytes.below(24);
    describe(c, [&](std::int64_t& field) {
      if (at++ == chosen) field = odd != 0 ? kOdd[static_cast<std::size_t>(value) % std::size(kOdd)] : value;
    });
  }
  if (bytes.below(8) == 0) c.filter.pop_back();
  if (bytes.below(8) == 0) c.para.pads.push_back(1);
  return c;
}

void runs(const tbe::ResTensor& result) {
  Options options;
  options.verify = true;
  options.isa = IsaLevel::kAvx2;
  Session session(options);
  const auto built = tbe::build(session, result);
  fuzz::hold(built.ok(), "a described gradient is built", built.ok() ? "" : built.error().message);
  const GuardedBuffer first(built->firstBytes()), dy(built->outBackpropBytes()), out(built->resultBytes()),
      workspace((built->workspaceBytes(1) + 63) / 64 * 64);
  std::memset(first.data(), 0, built->firstBytes());
  std::memset(dy.data(), 0, built->outBackpropBytes());
  std::memset(out.data(), 0xff, built->resultBytes());
  const Status done = built->run(first.data(), dy.data(), out.data(), workspace.data(), built->workspaceBytes(1), 1);
  fuzz::hold(done.ok(), "and run", done.ok() ? "" : done.error().message);
  const auto* bytes = reinterpret_cast<const unsigned char*>(out.data());
  for (std::size_t i = 0; i < built->resultBytes(); ++i)
    fuzz::hold(bytes[i] == 0, "of zeros it makes zeros, everywhere", "byte " + std::to_string(i));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes bytes(data, size);
  const auto result = drawn(bytes).call();
  if (!result.ok()) {
    fuzz::hold(!result.error().message.empty(), "a refusal says why");
    return 0;
  }
  const Status legal = checkProblem(result->problem);
  fuzz::hold(legal.ok(), "what is described is legal", legal.ok() ? "" : legal.error().message);
  const double elements = static_cast<double>(xElements(result->problem)) +
                          static_cast<double>(yElements(result->problem)) +
                          static_cast<double>(wElements(result->problem));
  if (elements < 1e5) runs(*result);
  return 0;
}
