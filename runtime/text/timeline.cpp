// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the text of traces and pictures, whatever the locale is.
#include "cubejit/timeline.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "runtime/text/timeline_text.h"
#include "runtime/text/whole_file.h"
#include "tiling/no_throw.h"

namespace cubejit {
namespace {

constexpr const char* kColours[kPipes] = {"#4878a8", "#6aa84f", "#c0504d", "#8064a2", "#d6a03c"};
constexpr int kColumns = 1000, kLine = 8, kLeft = 60, kRight = 60, kTop = 40, kAxis = 36;

double wholeCycles(const std::vector<TimelinePart>& parts) {
  double cycles = 0;
  for (const TimelinePart& part : parts) cycles += part.cycles;
  return cycles;
}

// When the first event begins; 0 without events.
double firstCycle(const std::vector<TimelinePart>& parts) {
  double first = wholeCycles(parts), before = 0;
  bool any = false;
  for (const TimelinePart& part : parts) {
    for (const TraceEvent& e : *part.events) {
      first = std::min(first, before + e.start);
      any = true;
    }
    before += part.cycles;
  }
  return any ? first : 0;
}

// The widest of 1, 2 and 5 times a power of ten that marks at least five places of the axis.
double tickOf(double cycles) {
  const double power = std::pow(10.0, std::floor(std::log10(cycles / 5)));
  return power * (cycles / 5 >= 5 * power ? 5 : cycles / 5 >= 2 * power ? 2 : 1);
}

// How much of each column of the picture, which begins at cycle `first`, each pipe of each core is busy.
std::vector<double> shades(const std::vector<TimelinePart>& parts, std::size_t cores, double first, double cycles) {
  std::vector<double> busy(cores * kPipes * kColumns);
  const double column = cycles / kColumns;
  double before = -first;
  for (const TimelinePart& part : parts) {
    for (const TraceEvent& e : *part.events) {
      double* line =
          busy.data() + (static_cast<std::size_t>(e.core) * kPipes + static_cast<std::size_t>(e.pipe)) * kColumns;
      const double start = (before + e.start) / column, end = (before + e.end) / column;
      for (auto x = static_cast<int>(start); x < std::min<int>(kColumns, static_cast<int>(std::ceil(end))); ++x)
        line[x] += std::max(0.0, std::min<double>(x + 1, end) - std::max<double>(x, start));
    }
    before += part.cycles;
  }
  return busy;
}

int shadeOf(double busy) { return std::min(10, static_cast<int>(std::ceil(busy * 10))); }

}  // namespace

namespace {

// The pipe as hardware events name it.
const char* hardwareName(const TraceEvent& e) {
  if (e.pipe == Pipe::kOut) return std::string_view(e.name) == "ub_to_gm" ? "MTE3" : "FIX";
  constexpr const char* kNames[kPipes] = {"MTE2", "MTE1", "M", "", "V"};
  return kNames[static_cast<std::size_t>(e.pipe)];
}

// An arrow from what is awaited to what waits.
void addWaits(const TimelinePart& part, double before, double scale, Text& out, std::int64_t& number) {
  const std::vector<TraceEvent>& events = *part.events;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const TraceEvent& to = events[i];
    if (to.back <= 0 || static_cast<std::size_t>(to.back) > i) continue;
    const TraceEvent& from = events[i - static_cast<std::size_t>(to.back)];
    const auto end = [&](const char* phase, const TraceEvent& e, double at) {
      out << ",\n"
          << R"({"ph":")" << phase << R"(","cat":"wait","id":)" << number << R"(,"name":")" << hardwareName(from) << "_"
          << hardwareName(to) << R"(","pid":)" << e.core << R"(,"tid":)" << static_cast<std::int64_t>(e.pipe)
          << R"(,"ts":)";
      out.fixed((before + at) * scale, 4) << "}";
    };
    end("s", from, from.end - 0.5);  // within it
    end(R"(f","bp":"e)", to, to.start);
    ++number;
  }
}

}  // namespace

std::string chromeTrace(const Machine& machine, const std::vector<TimelinePart>& parts) {
  const double scale = 1 / perMicrosecond(machine);
  const std::string name = plain(machine.name);
  Text out;
  out << R"({"displayTimeUnit":"ns","traceEvents":[)";
  const char* comma = "\n";
  for (std::int64_t core = 0; core < machine.cores; ++core) {
    out << comma << R"({"ph":"M","name":"process_name","pid":)" << core << R"(,"args":{"name":")" << name << " core "
        << core << R"("}})";
    comma = ",\n";
    for (std::size_t pipe = 0; pipe < kPipes; ++pipe)
      out << comma << R"({"ph":"M","name":"thread_name","pid":)" << core << R"(,"tid":)"
          << static_cast<std::int64_t>(pipe) << R"(,"args":{"name":")" << toString(static_cast<Pipe>(pipe)) << R"("}})";
  }
  double before = 0;
  std::int64_t waits = 0;
  for (const TimelinePart& part : parts) {
    for (const TraceEvent& e : *part.events) {
      out << comma << R"({"ph":"X","name":")" << e.name << R"(","cat":")" << plain(part.name) << R"(","pid":)" << e.core
          << R"(,"tid":)" << static_cast<std::int64_t>(e.pipe) << R"(,"ts":)";
      out.fixed((before + e.start) * scale, 4) << R"(,"dur":)";
      out.fixed((e.end - e.start) * scale, 4) << R"(,"args":{"cycles":)";
      out.fixed(e.end - e.start, 0) << ",\"" << (e.pipe == Pipe::kCube ? "steps" : "bytes") << "\":" << e.bytes << "}}";
    }
    addWaits(part, before, scale, out, waits);
    before += part.cycles;
  }
  out << "\n]}\n";
  return out.take();
}

std::string timelineSvg(const Machine& machine, const std::vector<TimelinePart>& parts) {
  const double whole = wholeCycles(parts), first = firstCycle(parts), cycles = std::max(1.0, whole - first);
  const auto cores = static_cast<std::size_t>(machine.cores);
  const std::vector<double> busy = shades(parts, cores, first, cycles);
  const std::int64_t pitch = kLine * static_cast<std::int64_t>(kPipes) + 6,
                     height = kTop + pitch * machine.cores + kAxis;
  Text out;
  out << R"(<svg xmlns="http://www.w3.org/2000/svg" width=")" << std::int64_t{kLeft + kColumns + kRight}
      << R"(" height=")" << height << R"(" viewBox="0 0 )" << std::int64_t{kLeft + kColumns + kRight} << " " << height
      << R"(" font-family="sans-serif" font-size="11">)"
      << "\n"
      << R"(<rect width="100%" height="100%" fill="white"/>)"
      << "\n"
      << R"(<text x=")" << std::int64_t{kLeft} << R"(" y="14">)" << plain(machine.name) << ": ";
  out.fixed(whole, 0) << " cycles, ";
  out.fixed(whole / perMicrosecond(machine), 1) << " us";
  if (first > 0) out.fixed(first, 0, "; the first event begins at cycle ");
  std::int64_t dropped = 0;
  for (const TimelinePart& part : parts) dropped += part.dropped;
  if (dropped > 0) out << "; " << dropped << " instructions beyond the trace's limit are not drawn";
  out << "</text>\n";
  for (std::size_t pipe = 0; pipe < kPipes; ++pipe) {
    const std::int64_t x = kLeft + static_cast<std::int64_t>(pipe) * 110;
    out << R"(<rect x=")" << x << R"(" y="20" width="10" height="10" fill=")" << kColours[pipe] << R"("/><text x=")"
        << x + 14 << R"(" y="29">)" << toString(static_cast<Pipe>(pipe)) << "</text>\n";
  }
  for (std::size_t core = 0; core < cores; ++core) {
    const std::int64_t top = kTop + pitch * static_cast<std::int64_t>(core);
    out << R"(<text x="4" y=")" << top + pitch / 2 << R"(">core )" << static_cast<std::int64_t>(core) << "</text>\n";
    for (std::size_t pipe = 0; pipe < kPipes; ++pipe) {
      const double* line = busy.data() + (core * kPipes + pipe) * kColumns;
      const std::int64_t y = top + std::int64_t{kLine} * static_cast<std::int64_t>(pipe);
      for (int x = 0; x < kColumns;) {  // runs of one shade
        const int shade = shadeOf(line[x]);
        int end = x + 1;
        while (end < kColumns && shadeOf(line[end]) == shade) ++end;
        if (shade > 0) {
          out << R"(<rect x=")" << std::int64_t{kLeft + x} << R"(" y=")" << y << R"(" width=")" << std::int64_t{end - x}
              << R"(" height=")" << std::int64_t{kLine - 1} << R"(" fill=")" << kColours[pipe] << R"(" fill-opacity=")";
          out.fixed(shade / 10.0, 1) << "\"/>\n";
        }
        x = end;
      }
    }
  }
  const std::int64_t axis = height - kAxis + 4;
  out << R"(<path d="M)" << std::int64_t{kLeft} << " " << axis << "h" << std::int64_t{kColumns}
      << "\" stroke=\"black\"/>\n<text x=\"4\" y=\"" << axis + 14 << "\">cycle</text><text x=\"4\" y=\"" << axis + 27
      << "\">\u00b5s</text>\n";
  const double tick = tickOf(cycles);
  for (double at = std::ceil(first / tick) * tick; at <= first + cycles; at += tick) {
    const auto x = static_cast<std::int64_t>(std::llround(kLeft + (at - first) / cycles * kColumns));
    out << R"(<path d="M)" << x << " " << axis << R"(v4" stroke="black"/><text text-anchor="middle" x=")" << x
        << R"(" y=")" << axis + 14 << "\">";
    out.fixed(at, tick < 1 ? 1 : 0) << R"(</text><text text-anchor="middle" x=")" << x << R"(" y=")" << axis + 27
                                    << "\">";
    out.fixed(at / perMicrosecond(machine), 2) << "</text>\n";
  }
  out << "</svg>\n";
  return out.take();
}

Status writeTimelines(const TimelineFiles& files, const Machine& machine, const std::vector<TimelinePart>& parts) {
  return withoutThrowing(Stage::kRun, [&]() -> Status {
    if (!files.trace.empty()) {
      CUBEJIT_RETURN_IF_ERROR(writeWholeFile(files.trace, chromeTrace(machine, parts)));
    }
    if (!files.timeline.empty()) {
      const bool page = files.timeline.size() >= 5 && files.timeline.substr(files.timeline.size() - 5) == ".html";
      CUBEJIT_TRY(drawn,
                  writeWholeFile(files.timeline, page ? timelinePage(machine, parts) : timelineSvg(machine, parts)));
      static_cast<void>(drawn);
    }
    return Unit{};
  });
}

}  // namespace cubejit
