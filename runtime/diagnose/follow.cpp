// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides folders, and what listeners are told of each kernel. Line numbers are those of listings written for them.
#include "runtime/diagnose/follow.h"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "runtime/diagnose/perf_map.h"
#include "runtime/dump/dump.h"
#include "runtime/dump/folder.h"
#include "runtime/loader/backends.h"
#include "runtime/loader/llvm_component.h"

namespace cubejit {
namespace {

namespace fs = std::filesystem;

std::string folderOf(const std::string& given, const char* name) {
  if (!given.empty()) return fs::absolute(given).string();
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  return ((error ? fs::path("/tmp") : temporary) / (name + std::to_string(getpid()))).string();
}

// The bytes as they were loaded: what LLVM linked differs from its object.
std::vector<std::byte> loadedBytes(const Code& code, const void* entry) {
  if (code.format == CodeFormat::kRaw) return code.bytes;
  const auto* begin = static_cast<const std::byte*>(entry);
  return std::vector<std::byte>(begin, begin + code.instructionBytes);
}

class Announcer {
 public:
  Announcer(Executable::State& state, const Machine& machine) : state_(state), machine_(machine) {}

  Status run() {
    // What makes shared tensors comes first; that is no pass, and is not told about.
    std::size_t first = 0;
    for (const SharedTensor& shared : state_.shared) first += shared.program->codes.size();
    for (const auto& part : state_.parts) {
      CUBEJIT_RETURN_IF_ERROR(tell(*part, first));
      first += part->codes.size();
    }
    return Unit{};
  }

 private:
  const Diagnostics& wanted() const { return state_.options.diagnostics; }
  const void* entry(std::size_t index) const { return reinterpret_cast<const void*>(state_.code.entry(index)); }

  Status tell(const CompiledPass& part, std::size_t first) {
    const PassStages stages = stagesOf(part, machine_);
    if (wanted().jitProfile.perfMap) {
      std::vector<NamedCode> codes;
      for (std::size_t k = 0; k < part.codes.size(); ++k)
        codes.push_back(
            {kernelSymbol(stages, k), entry(first + k), loadedBytes(part.codes[k], entry(first + k)).size()});
      CUBEJIT_RETURN_IF_ERROR(writePerfMap(codes));
    }
    if (!wanted().jitProfile.gdb && !wanted().jitProfile.jitDump && !wanted().jitProfile.vtune) return Unit{};
    CUBEJIT_TRY(component, llvmComponent(state_.options.llvmComponent));
    CUBEJIT_TRY(explained, explain(stages, &component->binary));
    const std::string root = folderOf(wanted().jitDirectory, "cubejit-"), name = dumpName(stages);
    Announcement announcement{wanted().jitProfile, state_.isa, name, (fs::path(root) / name).string(), {}};
    FolderFiles listings;
    for (std::size_t k = 0; k < part.codes.size(); ++k) {
      const Code& code = part.codes[k];
      const std::string file = kernelStem(stages, k) + ".s";
      listings[file] = explained.listings[k].text;
      AnnouncedFunction function;
      function.address = reinterpret_cast<std::uintptr_t>(entry(first + k));
      function.object = {kernelSymbol(stages, k), loadedBytes(code, entry(first + k)), code.frame, file,
                         explained.listings[k].lines};
      announcement.functions.push_back(std::move(function));
    }
    CUBEJIT_RETURN_IF_ERROR(writeFolder(root, name, listings));
    CUBEJIT_TRY(told, component->announceCode(announcement));
    state_.announced.push_back(std::move(told));
    return Unit{};
  }

  Executable::State& state_;
  const Machine& machine_;
};

}  // namespace

Result<Diagnostics> diagnosticsOf(const Diagnostics& given) {
  CUBEJIT_TRY(environment, diagnosticsFromEnvironment());
  Diagnostics d = given;
  const auto fill = [](std::string& text, const std::string& other) {
    if (text.empty()) text = other;
  };
  if (d.dumpStages.empty()) {
    d.dumpStages = environment.dumpStages;
    fill(d.dumpKernels, environment.dumpKernels);
  }
  fill(d.dumpDirectory, environment.dumpDirectory);
  if (!d.jitProfile.any()) d.jitProfile = environment.jitProfile;
  fill(d.jitDirectory, environment.jitDirectory);
  if (!d.verbose.any()) d.verbose = environment.verbose;
  fill(d.verboseFile, environment.verboseFile);
  fill(d.verboseFilter, environment.verboseFilter);
  return d;
}

Status followLoad(Executable::State& state, const Machine& machine) {
  const Diagnostics& d = state.options.diagnostics;
  if (!d.dumpStages.empty()) {
    for (const auto& part : state.parts) {
      const DumpRequest request{d.dumpStages, folderOf(d.dumpDirectory, "cubejit-dump-"), d.dumpKernels, ""};
      CUBEJIT_RETURN_IF_ERROR(dumpPass(stagesOf(*part, machine), request, state.options));
    }
  }
  if (!d.jitProfile.any() || !emitsCode(state.options.backend)) return Unit{};
  return Announcer(state, machine).run();
}

}  // namespace cubejit
