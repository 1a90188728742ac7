// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how kernels in the kernel language are made and run on Python's arrays: where they lie, if that is how the kernel was made for them.
#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cubejit/kernel.h"
#include "python/core/array.h"
#include "python/core/bindings.h"
#include "python/core/failure.h"
#include "python/core/tensor_view.h"
#include "python/core/without_gil.h"
#include "python/core/workspace.h"

namespace cubejit::python {

namespace py = pybind11;

namespace {

std::string text(const std::vector<std::int64_t>& numbers) {
  std::string out;
  for (const std::int64_t n : numbers) out += (out.empty() ? "" : ", ") + std::to_string(n);
  return "(" + out + ")";
}

Options optionsOf(const std::optional<std::string>& isa, const std::optional<std::string>& backend, int threads) {
  Options options = valueOf(optionsFromEnvironment());
  if (isa) options.isa = valueOf(parseIsa(*isa));
  if (backend) options.backend = valueOf(parseBackend(*backend));
  requireThreads(threads);
  if (threads > 0) options.threads = threads;
  return options;
}

using KernelTexts = std::map<std::string, std::string>;

KernelParameters valuesOf(const KernelTexts& parameters) {
  KernelParameters values;
  for (const auto& [name, value] : parameters) values.emplace(name, KernelParameter(value));
  return values;
}

KernelTexts textsOf(const KernelParameters& values) {
  KernelTexts texts;
  for (const auto& [name, value] : values) texts[name] = value.text();
  return texts;
}

std::unique_ptr<TiledKernel> makeKernel(const std::string& source, const KernelTexts& parameters,
                                        const std::optional<std::string>& isa,
                                        const std::optional<std::string>& backend, int threads) {
  const Options options = optionsOf(isa, backend, threads);
  const WithoutGil released;
  return valueOf(TiledKernel::create(source, valuesOf(parameters), options));
}

py::dict tuneKernel(const std::string& source, const KernelTexts& parameters, const std::optional<std::string>& isa,
                    const std::optional<std::string>& backend, int threads, double seconds,
                    const std::optional<std::string>& store) {
  Options options = optionsOf(isa, backend, threads);
  if (store) options.store = *store;
  KernelTuning found;
  {
    const WithoutGil released;
    found = valueOf(TiledKernel::tune(source, valuesOf(parameters), options, seconds));
  }
  py::dict out;
  out["parameters"] = textsOf(found.parameters);
  out["gain"] = found.gain;
  out["untuned_seconds"] = found.untunedSeconds;
  out["choices"] = found.choices;
  out["tried"] = found.tried;
  out["known"] = found.known;
  out["report"] = found.report;
  return out;
}

// What keeps an array from being the tensor; empty if nothing does.
std::string unlike(const TensorView& view, const KernelTensor& tensor) {
  std::string broken;
  const auto require = [&](bool holds, const std::string& rule) {
    if (!holds) broken += (broken.empty() ? "" : "\n") + rule;
  };
  require(view.dtype == tensor.type,
          tensor.name + " is " + nameOf(view.dtype) + "; the kernel was made for " + nameOf(tensor.type));
  require(view.shape == tensor.extents,
          tensor.name + " has the shape " + text(view.shape) + "; the kernel was made for " + text(tensor.extents));
  require(!tensor.output || view.writable, tensor.name + " may not be written");
  if (!broken.empty()) return broken;
  for (std::size_t d = 0; d < tensor.extents.size(); ++d) {
    if (tensor.bytes > 0 && tensor.extents[d] > 1 && view.strides[d] != tensor.strides[d])
      return tensor.name + " has the strides " + text(view.strides) + " in elements; the kernel was made for " +
             text(tensor.strides);
  }
  return "";
}

// Whether the interpretation is to go on. The hook gets a copy of the tensor: the memory lives as long as the interpretation.
bool toldOf(const py::object& hook, const InterpretedTile& tile) {
  std::int64_t last = 0;
  for (std::size_t d = 0; d < tile.extents.size(); ++d) last += (tile.extents[d] - 1) * tile.strides[d];
  const auto bytes = static_cast<std::size_t>((last + 1) * byteSize(tile.type));
  Array copy{allocate(bytes), tile.type, tile.extents, tile.strides};
  std::memcpy(copy.memory.get(), tile.memory, bytes);
  const py::object more =
      hook(tile.name, tile.task, tile.tensor, py::tuple(py::cast(tile.element)), py::cast(std::move(copy)));
  return more.is_none() || more.cast<bool>();
}

using Arrays = std::map<std::string, py::object>;
using Views = std::map<std::string, TensorView>;

Views viewsOf(const Arrays& arrays) {
  Views views;
  for (const auto& [name, array] : arrays)
    views.emplace(name, viewOf(name.c_str(), array, Elements::kFloatsAndIntegers));
  return views;
}

// The outputs, in their order: those that were given, or new ones.
py::list runOnViews(const TiledKernel& kernel, const Arrays& arrays, const Views& views, int threads, bool interpret,
                    const py::object& hook) {
  requireThreads(threads);
  std::string broken, known;
  std::vector<void*> addresses;
  py::list outputs;
  const auto fail = [&](const std::string& rule) { broken += (broken.empty() ? "" : "\n") + rule; };
  for (const KernelTensor& tensor : kernel.tensors()) {
    known += (known.empty() ? "" : ", ") + tensor.name;
    const auto given = views.find(tensor.name);
    if (given != views.end()) {
      if (const std::string rule = unlike(given->second, tensor); !rule.empty()) fail(rule);
      addresses.push_back(given->second.data);
      if (tensor.output) outputs.append(arrays.at(tensor.name));
    } else if (tensor.output) {
      Array made{allocate(static_cast<std::size_t>(tensor.bytes)), tensor.type, tensor.extents, tensor.strides};
      addresses.push_back(made.memory.get());
      outputs.append(py::cast(std::move(made)));
    } else {
      fail(tensor.name + " is missing");
    }
  }
  for (const auto& [name, array] : arrays) {
    const auto named = [&name = name](const KernelTensor& t) { return t.name == name; };
    if (std::none_of(kernel.tensors().begin(), kernel.tensors().end(), named))
      fail(kernel.name() + " has no tensor " + name + "; there are " + known);
  }
  if (!broken.empty()) throw Failure(invalidInput(broken, Stage::kRun));
  if (interpret && !hook.is_none()) {
    std::exception_ptr raised;
    require(kernel.interpret(addresses, [&](const InterpretedTile& tile) {
      try {
        return toldOf(hook, tile);
      } catch (...) {  // on behalf of the caller, behind the library
        raised = std::current_exception();
        return false;
      }
    }));
    if (raised) std::rethrow_exception(raised);
    return outputs;
  }
  const Workspace workspace = takeWorkspace(interpret ? 0 : kernel.workspaceBytes(threads));
  const WithoutGil released;
  require(interpret ? kernel.interpret(addresses) : kernel.run(addresses, workspace.get(), threads));
  return outputs;
}

py::list runKernel(const TiledKernel& kernel, const Arrays& arrays, int threads, bool interpret,
                   const py::object& hook) {
  return runOnViews(kernel, arrays, viewsOf(arrays), threads, interpret, hook);
}

// A text whose parameters follow from the arrays of each call.
struct KernelOfArrays {
  std::string source;
  KernelSignature signature;
  KernelParameters given;
  Options options;

  std::unique_ptr<TiledKernel> kernelFor(const Views& views) const {
    std::string missing;
    for (const std::string& name : signature.inputs()) {
      if (views.count(name) == 0) missing += (missing.empty() ? "" : "\n") + name + " is missing";
    }
    if (!missing.empty()) throw Failure(invalidInput(missing, Stage::kRun));
    std::vector<KernelArgument> arrays;
    for (const auto& [name, view] : views) arrays.push_back({name, view.dtype, view.shape});
    const WithoutGil released;
    return valueOf(TiledKernel::create(source, valueOf(signature.parametersFor(arrays, given)), options));
  }
  py::list run(const Arrays& arrays, int threads) const {
    const Views views = viewsOf(arrays);
    return runOnViews(*kernelFor(views), arrays, views, threads, false, py::none());
  }
};

KernelOfArrays kernelOfArrays(const std::string& source, const KernelTexts& parameters,
                              const std::optional<std::string>& isa, const std::optional<std::string>& backend,
                              int threads) {
  KernelSignature signature = valueOf(KernelSignature::of(source));
  const std::vector<std::string> known = signature.parameters();
  std::string broken, names;
  for (const std::string& name : known) names += (names.empty() ? "; there are " : ", ") + name;
  for (const auto& [name, value] : parameters) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      broken += (broken.empty() ? "" : "\n") + ("it has no parameter " + name) + names;
  }
  if (!broken.empty()) throw Failure(invalidInput(broken, Stage::kTile));
  return {source, std::move(signature), valuesOf(parameters), optionsOf(isa, backend, threads)};
}

std::string dumpKernel(const TiledKernel& kernel, const std::string& directory, const std::string& stages,
                       const std::string& kernels, const std::string& symbol, bool measure) {
  const WithoutGil released;
  return valueOf(kernel.dump({stages, directory, kernels, symbol, measure}));
}

}  // namespace

void bindKernel(py::module_& module) {
  module.def("tune_kernel", &tuneKernel, py::arg("source"), py::arg("parameters"), py::kw_only(), py::arg("isa"),
             py::arg("backend"), py::arg("threads"), py::arg("seconds"), py::arg("store"));
  py::class_<TiledKernel>(module, "Kernel", py::module_local(),
                          "A kernel in the kernel language, made for one machine and its parameters' values.")
      .def(py::init(&makeKernel), py::arg("source"), py::arg("parameters"), py::kw_only(), py::arg("isa") = py::none(),
           py::arg("backend") = py::none(), py::arg("threads") = 0)
      .def_property_readonly("name", &TiledKernel::name)
      .def_property_readonly("parameters", [](const TiledKernel& kernel) { return textsOf(kernel.parameters()); })
      .def_property_readonly(
          "tensors",
          [](const TiledKernel& kernel) {
            py::list all;
            for (const KernelTensor& t : kernel.tensors())
              all.append(py::make_tuple(t.name, t.output, nameOf(t.type), py::tuple(py::cast(t.extents)),
                                        py::tuple(py::cast(t.strides))));
            return all;
          })
      .def("program", &TiledKernel::program)
      .def("dump", &dumpKernel, py::arg("directory"), py::arg("stages"), py::arg("kernels"), py::arg("symbol"),
           py::arg("measure"))
      .def("run", &runKernel, py::arg("arrays"), py::arg("threads"), py::arg("interpret"),
           py::arg("hook") = py::none());
  py::class_<KernelOfArrays>(module, "KernelOfArrays", py::module_local(),
                             "A kernel in the kernel language, made for the arrays of each call.")
      .def(py::init(&kernelOfArrays), py::arg("source"), py::arg("parameters"), py::kw_only(),
           py::arg("isa") = py::none(), py::arg("backend") = py::none(), py::arg("threads") = 0)
      .def_property_readonly("name", [](const KernelOfArrays& k) { return k.signature.name(); })
      .def_property_readonly("inputs", [](const KernelOfArrays& k) { return k.signature.inputs(); })
      .def_property_readonly("outputs", [](const KernelOfArrays& k) { return k.signature.outputs(); })
      .def_property_readonly("parameters", [](const KernelOfArrays& k) { return k.signature.parameters(); })
      .def(
          "kernel", [](const KernelOfArrays& k, const Arrays& arrays) { return k.kernelFor(viewsOf(arrays)); },
          py::arg("arrays"))
      .def("run", &KernelOfArrays::run, py::arg("arrays"), py::arg("threads"));
}

}  // namespace cubejit::python
