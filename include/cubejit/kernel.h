// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the public face of kernels in the kernel language (docs/howto/write_a_kernel.md): checked and generated once, run often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cubejit/dtype.h"
#include "cubejit/export.h"
#include "cubejit/options.h"
#include "cubejit/result.h"

namespace cubejit {

/// An input or output, as the kernel's text declares it.
struct KernelTensor {
  std::string name;
  bool output = false;
  DType type = DType::kF32;           ///< f32, f16 or bf16
  std::vector<std::int64_t> extents;  ///< of its dimensions
  std::vector<std::int64_t> strides;  ///< in elements; 0 or more
  std::int64_t bytes = 0;             ///< from its first element to behind the last one
};

/// May be run by many threads at once.
class TiledKernel {
 public:
  /// Parses, checks, lowers and generates. `parameters` are those of the text; one that is missing has the text's value. Of the options, those about
  /// machine, backend, threads and diagnostics count. Errors: kInvalidProblem for a text or parameters that are wrong, every mistake with its
  /// line; kUnsupported, kLimitExceeded where there is no program of it, with what would be one.
  CUBEJIT_API static Result<std::unique_ptr<TiledKernel>> create(
      const std::string& text, const std::map<std::string, std::int64_t>& parameters = {}, const Options& options = {});
  CUBEJIT_API ~TiledKernel();
  TiledKernel(const TiledKernel&) = delete;
  TiledKernel& operator=(const TiledKernel&) = delete;

  CUBEJIT_API const std::string& name() const;
  /// In the order in which the text declares them.
  CUBEJIT_API const std::vector<KernelTensor>& tensors() const;
  /// All of them, with their values.
  CUBEJIT_API const std::map<std::string, std::int64_t>& parameters() const;
  /// The program that it became, which `cubejit kernel` reads.
  CUBEJIT_API std::string program() const;

  /// What a run on so many threads (0: as the options say) takes beside the tensors.
  CUBEJIT_API std::size_t workspaceBytes(int threads = 0) const;
  /// Computes the outputs. `buffers` has an address for each of tensors(), in their order. `workspace` is at a multiple of 64 bytes and has
  /// workspaceBytes(threads), or is null: then the run takes and gives back memory of its own. Results have the same bits for any number of threads.
  /// Errors: kInvalidProblem for a missing address, outputs that overlap other tensors, a workspace that does not lie so; kLimitExceeded without memory.
  CUBEJIT_API Status run(const std::vector<void*>& buffers, void* workspace = nullptr, int threads = 0) const;
  /// The same, a number at a time, by the definition of the program's instructions: what code is compared with.
  CUBEJIT_API Status interpret(const std::vector<void*>& buffers) const;

 private:
  TiledKernel();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cubejit
