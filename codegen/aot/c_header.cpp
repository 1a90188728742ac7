// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the text. Each phase becomes one function that runs one of its tasks; name_run runs them all on the calling thread.
#include "codegen/aot/c_header.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "codegen/aot/tables.h"
#include "codegen/text/text_stream.h"
#include "codegen/tile/print.h"
#include "codegen/tile/walk.h"
#include "codegen/tile/workspace.h"

namespace cubejit {
namespace {

// What C compilers know of the CPU they run on; of AArch64 the system says it (Linux, arch/arm64/include/uapi/asm/hwcap.h).
const char* cpuTest(IsaLevel level) {
  switch (level) {
    case IsaLevel::kAvx2: return "__builtin_cpu_supports(\"avx2\") && __builtin_cpu_supports(\"fma\")";
    case IsaLevel::kAvx512:
      return "__builtin_cpu_supports(\"avx512f\") && __builtin_cpu_supports(\"avx512bw\") &&\n"
             "         __builtin_cpu_supports(\"avx512dq\") && __builtin_cpu_supports(\"avx512vl\")";
    case IsaLevel::kAvx512Bf16:
      return "__builtin_cpu_supports(\"avx512f\") && __builtin_cpu_supports(\"avx512bw\") &&\n"
             "         __builtin_cpu_supports(\"avx512dq\") && __builtin_cpu_supports(\"avx512vl\") &&\n"
             "         __builtin_cpu_supports(\"avx512bf16\")";
    case IsaLevel::kAvx512Amx: return "cubejit_has_tiles(0)";
    case IsaLevel::kAvx512AmxFp16: return "cubejit_has_tiles(1)";
    case IsaLevel::kNeon: return "1";
    case IsaLevel::kSve256: break;
  }
  return "(getauxval(AT_HWCAP) >> 22 & 1) != 0 && (prctl(51) & 0xffff) == 32"; /* HWCAP_SVE; PR_SVE_GET_VL in bytes */
}

// Words of C and C++, of their usual macros, and of the functions whose parameters tensors are.
constexpr std::string_view kTaken[] = {
    "alignas",  "alignof",   "and",      "and_eq",    "asm",       "auto",          "bitand",
    "bitor",    "bool",      "break",    "case",      "catch",     "char",          "class",
    "compl",    "concept",   "const",    "consteval", "constexpr", "constinit",     "continue",
    "co_await", "co_return", "co_yield", "decltype",  "default",   "delete",        "do",
    "double",   "else",      "enum",     "explicit",  "export",    "extern",        "false",
    "float",    "for",       "friend",   "goto",      "if",        "inline",        "int",
    "linux",    "long",      "m",        "mutable",   "namespace", "new",           "noexcept",
    "not",      "not_eq",    "nullptr",  "operator",  "or",        "or_eq",         "phase",
    "private",  "protected", "public",   "register",  "requires",  "restrict",      "return",
    "short",    "signed",    "size_t",   "sizeof",    "static",    "static_assert", "struct",
    "switch",   "task",      "template", "this",      "thread",    "thread_local",  "throw",
    "true",     "try",       "typedef",  "typeid",    "typename",  "typeof",        "union",
    "unix",     "unsigned",  "using",    "virtual",   "void",      "volatile",      "wchar_t",
    "while",    "workspace", "xor",      "xor_eq",    "NULL"};

std::string include(const char* header) { return std::string("#include <") + header + ">\n"; }

// Asks the CPU (Intel's manual, CPUID leaf 7) and, once that says yes, Linux for the right to use tiles (its Documentation/arch/x86/xstate.rst).
std::string hasTiles() {
  return "#ifndef CUBEJIT_HAS_TILES\n#define CUBEJIT_HAS_TILES\n" + include("cpuid.h") + include("sys/syscall.h") +
         include("unistd.h") +
         R"(static inline int cubejit_has_tiles(int f16) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__builtin_cpu_supports("avx512bf16") || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d >> 22 & 5) != 5) return 0;
  if (f16 && (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || !(a >> 21 & 1))) return 0;
  return syscall(SYS_arch_prctl, 0x1023, 18L) == 0;
}
#endif
)";
}

class Header {
 public:
  explicit Header(const CHeaderInput& in)
      : in_(in), p_(in.program), tables_(aotTables(in.program)), workspace_(workspaceOf(in.program)), n_(in.prefix) {
    for (const char c : n_) upper_ += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }

  std::string run() {
    top();
    kernels();
    memory();
    for (std::size_t i = 0; i < p_.phases.size(); ++i) phase(i);
    runner();
    o_ << "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
    return o_.str();
  }

 private:
  // What the caller brings, operands before results.
  std::vector<std::size_t> tensors() const {
    std::vector<std::size_t> out;
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) {
      if (at(b).isCallers()) out.push_back(b);
    }
    std::stable_sort(out.begin(), out.end(), [&](std::size_t x, std::size_t y) { return at(x).use < at(y).use; });
    return out;
  }
  const Buffer& at(std::size_t buffer) const { return p_.buffers[buffer]; }
  bool isResult(std::size_t buffer) const { return at(buffer).use == Buffer::Use::kOutput; }

  const CTensor& tensorOf(std::size_t buffer) const {
    std::size_t callers = 0;
    for (std::size_t b = 0; b < buffer; ++b) callers += p_.buffers[b].isCallers() ? 1 : 0;
    return in_.tensors[callers];
  }

  // A tensor's name, but for what C or the functions below call something else.
  std::string nameOf(std::size_t buffer) const {
    std::string name = at(buffer).name;
    while (isTaken(name, buffer)) name += '_';
    return name;
  }
  bool isTaken(const std::string& name, std::size_t buffer) const {
    if (std::find(std::begin(kTaken), std::end(kTaken), name) != std::end(kTaken)) return true;
    if (name == at(buffer).name) return false;
    return std::any_of(p_.buffers.begin(), p_.buffers.end(), [&](const Buffer& b) { return b.boundName() == name; });
  }

  std::string parameters(bool types) const {
    std::string text;
    for (const std::size_t b : tensors()) {
      text += text.empty() ? "" : ", ";
      if (types) text += std::string(isResult(b) ? "" : "const ") + tensorOf(b).type + "* ";
      text += nameOf(b);
    }
    return text;
  }

  void top() {
    o_ << "/* " << n_ << "\n *\n";
    for (const std::string& line : in_.about) o_ << " * " << line << "\n";
    o_ << " *\n * Link it with " << n_ << ".o" << (in_.objectPerKernel ? " and the k*.o beside it" : "")
       << "; nothing else is needed. Made by cubejit " << in_.version << " for " << toString(in_.isa.level) << ".\n *\n"
       << " *   if (!" << n_ << "_supported()) ...                 this CPU lacks " << toString(in_.isa.level) << "\n"
       << " *   void* workspace = aligned_alloc(64, " << upper_ << "_WORKSPACE_BYTES(1));\n"
       << " *   " << n_ << "_run(" << parameters(false) << ", workspace);\n *\n"
       << " * Tensors:\n";
    for (const std::size_t b : tensors()) {
      o_ << " *   " << at(b).name << ": " << tensorOf(b).about << ", " << p_.buffers[b].bytes << " bytes, "
         << (isResult(b) ? "written" : "read") << "\n";
    }
    o_ << " * The last index is the fastest. Results must not overlap operands or the workspace.\n *\n"
       << " * On several threads: bind the buffers once per thread, each with a number of its own, and let the threads "
          "share the\n"
       << " * tasks of one phase after the other, with a barrier between phases:\n"
       << " *\n"
       << " *   " << n_ << "_memory m = " << n_ << "_bind(" << parameters(false) << ", workspace, thread);\n"
       << " *   for (int phase = 0; phase < " << upper_ << "_PHASES; ++phase) {\n"
       << " *     for (every task in 0 .. " << n_ << "_tasks(phase) - 1 that is this thread's) " << n_
       << "_task(&m, phase, task);\n"
       << " *     barrier();\n"
       << " *   }\n *\n"
       << " * The workspace then takes " << upper_
       << "_WORKSPACE_BYTES(threads), 64-byte aligned. Sums have one order: results are the\n"
       << " * same in every bit for any number of threads.\n */\n"
       << "#ifndef " << upper_ << "_H\n#define " << upper_ << "_H\n\n#include <stddef.h>\n#include <stdint.h>\n"
       << (in_.isa.level == IsaLevel::kSve256 ? include("sys/auxv.h") + include("sys/prctl.h") : "")
       << (in_.isa.matrixUnit() != nullptr ? hasTiles() : "") << "\n"
       << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  }

  void kernels() {
    o_ << "/* What a kernel is called with: pointers to its operands a and b and its result c, a list, how often "
          "to repeat the whole\n"
       << " * with a, b and c moved by so many bytes. accumulate = 1 takes in what is in c. Some kernels "
          "copy what they load\n"
       << " * through b to d, for others to read; others read a second operand there, and a third so many bytes from c "
          "as "
          "residual says. A list says, per section of the kernel,\n"
       << " * how many segments follow; a segment is three words: bytes to add to a, bytes to add to b, iterations. "
          "*/\n"
       << "typedef struct " << n_ << "_args {\n  const void *a, *b;\n  void* c;\n  const int64_t* list;\n"
       << "  int64_t repeat, a_repeat, b_repeat, c_repeat, accumulate;\n  void* d;\n  int64_t residual, d_repeat;\n} "
       << n_ << "_args;\n\n";
    for (std::size_t k = 0; k < p_.kernels.size(); ++k) {
      std::string about = print(p_.kernels[k], Detail::kSummary);
      about = about.substr(0, about.find('\n'));
      o_ << "void " << aotKernelSymbol(n_, k) << "(const " << n_ << "_args*); /* " << about << " */\n";
    }
    o_ << "\nextern const int64_t " << n_ << "_tables[]; /* " << tables_.words.size()
       << " words: lists, steps of loops, variants of calls */\n";
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) {
      if (at(b).use == Buffer::Use::kConstant)
        o_ << "extern const float " << aotConstantSymbol(n_, p_.buffers[b]) << "[];\n";
    }
    o_ << "\n";
  }

  void memory() {
    o_ << "#define " << upper_ << "_PHASES " << p_.phases.size() << "\n"
       << "#define " << upper_ << "_WORKSPACE_BYTES(threads) ((size_t)"
       << std::max<std::int64_t>(workspace_.bytes.shared, 64) << " + (size_t)(threads) * " << workspace_.bytes.perThread
       << ")\n\n"
       << "typedef struct " << n_ << "_memory {\n  char* at[" << p_.buffers.size() << "]; /*";
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) o_ << (b == 0 ? " " : ", ") << p_.buffers[b].name;
    o_ << " */\n} " << n_ << "_memory;\n\n"
       << "/* Where the program's buffers are for one thread; `thread` numbers the threads from 0. */\n"
       << "static inline " << n_ << "_memory " << n_ << "_bind(" << parameters(true)
       << ", void* workspace, int thread) {\n"
       << "  " << n_ << "_memory m;\n";
    if (workspace_.bytes.shared + workspace_.bytes.perThread == 0) o_ << "  (void)workspace;\n";
    if (workspace_.bytes.perThread == 0) o_ << "  (void)thread;\n";
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) {
      o_ << "  m.at[" << b << "] = ";
      if (at(b).isCallers())
        o_ << "(char*)" << nameOf(b) << ";\n";
      else if (at(b).use == Buffer::Use::kConstant)
        o_ << "(char*)" << aotConstantSymbol(n_, p_.buffers[b]) << ";\n";
      else if (at(b).use == Buffer::Use::kShared)
        o_ << "(char*)workspace + " << workspace_.offset[b] << "; /* " << p_.buffers[b].name << " */\n";
      else
        o_ << "(char*)workspace + " << workspace_.bytes.shared << " + (size_t)thread * " << workspace_.bytes.perThread
           << " + " << workspace_.offset[b] << "; /* " << p_.buffers[b].name << ", this thread's */\n";
    }
    o_ << "  return m;\n}\n\n"
       << "/* Calls a kernel. `variant` is {kernel, list, accumulate}; `repeat` is {times, bytes a, b and c move by}. "
          "*/\n"
       << "static inline void " << n_
       << "_call(const int64_t* variant, char* a, char* b, char* c, char* d, int64_t times, int64_t a_step,\n"
       << "                        int64_t b_step, int64_t c_step, int64_t residual, int64_t d_step) {\n"
       << "  static void (*const kernels[])(const " << n_ << "_args*) = {";
    for (std::size_t k = 0; k < p_.kernels.size(); ++k) o_ << (k == 0 ? "" : ", ") << aotKernelSymbol(n_, k);
    o_ << "};\n  " << n_ << "_args args;\n  if (variant[0] < 0) return;\n"
       << "  args.a = a;\n  args.b = b;\n  args.c = c;\n"
       << "  args.list = variant[1] < 0 ? (const int64_t*)0 : " << n_ << "_tables + variant[1];\n"
       << "  args.repeat = times;\n  args.a_repeat = a_step;\n  args.b_repeat = b_step;\n  args.c_repeat = c_step;\n"
       << "  args.accumulate = variant[2];\n  args.d = d;\n  args.residual = residual;\n  args.d_repeat = d_step;\n  "
          "kernels[variant[0]](&args);\n}\n\n";
  }

  void phase(std::size_t index) {
    phase_ = &p_.phases[index];
    names_.clear();
    number_ = index;
    calls_ = choices_ = 0;
    const Phase& ph = *phase_;
    o_ << "/* Phase " << index << ", " << ph.name << ": " << taskCount(ph) << (taskCount(ph) == 1 ? " task" : " tasks");
    for (const int a : ph.parallelAxes)
      o_ << (a == ph.parallelAxes.front() ? " over " : " x ") << ph.axes[static_cast<std::size_t>(a)].name;
    o_ << ". Pointers:";
    for (const Stream& s : ph.streams)
      o_ << " " << s.name << " = " << p_.buffers[static_cast<std::size_t>(s.buffer)].name
         << (s.offset < 0 ? " - " : " + ") << (s.offset < 0 ? -s.offset : s.offset);
    o_ << ". */\nstatic inline void " << n_ << "_phase" << index << "(const " << n_ << "_memory* m, int64_t task) {\n"
       << "  const int64_t* const t = " << n_ << "_tables;\n  int64_t rest = task;\n";
    for (std::size_t s = 0; s < ph.streams.size(); ++s)
      o_ << "  char* " << pointer(s, 0) << " = m->at[" << ph.streams[s].buffer << "] + " << ph.streams[s].offset
         << ";\n";
    for (auto a = ph.parallelAxes.rbegin(); a != ph.parallelAxes.rend(); ++a) {
      const std::size_t steps = ph.axes[static_cast<std::size_t>(*a)].steps.size();
      o_ << "  const int64_t* const " << step(*a) << " = t + " << placeOf(*a).steps << " + rest % " << steps << " * "
         << stepWords(ph) << "; /* " << ph.axes[static_cast<std::size_t>(*a)].name << " */\n  rest /= " << steps
         << ";\n";
      for (std::size_t s = 0; s < ph.streams.size(); ++s) {
        if (moves(*a, s)) o_ << "  " << pointer(s, 0) << " += " << step(*a) << "[" << 2 + s << "];\n";
      }
    }
    o_ << "  (void)rest;\n";
    TextStream before;
    before.swap(o_);
    nodes(ph.body, 1, 0, -1);
    const std::string body = o_.str();
    o_.swap(before);
    const auto isRead = [&](int axis) { return moves(axis) || body.find(step(axis) + "[") != std::string::npos; };
    for (const int a : ph.parallelAxes) {
      if (!isRead(a)) o_ << "  (void)" << step(a) << "; /* its tasks differ in nothing that is looked up */\n";
    }
    for (std::size_t s = 0; s < ph.streams.size(); ++s) {
      if (!names(body, pointer(s, 0))) o_ << "  (void)" << pointer(s, 0) << "; /* it is not used */\n";
    }
    o_ << body << "}\n\n";
  }

  // Whether the name stands in the text, as a whole or as the beginning of that of a deeper loop.
  static bool names(const std::string& text, const std::string& name) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
      const std::size_t end = at + name.size();
      if (end == text.size() || std::isdigit(static_cast<unsigned char>(text[end])) == 0) return true;
    }
    return false;
  }

  static std::string pointer(std::size_t stream, int depth) {
    return "p" + std::to_string(stream) + (depth == 0 ? "" : "_" + std::to_string(depth));
  }
  std::string step(int axis) const { return "s" + std::to_string(axis); }
  const AotTables::AxisPlace& placeOf(int axis) const { return tables_.axes[number_][static_cast<std::size_t>(axis)]; }

  bool moves(int axis) const {
    for (std::size_t s = 0; s < phase_->streams.size(); ++s) {
      if (moves(axis, s)) return true;
    }
    return false;
  }

  bool moves(int axis, std::size_t stream) const {
    const auto& steps = phase_->axes[static_cast<std::size_t>(axis)].steps;
    return std::any_of(steps.begin(), steps.end(), [&](const AxisStep& s) { return deltaOf(s.delta, stream) != 0; });
  }

  void nodes(const std::vector<Node>& body, int indent, int depth, int innermost) {
    const std::string in(static_cast<std::size_t>(indent) * 2, ' ');
    for (const Node& node : body) {
      if (node.isCall()) {
        call(node.call, in, innermost);
        continue;
      }
      if (node.axis < 0) {
        choice(node, indent, depth, innermost);
        continue;
      }
      const Axis& axis = phase_->axes[static_cast<std::size_t>(node.axis)];
      const std::string i = "i" + std::to_string(node.axis);
      std::string begin = "0", end = std::to_string(axis.steps.size());
      if (axis.windowAxis >= 0) {
        const std::string window =
            "t[" + std::to_string(placeOf(node.axis).windows) + " + 2 * " + step(axis.windowAxis) + "[0]";
        begin = window + "]";
        end = window + " + 1]";
      }
      o_ << in << "for (int64_t " << i << " = " << begin << "; " << i << " < " << end << "; ++" << i << ") { /* "
         << axis.name << " */\n"
         << in << "  const int64_t* const " << step(node.axis) << " = t + " << placeOf(node.axis).steps << " + " << i
         << " * " << stepWords(*phase_) << ";\n"
         << in << "  (void)" << step(node.axis) << ";\n";
      // A pointer that the loop moves is shadowed by a moved copy of its own name.
      std::vector<std::string> before = names_;
      names_.resize(std::max(names_.size(), phase_->streams.size()));
      for (std::size_t s = 0; s < phase_->streams.size(); ++s) {
        if (names_[s].empty()) names_[s] = pointer(s, 0);
        if (!moves(node.axis, s)) continue;
        const std::string moved = pointer(s, depth + 1);
        o_ << in << "  char* const " << moved << " = " << names_[s] << " + " << step(node.axis) << "[" << 2 + s
           << "];\n";
        names_[s] = moved;
      }
      nodes(node.body, indent + 1, depth + 1, node.axis);
      names_ = std::move(before);
      o_ << in << "}\n";
    }
  }

  // The number of the classes' combination; empty if there is one only.
  std::string number(const std::vector<int>& classAxes) const {
    std::string number;
    for (const int axis : classAxes) {
      if (phase_->axes[static_cast<std::size_t>(axis)].classes == 1) continue;
      const std::string digit = step(axis) + "[0]";
      number = number.empty()
                   ? digit
                   : "(" + number + ") * " + std::to_string(phase_->axes[static_cast<std::size_t>(axis)].classes) +
                         " + " + digit;
    }
    return number;
  }

  // Parts that combinations share are written once.
  void choice(const Node& node, int indent, int depth, int innermost) {
    const std::string in(static_cast<std::size_t>(indent) * 2, ' '), which = number(node.classAxes);
    const std::string at = "at" + std::to_string(choices_), end = "end" + std::to_string(choices_);
    const std::string window =
        "t + " + std::to_string(tables_.choices[number_][choices_++]) + (which.empty() ? "" : " + 2 * (" + which + ")");
    o_ << in << "for (int64_t " << at << " = (" << window << ")[0], " << end << " = (" << window << ")[1]; " << at
       << " < " << end << "; ++" << at << ") {\n"
       << in << "  switch (" << at << ") {\n";
    for (std::size_t i = 0; i < node.body.size(); ++i) {
      o_ << in << "    case " << i << ":\n";
      nodes({node.body[i]}, indent + 3, depth, innermost);
      o_ << in << "      break;\n";
    }
    o_ << in << "  }\n" << in << "}\n";
  }

  // The distance of two objects, as numbers.
  std::string residual() const {
    const auto at = [](int buffer) { return "(int64_t)(intptr_t)m->at[" + std::to_string(buffer) + "]"; };
    return p_.residual.addend < 0 ? "0" : at(p_.residual.addend) + " - " + at(p_.residual.result);
  }

  void call(const Call& c, const std::string& in, int innermost) {
    const std::string which = number(c.classAxes);
    const std::array<int, 4> streams = streamsOf(c);
    const auto at = [&](std::size_t operand) {
      if (streams[operand] < 0) return std::string("(char*)0");
      const auto s = static_cast<std::size_t>(streams[operand]);
      const std::int64_t offset = c.place.offset[operand];
      return (s < names_.size() && !names_[s].empty() ? names_[s] : pointer(s, 0)) +
             (offset == 0 ? "" : (offset < 0 ? " - " : " + ") + std::to_string(std::abs(offset)));
    };
    const auto repeat = [&](std::size_t operand) {
      if (c.place.repeat > 1) return std::to_string(c.place.repeatStep[operand]);
      return innermost < 0 || streams[operand] < 0
                 ? std::string("0")
                 : step(innermost) + "[" +
                       std::to_string(2 + phase_->streams.size() + static_cast<std::size_t>(streams[operand])) + "]";
    };
    const std::string times = c.place.repeat > 1 ? std::to_string(c.place.repeat)
                              : innermost < 0    ? "1"
                                                 : step(innermost) + "[1]";
    o_ << in << n_ << "_call(t + " << tables_.variants[number_][calls_++]
       << (which.empty() ? "" : " + 3 * (" + which + ")") << ", " << at(0) << ", " << at(1) << ", " << at(2) << ", "
       << at(3) << ", " << times << ", " << repeat(0) << ", " << repeat(1) << ", " << repeat(2) << ", " << residual()
       << ", " << repeat(3) << "); /* " << c.name << " */\n";
  }

  void runner() {
    o_ << "/* Tasks of a phase; they may run in any order, on any thread. */\nstatic inline int64_t " << n_
       << "_tasks(int phase) {\n"
       << "  static const int64_t tasks[] = {";
    for (std::size_t i = 0; i < p_.phases.size(); ++i) o_ << (i == 0 ? "" : ", ") << taskCount(p_.phases[i]);
    o_ << "};\n  return tasks[phase];\n}\n\nstatic inline void " << n_ << "_task(const " << n_
       << "_memory* m, int phase, int64_t task) {\n  switch (phase) {\n";
    for (std::size_t i = 0; i < p_.phases.size(); ++i)
      o_ << "    case " << i << ": " << n_ << "_phase" << i << "(m, task); break;\n";
    o_ << "    default: break;\n  }\n}\n\n/* 1 if this CPU has what the kernels use. */\nstatic inline int " << n_
       << "_supported(void) {\n  return " << cpuTest(in_.isa.level)
       << ";\n}\n\n/* Everything, on the calling thread. The workspace is " << upper_
       << "_WORKSPACE_BYTES(1) bytes, 64-byte aligned. */\nstatic inline void " << n_ << "_run(" << parameters(true)
       << ", void* workspace) {\n  const " << n_ << "_memory m = " << n_ << "_bind(" << parameters(false)
       << ", workspace, 0);\n  for (int phase = 0; phase < " << upper_ << "_PHASES; ++phase) {\n"
       << "    for (int64_t task = 0; task < " << n_ << "_tasks(phase); ++task) " << n_
       << "_task(&m, phase, task);\n  }\n}\n\n";
  }

  const CHeaderInput& in_;
  const TileProgram& p_;
  const AotTables tables_;
  const WorkspaceLayout workspace_;
  const std::string n_;
  std::string upper_;
  TextStream o_;
  const Phase* phase_ = nullptr;
  std::size_t number_ = 0, calls_ = 0, choices_ = 0;
  std::vector<std::string> names_;
};

}  // namespace

std::string cHeader(const CHeaderInput& input) { return Header(input).run(); }

}  // namespace cubejit
