// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides sections and debug entries; LLVM's machine-code layer writes the ELF, the line table and the frame rules.
#include "codegen/binary/object.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/BinaryFormat/ELF.h>
#include <llvm/MC/MCAsmBackend.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDwarf.h>
#include <llvm/MC/MCExpr.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCObjectWriter.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSection.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCSymbol.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "codegen/binary/mc_target.h"

namespace cubejit {
namespace {

constexpr std::uint64_t kAlign = 64;
constexpr int kDwarfVersion = 4;  // the newest that names files without a checksum of each

Error failed(const std::string& what) { return Error{ErrorCode::kInternal, Stage::kEmit, "object file: " + what}; }

// The machine-code layer's parts, in the order they depend on each other.
class Writer {
 public:
  /// Loaders read .eh_frame, which is relative to itself; debuggers read .debug_frame, which is absolute.
  Writer(const ObjectInput& input, bool forDebugger) : in_(input), forDebugger_(forDebugger), out_(bytes_) {}

  Result<std::vector<std::byte>> run() {
    CUBEJIT_RETURN_IF_ERROR(assemble(mcTargetOf(in_.isa)));
    stream_->initSections(true, *subtarget_);  // no executable stack
    if (context_->hadError()) return failed("sections");
    text();
    tables();
    if (hasLines()) debugEntries();
    stream_->finish();
    if (context_->hadError()) return failed("LLVM reported an error");
    const auto* begin = reinterpret_cast<const std::byte*>(bytes_.data());
    return std::vector<std::byte>(begin, begin + bytes_.size());
  }

 private:
  struct Placed {
    llvm::MCSymbol *begin, *end;
  };

  Status assemble(const McTarget& mc) {
    std::string error;
    const llvm::Triple triple(mc.triple);
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(mc.triple, error);
    if (target == nullptr) return failed(error);
    registers_.reset(target->createMCRegInfo(mc.triple));
    asm_.reset(target->createMCAsmInfo(*registers_, mc.triple, options_));
    instructions_.reset(target->createMCInstrInfo());
    subtarget_.reset(target->createMCSubtargetInfo(mc.triple, "", ""));
    if (!registers_ || !asm_ || !instructions_ || !subtarget_)
      return failed(std::string("LLVM cannot write code for ") + mc.triple);
    context_ =
        std::make_unique<llvm::MCContext>(triple, asm_.get(), registers_.get(), subtarget_.get(), nullptr, &options_);
    sections_.reset(target->createMCObjectFileInfo(*context_, true));
    context_->setObjectFileInfo(sections_.get());
    context_->setDwarfVersion(kDwarfVersion);
    context_->setCompilationDir(in_.directory);
    std::unique_ptr<llvm::MCAsmBackend> backend(target->createMCAsmBackend(*subtarget_, *registers_, options_));
    std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(out_);
    std::unique_ptr<llvm::MCCodeEmitter> emitter(target->createMCCodeEmitter(*instructions_, *context_));
    stream_.reset(target->createMCObjectStreamer(triple, *context_, std::move(backend), std::move(writer),
                                                 std::move(emitter), *subtarget_));
    return Unit{};
  }

  bool hasLines() const {
    return std::any_of(in_.functions.begin(), in_.functions.end(), [](const auto& f) { return !f.listing.empty(); });
  }

  void emit(const std::vector<std::byte>& bytes, std::size_t begin, std::size_t end) {
    if (begin < end)
      stream_->emitBytes(llvm::StringRef(reinterpret_cast<const char*>(bytes.data()) + begin, end - begin));
  }

  Placed open(const std::string& name, llvm::MCSymbolAttr type) {
    stream_->emitCodeAlignment(llvm::Align(kAlign), subtarget_.get());
    Placed placed{context_->getOrCreateSymbol(name), context_->createTempSymbol()};
    stream_->emitSymbolAttribute(placed.begin, llvm::MCSA_Global);
    stream_->emitSymbolAttribute(placed.begin, type);
    stream_->emitLabel(placed.begin);
    return placed;
  }

  void close(const Placed& placed) {
    stream_->emitLabel(placed.end);
    stream_->emitELFSize(
        placed.begin, llvm::MCBinaryExpr::createSub(llvm::MCSymbolRefExpr::create(placed.end, *context_),
                                                    llvm::MCSymbolRefExpr::create(placed.begin, *context_), *context_));
  }

  void text() {
    stream_->switchSection(sections_->getTextSection());
    stream_->emitCFISections(!forDebugger_, forDebugger_);
    for (const ObjectFunction& f : in_.functions) {
      const Placed placed = open(f.symbol, llvm::MCSA_ELF_TypeFunction);
      if (!f.frame.empty()) stream_->emitCFIStartProc(false);
      body(f);
      if (!f.frame.empty()) stream_->emitCFIEndProc();
      close(placed);
      placed_.push_back(placed);
    }
    end_ = context_->createTempSymbol();
    stream_->emitLabel(end_);
  }

  // The bytes, cut where a line or a frame rule begins.
  void body(const ObjectFunction& f) {
    unsigned file = 0;
    if (!f.listing.empty()) {
      if (auto number = stream_->tryEmitDwarfFileDirective(0, in_.directory, f.listing))
        file = *number;
      else
        llvm::consumeError(number.takeError());
    }
    std::size_t at = 0, line = 0, step = 0;
    const auto offset = [](const auto& entry, std::size_t index) {
      if constexpr (requires { entry[0].at; })
        return index < entry.size() ? static_cast<std::size_t>(entry[index].at) : SIZE_MAX;
      else
        return index < entry.size() ? static_cast<std::size_t>(entry[index].first) : SIZE_MAX;
    };
    while (at < f.bytes.size()) {
      for (; offset(f.frame, step) <= at; ++step) frame(f.frame[step]);
      for (; offset(f.lines, line) <= at; ++line) {
        if (file != 0)
          stream_->emitDwarfLocDirective(file, static_cast<unsigned>(f.lines[line].second), 0, DWARF2_FLAG_IS_STMT, 0,
                                         0, f.listing);
      }
      const std::size_t next = std::min({f.bytes.size(), offset(f.frame, step), offset(f.lines, line)});
      emit(f.bytes, at, next);
      at = next;
    }
  }

  void frame(const FrameStep& step) {
    switch (step.op) {
      case FrameOp::kAddressOffset: stream_->emitCFIDefCfaOffset(step.offset); break;
      case FrameOp::kAddressRegister: stream_->emitCFIDefCfaRegister(step.reg); break;
      case FrameOp::kAddress: stream_->emitCFIDefCfa(step.reg, step.offset); break;
      case FrameOp::kSaved: stream_->emitCFIOffset(step.reg, step.offset); break;
      case FrameOp::kRestored: stream_->emitCFIRestore(step.reg); break;
    }
  }

  void tables() {
    if (in_.tables.empty()) return;
    stream_->switchSection(sections_->getReadOnlySection());
    for (const ObjectTable& t : in_.tables) {
      stream_->emitValueToAlignment(llvm::Align(kAlign));
      const Placed placed = open(t.symbol, llvm::MCSA_ELF_TypeObject);
      emit(t.bytes, 0, t.bytes.size());
      close(placed);
    }
  }

  // One compilation unit, and a subprogram a function, so that debuggers look into the line table.
  void debugEntries() {
    namespace dw = llvm::dwarf;
    llvm::MCSymbol* abbreviations = context_->createTempSymbol();
    stream_->switchSection(sections_->getDwarfAbbrevSection());
    stream_->emitLabel(abbreviations);
    const auto abbreviate = [&](unsigned code, unsigned tag, bool children,
                                std::initializer_list<std::pair<unsigned, unsigned>> attributes) {
      stream_->emitULEB128IntValue(code);
      stream_->emitULEB128IntValue(tag);
      stream_->emitIntValue(children ? dw::DW_CHILDREN_yes : dw::DW_CHILDREN_no, 1);
      for (const auto& [attribute, form] : attributes) {
        stream_->emitULEB128IntValue(attribute);
        stream_->emitULEB128IntValue(form);
      }
      stream_->emitIntValue(0, 2);
    };
    abbreviate(1, dw::DW_TAG_compile_unit, true,
               {{dw::DW_AT_producer, dw::DW_FORM_string},
                {dw::DW_AT_language, dw::DW_FORM_data2},
                {dw::DW_AT_name, dw::DW_FORM_string},
                {dw::DW_AT_comp_dir, dw::DW_FORM_string},
                {dw::DW_AT_stmt_list, dw::DW_FORM_sec_offset},
                {dw::DW_AT_low_pc, dw::DW_FORM_addr},
                {dw::DW_AT_high_pc, dw::DW_FORM_data8}});
    abbreviate(2, dw::DW_TAG_subprogram, false,
               {{dw::DW_AT_name, dw::DW_FORM_string},
                {dw::DW_AT_external, dw::DW_FORM_flag_present},
                {dw::DW_AT_low_pc, dw::DW_FORM_addr},
                {dw::DW_AT_high_pc, dw::DW_FORM_data8}});
    stream_->emitIntValue(0, 1);

    stream_->switchSection(sections_->getDwarfInfoSection());
    llvm::MCSymbol *begin = context_->createTempSymbol(), *end = context_->createTempSymbol();
    const auto string = [&](const std::string& text) {
      stream_->emitBytes(text);
      stream_->emitIntValue(0, 1);
    };
    stream_->emitAbsoluteSymbolDiff(end, begin, 4);
    stream_->emitLabel(begin);
    stream_->emitIntValue(kDwarfVersion, 2);
    stream_->emitSymbolValue(abbreviations, 4);
    stream_->emitIntValue(8, 1);
    stream_->emitULEB128IntValue(1);
    string("cubejit");
    stream_->emitIntValue(dw::DW_LANG_Mips_Assembler, 2);
    string(in_.name);
    string(in_.directory);
    stream_->emitSymbolValue(stream_->getDwarfLineTableSymbol(0), 4);
    stream_->emitSymbolValue(placed_.front().begin, 8);
    stream_->emitAbsoluteSymbolDiff(end_, placed_.front().begin, 8);
    for (std::size_t f = 0; f < in_.functions.size(); ++f) {
      stream_->emitULEB128IntValue(2);
      string(in_.functions[f].symbol);
      stream_->emitSymbolValue(placed_[f].begin, 8);
      stream_->emitAbsoluteSymbolDiff(placed_[f].end, placed_[f].begin, 8);
    }
    stream_->emitIntValue(0, 1);
    stream_->emitLabel(end);
  }

  const ObjectInput& in_;
  const bool forDebugger_;
  llvm::SmallVector<char, 0> bytes_;
  llvm::raw_svector_ostream out_;
  llvm::MCTargetOptions options_;
  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCAsmInfo> asm_;
  std::unique_ptr<llvm::MCInstrInfo> instructions_;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCObjectFileInfo> sections_;
  std::unique_ptr<llvm::MCStreamer> stream_;
  std::vector<Placed> placed_;
  llvm::MCSymbol* end_ = nullptr;
};

}  // namespace

Result<std::vector<std::byte>> writeObject(const ObjectInput& input) { return Writer(input, false).run(); }

Result<Code> rawOf(const Code& code) {
  if (code.format == CodeFormat::kRaw) return code;
  const llvm::StringRef view(reinterpret_cast<const char*>(code.bytes.data()), code.bytes.size());
  auto file = llvm::object::ELFFile<llvm::object::ELF64LE>::create(view);
  if (!file) return failed(llvm::toString(file.takeError()));
  auto sections = file->sections();
  if (!sections) return failed(llvm::toString(sections.takeError()));
  for (const auto& section : *sections) {
    if ((section.sh_flags & llvm::ELF::SHF_EXECINSTR) == 0 || section.sh_size == 0) continue;
    auto bytes = file->getSectionContents(section);
    if (!bytes) return failed(llvm::toString(bytes.takeError()));
    Code raw = code;
    raw.format = CodeFormat::kRaw;
    const auto* begin = reinterpret_cast<const std::byte*>(bytes->data());
    raw.bytes.assign(begin, begin + bytes->size());
    raw.instructionBytes = static_cast<std::int64_t>(bytes->size());
    return raw;
  }
  return failed(code.name + " has no section with code");
}

Result<std::vector<std::byte>> writeDebugObject(const ObjectInput& input, std::uint64_t address) {
  CUBEJIT_TRY(bytes, Writer(input, true).run());
  const llvm::StringRef view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  auto file = llvm::object::ELFFile<llvm::object::ELF64LE>::create(view);
  if (!file) return failed(llvm::toString(file.takeError()));
  auto sections = file->sections();
  if (!sections) return failed(llvm::toString(sections.takeError()));
  for (const auto& section : *sections) {
    auto name = file->getSectionName(section);
    if (!name) return failed(llvm::toString(name.takeError()));
    if (*name != ".text") continue;
    // The header lies inside `bytes`, which are ours to change.
    const auto at = reinterpret_cast<const std::byte*>(&section) - bytes.data();
    const std::uint64_t value = address;
    std::memcpy(bytes.data() + at + offsetof(llvm::object::ELF64LE::Shdr, sh_addr), &value, sizeof value);
  }
  return std::move(bytes);
}

}  // namespace cubejit
