// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the records. GDB gets one small object a function, with the address it was loaded at; jitdump and VTune get names,
// bytes and lines.
#include "runtime/loader/orc/announce.h"

#include <llvm/ExecutionEngine/Orc/Shared/PerfSharedStructs.h>
#include <llvm/ExecutionEngine/Orc/Shared/VTuneSharedStructs.h>
#include <llvm/ExecutionEngine/Orc/Shared/WrapperFunctionUtils.h>
#include <llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderPerf.h>
#include <llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderVTune.h>
#include <unistd.h>

#include <list>
#include <mutex>
#include <utility>

#include "runtime/loader/orc/jitdump_header.h"

// GDB's side of the JIT interface, as its manual gives it; LLVM defines both symbols and GDB looks for them.
extern "C" {
struct jit_code_entry {
  jit_code_entry *next_entry, *prev_entry;
  const char* symfile_addr;
  std::uint64_t symfile_size;
};
struct jit_descriptor {
  std::uint32_t version;
  std::uint32_t action_flag;  // 1 = registered, 2 = about to be unregistered
  jit_code_entry *relevant_entry, *first_entry;
};
extern jit_descriptor __jit_debug_descriptor;  // NOLINT: GDB's name
void __jit_debug_register_code();              // NOLINT: GDB's name
}

namespace cubejit {
namespace {

namespace orc = llvm::orc;
namespace shared = llvm::orc::shared;

std::mutex& listenersMutex() {
  static std::mutex mutex;
  return mutex;
}

Error failed(const char* listener, const std::string& what) {
  return Error{ErrorCode::kUnsupported, Stage::kLoad, std::string("cannot tell ") + listener + " about code: " + what};
}

// Objects GDB knows; taken out of its list when they go.
class GdbObjects {
 public:
  GdbObjects() = default;
  GdbObjects(const GdbObjects&) = delete;
  GdbObjects& operator=(const GdbObjects&) = delete;

  void add(std::vector<std::byte> bytes) {
    const std::lock_guard<std::mutex> lock(listenersMutex());
    objects_.push_back({std::move(bytes), {}});
    Object& object = objects_.back();
    jit_code_entry*& first = __jit_debug_descriptor.first_entry;
    object.entry = {first, nullptr, reinterpret_cast<const char*>(object.bytes.data()), object.bytes.size()};
    if (first != nullptr) first->prev_entry = &object.entry;
    first = &object.entry;
    tell(object, 1);
  }

  ~GdbObjects() {
    const std::lock_guard<std::mutex> lock(listenersMutex());
    for (Object& object : objects_) {
      jit_code_entry& e = object.entry;
      (e.prev_entry != nullptr ? e.prev_entry->next_entry : __jit_debug_descriptor.first_entry) = e.next_entry;
      if (e.next_entry != nullptr) e.next_entry->prev_entry = e.prev_entry;
      tell(object, 2);
    }
  }

 private:
  struct Object {
    std::vector<std::byte> bytes;
    jit_code_entry entry;
  };

  static void tell(Object& object, std::uint32_t action) {
    __jit_debug_descriptor.relevant_entry = &object.entry;
    __jit_debug_descriptor.action_flag = action;
    __jit_debug_register_code();
    __jit_debug_descriptor.action_flag = 0;
  }

  std::list<Object> objects_;  // entries do not move
};

template <class Signature, class... Arguments>
Status send(const char* listener, shared::CWrapperFunctionResult (*function)(const char*, std::uint64_t),
            const Arguments&... arguments) {
  llvm::Error result = llvm::Error::success();
  const auto caller = [&](const char* data, std::size_t size) {
    return shared::WrapperFunctionResult(function(data, size));
  };
  llvm::Error delivered = shared::WrapperFunction<Signature>::call(caller, result, arguments...);
  if (auto error = llvm::joinErrors(std::move(delivered), std::move(result)))
    return failed(listener, llvm::toString(std::move(error)));
  return Unit{};
}

std::string listingPath(const Announcement& a, const AnnouncedFunction& f) {
  return a.directory + "/" + f.object.listing;
}

Status tellPerf(const Announcement& a) {
  const std::lock_guard<std::mutex> lock(listenersMutex());
  static bool started = false, complete = false;
  static std::uint64_t index = 0;
  if (!started) {
    CUBEJIT_RETURN_IF_ERROR(send<shared::SPSError()>("perf", llvm_orc_registerJITLoaderPerfStart));
    started = true;
  }
  // Sizes of the records as the format counts them: prefix (id, size, time), fixed fields, strings with their zero.
  constexpr std::uint32_t kPrefix = 16;
  orc::PerfJITRecordBatch batch{};
  for (const AnnouncedFunction& f : a.functions) {
    orc::PerfJITDebugInfoRecord lines{};
    lines.Prefix = {orc::PerfJITRecordType::JIT_CODE_DEBUG_INFO, kPrefix + 16};
    lines.CodeAddr = f.address;
    for (const auto& [offset, line] : f.object.lines) {
      lines.Entries.push_back(
          {f.address + static_cast<std::uint64_t>(offset), static_cast<std::uint32_t>(line), 0, listingPath(a, f)});
      lines.Prefix.TotalSize += static_cast<std::uint32_t>(16 + lines.Entries.back().Name.size() + 1);
    }
    if (!lines.Entries.empty()) batch.DebugInfoRecords.push_back(std::move(lines));
    orc::PerfJITCodeLoadRecord load{};
    load.Pid = static_cast<std::uint32_t>(getpid());
    load.Tid = static_cast<std::uint32_t>(gettid());
    load.Vma = load.CodeAddr = f.address;
    load.CodeSize = f.object.bytes.size();
    load.CodeIndex = index++;
    load.Name = f.object.symbol;
    load.Prefix = {orc::PerfJITRecordType::JIT_CODE_LOAD,
                   static_cast<std::uint32_t>(kPrefix + 40 + load.Name.size() + 1 + load.CodeSize)};
    batch.CodeLoadRecords.push_back(std::move(load));
  }
  CUBEJIT_TRY(sent,
              send<shared::SPSError(shared::SPSPerfJITRecordBatch)>("perf", llvm_orc_registerJITLoaderPerfImpl, batch));
  if (complete) return sent;
  complete = true;
  return clearJitDumpFlags();
}

Status tellVtune(const Announcement& a) {
  const std::lock_guard<std::mutex> lock(listenersMutex());
  static std::uint64_t identifier = 1;
  orc::VTuneMethodBatch batch;
  const auto string = [&](const std::string& text) {
    batch.Strings.push_back(text);
    return static_cast<std::uint32_t>(batch.Strings.size());  // counted from 1
  };
  for (const AnnouncedFunction& f : a.functions) {
    orc::VTuneMethodInfo method{};
    for (const auto& [offset, line] : f.object.lines)
      method.LineTable.emplace_back(static_cast<unsigned>(offset), static_cast<unsigned>(line));
    method.LoadAddr = orc::ExecutorAddr(f.address);
    method.LoadSize = f.object.bytes.size();
    method.MethodID = identifier++;
    method.NameSI = string(f.object.symbol);
    method.ClassFileSI = string(a.name);
    method.SourceFileSI = string(listingPath(a, f));
    batch.Methods.push_back(std::move(method));
  }
  return send<shared::SPSError(shared::SPSVTuneMethodBatch)>("VTune", llvm_orc_registerVTuneImpl, batch);
}

}  // namespace

Result<std::shared_ptr<void>> announceCode(const Announcement& a) {
  auto gdb = std::make_shared<GdbObjects>();
  for (const AnnouncedFunction& f : a.functions) {
    if (!a.listeners.gdb) break;
    CUBEJIT_TRY(object, writeDebugObject(ObjectInput{a.isa, a.name, a.directory, {f.object}, {}}, f.address));
    gdb->add(std::move(object));
  }
  if (a.listeners.jitDump) {
    CUBEJIT_RETURN_IF_ERROR(tellPerf(a));
  }
  if (a.listeners.vtune) {
    CUBEJIT_RETURN_IF_ERROR(tellVtune(a));
  }
  return std::shared_ptr<void>(std::move(gdb));
}

}  // namespace cubejit
