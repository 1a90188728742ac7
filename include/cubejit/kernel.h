// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the public face of kernels in the kernel language (docs/howto/write_a_kernel.md): checked and generated once, run often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cubejit/dtype.h"
#include "cubejit/dump.h"
#include "cubejit/export.h"
#include "cubejit/options.h"
#include "cubejit/result.h"

namespace cubejit {

namespace lang {
struct Signature;
}

/// An input or output, as the kernel's text declares it.
struct KernelTensor {
  std::string name;
  bool output = false;
  DType type = DType::kF32;           ///< f32, f16, bf16, i8 or i32
  std::vector<std::int64_t> extents;  ///< of its dimensions
  std::vector<std::int64_t> strides;  ///< in elements; 0 or more
  std::int64_t bytes = 0;             ///< from its first element to behind the last one
};

/// A parameter's value: an integer, or a type.
class KernelParameter {
 public:
  // NOLINTBEGIN(google-explicit-constructor): {"M", 1000} is a parameter.
  KernelParameter(std::int64_t number) : text_(std::to_string(number)) {}
  KernelParameter(int number) : text_(std::to_string(number)) {}
  KernelParameter(DType type) : text_(toString(type)) {}
  // NOLINTEND(google-explicit-constructor)
  /// As the kernel's text writes it: 64, bf16.
  explicit KernelParameter(std::string text) : text_(std::move(text)) {}
  const std::string& text() const { return text_; }
  friend bool operator==(const KernelParameter& x, const KernelParameter& y) { return x.text_ == y.text_; }

 private:
  std::string text_;
};
using KernelParameters = std::map<std::string, KernelParameter>;

/// An array that a kernel is to be called with.
struct KernelArgument {
  std::string name;  ///< of the tensor that it is to be
  DType type = DType::kF32;
  std::vector<std::int64_t> extents;
};

/// What a kernel's text declares, before its parameters are known: finds those that follow from arrays. A value; may be used by many threads at once.
class KernelSignature {
 public:
  /// Errors: kInvalidProblem for a text whose declarations do not read.
  CUBEJIT_API static Result<KernelSignature> of(const std::string& text);

  CUBEJIT_API const std::string& name() const;
  CUBEJIT_API std::vector<std::string> inputs() const;  ///< names, in the text's order
  CUBEJIT_API std::vector<std::string> outputs() const;
  CUBEJIT_API std::vector<std::string> parameters() const;
  /// `given`, and each parameter that is a tensor's type, or of which an extent is a multiple, with a constant or not (M, 2 * H + 1), for TiledKernel::create().
  /// An extent that is more than that is solved for one parameter, with those that other extents tell and what the text says of the rest. Errors:
  /// kInvalidProblem for arrays that contradict each other, `given` or the text, with both dimensions and their numbers.
  CUBEJIT_API Result<KernelParameters> parametersFor(const std::vector<KernelArgument>& arrays,
                                                     const KernelParameters& given = {}) const;

 private:
  KernelSignature() = default;
  std::shared_ptr<const lang::Signature> signature_;
};

/// What a tile instruction of an interpreted kernel has just written.
struct InterpretedTile {
  std::string name;       ///< "C.sum": the target and what was done
  std::int64_t task = 0;  ///< of the parallel loops
  std::string tensor;     ///< that it wrote: an output, what `let` names, or a value without a name ("value.1")
  std::vector<std::int64_t> element;  ///< at which it begins; empty where a value without a name has none
  const void* memory = nullptr;       ///< of the whole tensor as it is now, during the call of the hook
  DType type = DType::kF32;
  std::vector<std::int64_t> extents, strides;  ///< of the tensor, in elements; one row if packed or without a name
};
/// False ends the interpretation.
using InterpretHook = std::function<bool(const InterpretedTile&)>;

/// What tuning found.
struct KernelTuning {
  KernelParameters parameters;  ///< the caller's, and the best value of each that was varied
  double gain = 1;  ///< time of the untuned kernel, divided by that of the best: 1 where nothing faster was confirmed
  double untunedSeconds = 0;  ///< of a run of the untuned one: the first value of each list
  double choices = 0;         ///< that there are
  int tried = 0, known = 0;   ///< choices now; in earlier runs
  std::string report;         ///< a line for each choice tried now, and what else people should know
};

/// May be run by many threads at once.
class TiledKernel {
 public:
  /// Parses, checks, lowers and generates. `parameters` are those of the text; one that is missing has what won a tuning run, if options.tune lets
  /// records be used and options.store has one, else the text's value. Of the options, those about machine, backend, threads, records and
  /// diagnostics count. The process keeps what was generated, of at most Options::cacheCapacity kernels, the least recently used dropped first: a second
  /// kernel of the same text, parameters and options takes microseconds, and threads that ask for it at once wait for one generation. So what another
  /// process tunes is seen by kernels that are not kept yet; tune() lets go of all. Errors: kInvalidProblem for a text or parameters that are wrong, every mistake with its
  /// line; kUnsupported, kLimitExceeded where there is no program of it, with what would be one.
  CUBEJIT_API static Result<std::unique_ptr<TiledKernel>> create(const std::string& text,
                                                                 const KernelParameters& parameters = {},
                                                                 const Options& options = {});
  /// Measures values of the parameters that are not given, of those lists that the text has behind `in` and on which no input or output depends,
  /// for about so many seconds: each meets the best so far in turn with it, leading ones are verified, and the last one has to win again. All is kept
  /// in options.store, if that names a file, and used by create(). Errors: as create()'s; kInvalidProblem if there is nothing to vary.
  CUBEJIT_API static Result<KernelTuning> tune(const std::string& text, const KernelParameters& parameters = {},
                                               const Options& options = {}, double seconds = 10);
  CUBEJIT_API ~TiledKernel();
  TiledKernel(const TiledKernel&) = delete;
  TiledKernel& operator=(const TiledKernel&) = delete;

  CUBEJIT_API const std::string& name() const;
  /// In the order in which the text declares them.
  CUBEJIT_API const std::vector<KernelTensor>& tensors() const;
  /// All of them, with their values.
  CUBEJIT_API const KernelParameters& parameters() const;
  /// The program that it became, which `cubejit kernel` reads.
  CUBEJIT_API std::string program() const;
  /// Writes the stages of its generation into a folder, whole or not at all, and returns the folder's path: softmax_M64_N200_rows8__avx512; empty if
  /// no kernel of the program has request.kernels in its name. The folder has the text and parameters, too. Errors: as those of dump() (dump.h).
  CUBEJIT_API Result<std::string> dump(const DumpRequest& request) const;

  /// What a run on so many threads (0: as the options say) takes beside the tensors.
  CUBEJIT_API std::size_t workspaceBytes(int threads = 0) const;
  /// Computes the outputs. `buffers` has an address for each of tensors(), in their order; any for one without elements. `workspace` is at a multiple of 64 bytes and has
  /// workspaceBytes(threads), or is null: then the run takes and gives back memory of its own. Results have the same bits for any number of threads.
  /// Errors: kInvalidProblem for a missing address, outputs that overlap other tensors, a workspace that does not lie so; kLimitExceeded without memory.
  CUBEJIT_API Status run(const std::vector<void*>& buffers, void* workspace = nullptr, int threads = 0) const;
  /// The same, a number at a time, by the definition of the program's instructions: what code is compared with.
  /// `hook`, if there is one, is told of each tile instruction, in order.
  CUBEJIT_API Status interpret(const std::vector<void*>& buffers, const InterpretHook& hook = {}) const;

 private:
  TiledKernel();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cubejit
