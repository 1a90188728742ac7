// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which memory is fit for a result, and the order of what a call does.
#include "python/core/call.h"

#include <algorithm>

#include "cubejit/options.h"
#include "cubejit/words.h"
#include "python/core/failure.h"
#include "python/core/layer.h"

namespace cubejit::python {

namespace py = pybind11;

namespace {

DType mathType(DType type, const std::string& math) {
  if (type != DType::kF32) return type;
  return math == "hf32" ? DType::kHf32 : math == "hf32_low" ? DType::kHf32Low : type;
}

Layout layoutOf(Density density) { return density == Density::kChannelsLast ? Layout::kNdhwc : Layout::kNcdhw; }

std::size_t at(TensorId t) { return static_cast<std::size_t>(t); }

}  // namespace

void requireMath(const std::string& math) {
  const std::vector<std::string> known{"strict", "relaxed", "bf16", "hf32", "hf32_low"};
  if (std::find(known.begin(), known.end(), math) == known.end())
    throw Failure(invalidInput("unknown math '" + math + "'" + wordsInstead(math, known)));
}

Pass passOf(const std::string& name) { return valueOf(parsePass(name)); }

PostOps activationOf(const std::string& text) {
  const PostOps post = valueOf(parsePostOps(text));
  if (post.bias || post.add)
    throw Failure(invalidInput("activation = '" + text + "'; bias and add are arguments of their own"));
  return post;
}

Shape shapeOfY(const Problem& problem) {
  Shape shape{problem.batch, problem.cout};
  for (int axis = 3 - problem.rank; axis < 3; ++axis) shape.push_back(problem.out[axis]);
  return shape;
}

void Call::describe(const std::string& asked, const std::optional<Shape>& dy, const ConvolutionArguments& arguments) {
  math = asked;
  problem = problemOf(views[1].shape, views[2].shape, dy, arguments);
  problem.dtype = views[1].dtype;
  problem.layout = Layout::kNcdhw;
  if (const auto mode = parseMathMode(math); mode.ok()) problem.math = *mode;  // the others are types
}

void Call::finish(const py::object& b, const py::object& z, const std::string& activation) {
  problem.postOps = activationOf(activation);
  if (!b.is_none()) bias = viewOf("bias", b);
  if (!z.is_none()) addend = viewOf("add", z);
  problem.postOps.bias = !b.is_none();
  problem.postOps.add = !z.is_none();
}

void Call::slope(const py::object& y, const std::string& activation) {
  finish(py::none(), py::none(), activation);
  const bool needed = problem.postOps.activation != Activation::kNone;
  if (needed == y.is_none())
    throw Failure(invalidInput(needed ? "y is missing: the slope of activation = '" + activation + "' is read off it"
                                      : "y is given without an activation; only its slope is read off y"));
  if (needed) yGiven = viewOf("y", y);
}

// What is added lies as y does, and is of its type: it is read where y is written.
void Call::checkFinish() const {
  const TensorFormat y = formatOf(problem, TensorId::kY);
  std::string broken;
  const auto check = [&](const TensorView& view, const Shape& shape, bool fits) {
    const auto rule = [&](const std::string& what) {
      broken += (broken.empty() ? "" : "\n") + (view.name + (" " + what));
    };
    if (view.shape != shape) rule("has shape (" + listText(view.shape) + "); it must be (" + listText(shape) + ")");
    if (view.dtype != y.dtype)
      rule(std::string("is ") + toString(view.dtype) + "; it must be " + toString(y.dtype) + ", as y is");
    if (!fits) rule("has strides (" + listText(view.strides) + "); it must be dense, in the memory order of y");
  };
  if (problem.postOps.bias)
    check(bias, {problem.cout}, bias.shape.empty() || bias.strides[0] == 1 || bias.shape[0] == 1);
  const bool yDense = densityOf(yGiven) != Density::kNone;
  if (!yGiven.shape.empty() && (yGiven.shape != shapeOfY(problem) || !yDense))
    broken = "y has shape (" + listText(yGiven.shape) + ") and strides (" + listText(yGiven.strides) +
             "); it must be dense, of shape (" + listText(shapeOfY(problem)) + ")";
  if (problem.postOps.add) check(addend, shapeOfY(problem), liesIn(addend, y.layout));
  if (!broken.empty()) throw Failure(invalidInput(broken));
}

void Call::likeOperands() {
  like(Pass::kDx) = views[1];
  like(Pass::kDw) = views[2];
  const DType type = (views[0].shape.empty() ? views[1] : views[0]).dtype;
  like(Pass::kDb) = {"db", nullptr, type, {problem.cout}, {1}, false, nullptr};
}

void Call::aim(Pass pass, const py::object& given) {
  TensorView& wanted = like(pass);
  if (pass == Pass::kY) wanted = {"y", nullptr, views[1].dtype, shapeOfY(problem), {}, false, nullptr};
  const bool likeAddend = pass == Pass::kY && !addend.shape.empty();
  const TensorView& ordered = pass == Pass::kDw ? views[2] : likeAddend ? addend : views[1];
  Target& to = target(pass);
  to.format = {wanted.dtype, pass == Pass::kDb ? Layout::kNcdhw : layoutOf(densityOf(ordered)), {}};
  if (given.is_none()) return;
  const char* name = toString(pass);
  to.given = given;
  to.view = viewOf(name, given);
  const TensorView& view = to.view;
  std::string broken;
  const Density own = densityOf(view);
  if (view.shape != wanted.shape)
    broken = "has shape (" + listText(view.shape) + "); it must be (" + listText(wanted.shape) + ")";
  else if (!view.writable)
    broken = "is read-only";
  else if (own == Density::kNone)
    broken = "has strides (" + listText(view.strides) + "); results must be dense, plain or channels-last";
  if (!broken.empty()) throw Failure(invalidInput(std::string(name) + " of out " + broken));
  to.data = view.data;
  to.format = {view.dtype, layoutOf(own), {}};
}

void Call::order(Pass pass, const Shape& strides) {
  TensorView wanted = like(pass);
  wanted.strides = strides;
  if (strides.size() != wanted.shape.size() || densityOf(wanted) == Density::kNone)
    throw Failure(Error{ErrorCode::kUnsupported, Stage::kProblem,
                        std::string(toString(pass)) + " of shape (" + listText(wanted.shape) + ") with strides (" +
                            listText(strides) + "): results must be dense, plain or channels-last"});
  target(pass).format.layout = layoutOf(densityOf(wanted));
}

void Call::settle() {
  for (std::size_t i = 0; i < kOperands.size(); ++i) {
    const bool read = mask.reads(kOperands[i]);
    if (views[i].shape.empty() || (!read && densityOf(views[i]) == Density::kNone)) continue;
    operands[i] = operandOf(views[i], mathType(views[i].dtype, math));
    problem.formats[at(kOperands[i])] = operands[i].format;
  }
  for (const Pass pass : kPasses) {
    const bool known = !like(pass).shape.empty();
    problem.formats[at(resultOf(pass))] =
        mask.has(pass) ? target(pass).format : TensorFormat{known ? like(pass).dtype : DType::kF32, Layout::kNcdhw, {}};
  }
  if (yGiven.shape.empty()) return;
  // It may lie in several orders; dy's is preferred.
  const Layout dy = layoutOf(densityOf(views[0]));
  problem.formats[at(TensorId::kY)] =
      TensorFormat{yGiven.dtype, liesIn(yGiven, dy) ? dy : layoutOf(densityOf(yGiven)), {}};
}

void Call::compute(Session& session, int threads) {
  settle();
  checkFinish();
  const auto executable = valueOf(session.compile(problem, mask));
  for (const Pass pass : kPasses) {
    Target& to = target(pass);
    if (!mask.has(pass) || to.data != nullptr) continue;
    to.array = resultLike(like(pass), to.format.layout);
    to.data = to.array.memory.get();
  }
  const auto resultAt = [&](Pass pass) { return target(pass).data; };
  require(Layer{nullptr, executable}.run(
      {operands[0].data, operands[1].data, operands[2].data, resultAt(Pass::kDx), resultAt(Pass::kDw),
       resultAt(Pass::kDb), mask.y ? resultAt(Pass::kY) : yGiven.data, bias.data, addend.data},
      threads));
}

py::object Call::result(Pass pass) {
  if (!mask.has(pass)) return py::none();
  return target(pass).given.is_none() ? py::cast(target(pass).array) : target(pass).given;
}

}  // namespace cubejit::python
