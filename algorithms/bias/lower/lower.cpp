// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the kernel of a bias gradient, db[c] = sum over images and pixels of dy[n][c][p], in the kernel language (docs/howto/write_a_kernel.md).
// Where channels lie side by side they are the lanes of vectors; in plain tensors pixels are, a vector of them at a time, and the lanes of a
// channel are added at the end. Tasks sum parts of the pixels, as many as the plan says; the parts' sums are added in order.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/bias/bias.h"
#include "algorithms/bias/sums.h"
#include "algorithms/kit/lower/data_gradient.h"
#include "codegen/lang/lower.h"
#include "codegen/lang/parse.h"

namespace cubejit {
namespace {

constexpr std::int64_t kFewParts = 64;  // are added in a row

struct Dimension {
  std::string name;
  std::int64_t count = 1;
};
using Place = std::array<std::string, 4>;  // of an image, plane, row and pixel of dy, or vector of pixels

class BiasKernel {
 public:
  BiasKernel(const ConvView& v, const BiasPlan& plan, int lanes)
      : plan_(plan), lanes_(lanes), y_(v.bigIsX ? v.small : v.big), channels_(v.groups * y_.channels) {
    const RunBeginnings runs = runBeginnings(y_, v.batch);
    outer_ = {runs.images, runs.planes, runs.rows};
    pixels_ = v.batch * y_.extent.volume() / runs.count();
  }

  std::string text() {
    const std::int64_t bytes = byteSize(y_.dtype);
    std::int64_t block = 1, between = y_.cStride;
    if (y_.c0 > 0)
      block = y_.c0, between = y_.blockStride;
    else if (y_.channelsLast)
      block = channels_, between = 0;
    const std::int64_t blocks = ceilDiv(channels_, block);
    head_ =
        "cubejit kernel 1\nkernel bias\ninput dy " + std::string(toString(storedElement(y_.dtype))) + " [" +
        listed({outer_[0], outer_[1], outer_[2], pixels_, blocks, block}) + "] strides [" +
        listed({y_.nStride / bytes, y_.dStride / bytes, y_.hStride / bytes, y_.wStride / bytes, between / bytes, 1}) +
        "]\noutput db f32 [" + std::to_string(channels_) + "]\n";
    if (y_.plain())
      pixelLanes();
    else
      channelLanes(block, blocks);
    return head_ + body_;
  }

 private:
  static std::string listed(const std::vector<std::int64_t>& numbers) {
    std::string text;
    for (const std::int64_t n : numbers) text += (text.empty() ? "" : ", ") + std::to_string(n);
    return text;
  }
  static std::string in(std::int64_t count) { return " in " + std::to_string(count); }
  std::string fresh(const char* name) { return name + std::to_string(++names_); }
  std::string index(const std::string& name, std::int64_t count) {
    head_ += "index " + name + in(count) + "\n";
    return name;
  }

  // The sum of a value over these, in chains of at most `longest` additions, which are added in turn.
  std::string sum(std::string& indent, const std::string& along, const std::string& value,
                  const std::vector<Dimension>& over, std::int64_t longest) {
    const std::string total = fresh("total") + along, chain = fresh("chain") + along;
    std::string names;
    std::vector<std::string> loops;  // innermost first
    for (auto d = over.rbegin(); d != over.rend(); ++d) {
      const std::int64_t tile = std::min(d->count, longest);
      longest = std::max<std::int64_t>(1, longest / tile);
      names = d->name + (names.empty() ? "" : ", ") + names;
      if (tile == d->count)
        index(d->name, d->count);
      else
        loops.push_back("loop " + d->name + in(d->count) + " by " + std::to_string(tile) + "\n");
    }
    if (loops.empty()) return "sum[" + names + "](" + value + ")";
    body_ += indent + "let " + total + " = 0\n";
    std::string inner = indent;
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop, inner += ' ') body_ += inner + *loop;
    body_ += inner + "let " + chain + " = sum[" + names + "](" + value + ")\n" + inner + total + " = " + total + " + " +
             chain + "\n";
    return total;
  }
  std::string parallel(std::string& indent, const std::string& name, std::int64_t count, std::int64_t tile = 1) {
    body_ += indent + "parallel " + name + in(count) + " by " + std::to_string(tile) + "\n";
    indent += ' ';
    return name;
  }

  // What a task has to itself, beside pixels: the subscripts of a block of channels and a channel in it, or of a channel and a lane of pixels; and
  // along which of them it has sums side by side.
  struct Own {
    std::string first, second, along;
    std::string both() const { return first + ", " + second; }
  };

  // Fills `parts`, which is made here, with the sums of dy over each part of all images, planes, rows and `steps` of a row, for all that `own` names.
  // `tasks` opens the loops around one of those; `value` is dy's element for it. Returns how many parts there are.
  template <class Tasks, class Value>
  std::int64_t sumParts(const std::string& parts, const std::string& own, std::int64_t steps, Tasks tasks,
                        Value value) {
    const std::array<std::int64_t, 4> counts{outer_[0], outer_[1], outer_[2], steps};
    const std::int64_t wanted = std::max<std::int64_t>(1, plan_.reductionParts);
    // Images, planes and rows are a part each while there are parts to deal out; of the next ones a part has several.
    std::size_t cut = 0;
    std::int64_t before = 1;
    while (cut < 3 && before * counts[cut] <= wanted) before *= counts[cut++];
    const std::int64_t each = ceilDiv(counts[cut], std::min(ceilDiv(wanted, before), counts[cut])),
                       whole = counts[cut] / each, rest = counts[cut] % each, ofOne = whole + (rest > 0 ? 1 : 0);
    body_ += "let " + parts + "[" + index(fresh("part"), before * ofOne) + ", " + own + "]\n";
    for (const bool last : {false, true}) {
      if (last && rest == 0) break;
      std::string indent, part;
      Place at{"0", "0", "0", "0"};
      std::int64_t behind = before * ofOne;
      for (std::size_t d = 0; d < cut; ++d) {
        behind /= counts[d];
        if (counts[d] > 1)
          part += std::to_string(behind) + " * " + (at[d] = parallel(indent, fresh("n"), counts[d])) + " + ";
      }
      std::vector<Dimension> over{{fresh("x"), last ? rest : each}};
      const std::string which = last ? std::to_string(whole) : parallel(indent, fresh("q"), whole);
      at[cut] = std::to_string(each) + " * " + which + " + " + over[0].name;
      for (std::size_t d = cut + 1; d < 4; ++d) {
        if (counts[d] > 1) over.push_back({at[d] = fresh("x"), counts[d]});
      }
      const Own one = tasks(indent);
      const std::string summed = sum(indent, one.along, value(at, one), over, kLongestChain);
      body_ += indent + parts + "[" + part + which + ", " + one.both() + "] = " + summed + "\n";
    }
    return before * ofOne;
  }
  // Parts in a row: the square root, so that there are no more partial sums than additions in each.
  static std::int64_t partsInARow(std::int64_t parts) {
    return std::max(kFewParts, static_cast<std::int64_t>(std::sqrt(static_cast<double>(parts))));
  }
  std::string sumOfParts(std::string& indent, const std::string& parts, std::int64_t count, const Own& one) {
    const std::string part = fresh("p");
    return sum(indent, one.along, parts + "[" + part + ", " + one.both() + "]", {{part, count}}, partsInARow(count));
  }

  void channelLanes(std::int64_t block, std::int64_t blocks) {
    const std::int64_t tile = plan_.registerVectors * lanes_;
    const auto tasksOf = [&](std::int64_t from, std::int64_t count, std::int64_t channels) {
      return [=, this](std::string& indent) {
        const std::string b = count > 1 ? parallel(indent, fresh("b"), count) : std::to_string(from),
                          v = parallel(indent, fresh("v"), channels, tile);
        return Own{b, v, "[" + v + "]"};
      };
    };
    const std::string own = index("blocks", blocks) + ", " + index("channels", block);
    const std::int64_t parts =
        sumParts("parts", own, pixels_, tasksOf(0, blocks, block), [](const Place& at, const Own& one) {
          return "dy[" + at[0] + ", " + at[1] + ", " + at[2] + ", " + at[3] + ", " + one.both() + "]";
        });
    const std::int64_t whole = channels_ / block;
    for (const auto& [from, count, channels] :
         {std::array{std::int64_t{0}, whole, block}, {whole, 1, channels_ % block}}) {
      if (count == 0 || channels == 0) continue;
      std::string indent;
      const Own one = tasksOf(from, count, channels)(indent);
      const std::string summed = sumOfParts(indent, "parts", parts, one);
      body_ += indent + "db[" + std::to_string(block) + " * " + one.first + " + " + one.second + "] = " + summed + "\n";
    }
  }

  // Vectors of pixels, then the pixels that are left of an image, plane or row.
  void pixelLanes() {
    constexpr std::int64_t kSumsAtOnce = 8;  // channels side by side: they hide the latency of an addition
    constexpr std::int64_t kReach = std::int64_t{1} << 30;  // of a displacement
    const std::int64_t rows = std::clamp(kReach / std::max<std::int64_t>(1, y_.cStride), std::int64_t{1}, kSumsAtOnce);
    const std::int64_t vectors = pixels_ / lanes_;
    std::string indent, all;
    struct Sums {
      std::string name, lane;
      std::int64_t parts;
    };
    std::vector<Sums> made;
    const std::string channels = index("channels", channels_);
    for (const auto& [lanes, count, from] :
         {std::array<std::int64_t, 3>{lanes_, vectors, 0}, {pixels_ % lanes_, 1, vectors * lanes_}}) {
      if (lanes == 0 || count == 0) continue;
      Sums sums{fresh("parts"), index(fresh("l"), lanes), 0};
      sums.parts = sumParts(
          sums.name, channels + ", " + sums.lane, count,
          [&](std::string& within) {
            const std::string c = parallel(within, fresh("c"), channels_, rows);
            return Own{c, sums.lane, "[" + c + ", " + sums.lane + "]"};
          },
          [&, lanes = lanes, from = from](const Place& at, const Own& one) {
            return "dy[" + at[0] + ", " + at[1] + ", " + at[2] + ", " + std::to_string(lanes) + " * (" + at[3] +
                   ") + " + sums.lane + " + " + std::to_string(from) + ", " + one.first + ", 0]";
          });
      made.push_back(sums);
    }
    const std::string c = parallel(indent, fresh("c"), channels_, lanes_);
    for (const Sums& sums : made) {
      const std::string own = "[" + c + ", " + sums.lane + "]", value = fresh("lanes") + own,
                        summed = sumOfParts(indent, sums.name, sums.parts, {c, sums.lane, own});
      body_ += indent + "let " + value + " = " + summed + "\n";
      all += (all.empty() ? "sum[" : " + sum[") + sums.lane + "](" + value + ")";
    }
    body_ += indent + "db[" + c + "] = " + all + "\n";
  }

  const BiasPlan& plan_;
  const int lanes_;
  const TensorView y_;
  const std::int64_t channels_;
  std::array<std::int64_t, 3> outer_{};
  std::int64_t pixels_ = 0;
  std::string head_, body_;
  int names_ = 0;
};

}  // namespace

Result<TileProgram> lowerBias(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                              const ResultOps& /*none*/) {
  const ConvView v = makeConvView(problem, Pass::kDb);
  const TensorView& y = v.bigIsX ? v.small : v.big;
  if (y.bytes == 0) {
    ProgramBuilder b(problemLabel(problem, Pass::kDb));
    b.addTensor(TensorId::kDy, y.span);
    const std::int64_t bytes = v.groups * y.channels * 4;
    addZeroPhase(b, b.addTensor(TensorId::kDb, bytes), bytes, machine.isa.lanes());
    return b.finish();
  }
  const auto kernel = lang::parse(BiasKernel(v, plan.as<BiasPlan>(), machine.isa.lanes()).text(), {});
  if (!kernel.ok())
    return Error{ErrorCode::kLimitExceeded, Stage::kTile,
                 "dy is larger than kernels may be: " + kernel.error().message};
  CUBEJIT_TRY(program, lang::lower(*kernel, machine.isa));
  program.name = problemLabel(problem, Pass::kDb);
  return std::move(program);
}

}  // namespace cubejit
