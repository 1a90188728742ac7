// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the JIT's parts: a session of its own for every set of kernels, linked on the calling thread, one library a kernel
// (names may repeat), no symbols of the process.
#include "runtime/loader/orc/load_orc.h"

#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/Orc/TaskDispatch.h>
#include <llvm/Support/MemoryBuffer.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace cubejit {
namespace {

namespace orc = llvm::orc;

// What goes wrong while linking is kept, instead of printed as ORC would.
struct Linked {
  std::mutex mutex;
  std::string reported;
  std::unique_ptr<orc::LLJIT> jit;  ///< last: goes first, and may still report
};

Error failed(const Linked& linked, llvm::Error error) {
  const std::string message = llvm::toString(std::move(error));
  return Error{ErrorCode::kLimitExceeded, Stage::kLoad,
               "LLVM could not link generated code: " + (linked.reported.empty() ? "" : linked.reported + "; ") +
                   message + "; the system may forbid executable memory, the interpreter backend works without"};
}

llvm::Error makeJit(Linked& linked) {
  auto control = orc::SelfExecutorProcessControl::Create(nullptr, std::make_unique<orc::InPlaceTaskDispatcher>());
  if (!control) return control.takeError();
  auto jit =
      orc::LLJITBuilder()
          .setExecutorProcessControl(std::move(*control))
          .setLinkProcessSymbolsByDefault(false)
          .setPlatformSetUp(orc::setUpInactivePlatform)
          .setObjectLinkingLayerCreator([](orc::ExecutionSession& session,
                                           const llvm::Triple&) -> llvm::Expected<std::unique_ptr<orc::ObjectLayer>> {
            auto memory = llvm::jitlink::InProcessMemoryManager::Create();
            if (!memory) return memory.takeError();
            return std::make_unique<orc::ObjectLinkingLayer>(session, std::move(*memory));
          })
          .create();
  if (!jit) return jit.takeError();
  linked.jit = std::move(*jit);
  linked.jit->getExecutionSession().setErrorReporter([&linked](llvm::Error error) {
    const std::lock_guard<std::mutex> lock(linked.mutex);
    linked.reported += (linked.reported.empty() ? "" : "; ") + llvm::toString(std::move(error));
  });
  return llvm::Error::success();
}

llvm::Expected<KernelFunction> link(orc::LLJIT& jit, const Code& code, std::size_t index) {
  auto library = jit.createJITDylib("k" + std::to_string(index));
  if (!library) return library.takeError();
  const llvm::StringRef bytes(reinterpret_cast<const char*>(code.bytes.data()), code.bytes.size());
  if (auto error = jit.addObjectFile(*library, llvm::MemoryBuffer::getMemBuffer(bytes, code.name, false))) return error;
  auto entry = jit.lookup(*library, code.name);
  if (!entry) return entry.takeError();
  return entry->toPtr<KernelFunction>();
}

}  // namespace

Result<LoadedCode> loadOrc(const std::vector<Code>& codes) {
  auto linked = std::make_shared<Linked>();
  if (codes.empty()) return LoadedCode();
  if (auto error = makeJit(*linked)) return failed(*linked, std::move(error));
  std::vector<KernelFunction> entries;
  std::size_t bytes = 0;
  for (const Code& code : codes) {
    auto entry = link(*linked->jit, code, entries.size());
    if (!entry) return failed(*linked, entry.takeError());
    entries.push_back(*entry);
    bytes += code.bytes.size();
  }
  return LoadedCode(std::move(linked), bytes, std::move(entries));
}

}  // namespace cubejit
