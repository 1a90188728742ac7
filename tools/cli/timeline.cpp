// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the text of traces and pictures.
#include "timeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace cubejit::cli {
namespace {

constexpr const char* kColours[kPipes] = {"#4878a8", "#6aa84f", "#c0504d", "#8064a2", "#d6a03c"};
constexpr int kColumns = 1000, kLine = 8, kLeft = 60, kTop = 40;

double perMicrosecond(const Machine& m) { return m.npu.mhz > 0 ? m.npu.mhz : 1; }

double wholeCycles(const std::vector<TimelinePart>& parts) {
  double cycles = 0;
  for (const TimelinePart& part : parts) cycles += part.report->cycles;
  return cycles;
}

// How much of each column of the picture each pipe of each core is busy.
std::vector<double> shades(const std::vector<TimelinePart>& parts, std::size_t cores, double cycles) {
  std::vector<double> busy(cores * kPipes * kColumns);
  const double column = cycles / kColumns;
  double before = 0;
  for (const TimelinePart& part : parts) {
    for (const TraceEvent& e : part.report->trace) {
      double* line =
          busy.data() + (static_cast<std::size_t>(e.core) * kPipes + static_cast<std::size_t>(e.pipe)) * kColumns;
      const double start = (before + e.start) / column, end = (before + e.end) / column;
      for (auto x = static_cast<int>(start); x < std::min<int>(kColumns, static_cast<int>(std::ceil(end))); ++x)
        line[x] += std::max(0.0, std::min<double>(x + 1, end) - std::max<double>(x, start));
    }
    before += part.report->cycles;
  }
  return busy;
}

}  // namespace

std::string chromeTrace(const Machine& machine, const std::vector<TimelinePart>& parts) {
  const double scale = 1 / perMicrosecond(machine);
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  auto to = std::back_inserter(out);
  for (int core = 0; core < machine.cores; ++core) {
    fmt::format_to(to,
                   "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{0},\"args\":{{\"name\":\"{1} core {0}\"}}}},\n",
                   core, machine.name);
    for (std::size_t pipe = 0; pipe < kPipes; ++pipe)
      fmt::format_to(to,
                     "{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":\"{}\"}}}},\n",
                     core, pipe, toString(static_cast<Pipe>(pipe)));
  }
  double before = 0;
  for (const TimelinePart& part : parts) {
    for (const TraceEvent& e : part.report->trace)
      fmt::format_to(to,
                     "{{\"ph\":\"X\",\"name\":\"{}\",\"cat\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{:.4f},\"dur\":{:.4f},"
                     "\"args\":{{\"cycles\":{:.0f},\"{}\":{}}}}},\n",
                     e.name, part.name, e.core, static_cast<int>(e.pipe), (before + e.start) * scale,
                     (e.end - e.start) * scale, e.end - e.start, e.pipe == Pipe::kCube ? "steps" : "bytes", e.bytes);
    before += part.report->cycles;
  }
  if (out.size() > 2 && out[out.size() - 2] == ',') out.erase(out.size() - 2, 1);
  return out + "]}\n";
}

std::string timelineSvg(const Machine& machine, const std::vector<TimelinePart>& parts) {
  const double cycles = std::max(1.0, wholeCycles(parts));
  const auto cores = static_cast<std::size_t>(machine.cores);
  const std::vector<double> busy = shades(parts, cores, cycles);
  const int pitch = kLine * static_cast<int>(kPipes) + 6, height = kTop + pitch * machine.cores + 20;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" "
      "font-size=\"11\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      kLeft + kColumns + 20, height);
  auto to = std::back_inserter(out);
  fmt::format_to(to, "<text x=\"{}\" y=\"14\">{}: {:.0f} cycles, {:.1f} us</text>\n", kLeft, machine.name, cycles,
                 cycles / perMicrosecond(machine));
  for (std::size_t pipe = 0; pipe < kPipes; ++pipe) {
    const int x = kLeft + static_cast<int>(pipe) * 110;
    fmt::format_to(
        to, "<rect x=\"{}\" y=\"20\" width=\"10\" height=\"10\" fill=\"{}\"/><text x=\"{}\" y=\"29\">{}</text>\n", x,
        kColours[pipe], x + 14, toString(static_cast<Pipe>(pipe)));
  }
  for (std::size_t core = 0; core < cores; ++core) {
    const int top = kTop + pitch * static_cast<int>(core);
    fmt::format_to(to, "<text x=\"4\" y=\"{}\">core {}</text>\n", top + pitch / 2, core);
    for (std::size_t pipe = 0; pipe < kPipes; ++pipe) {
      const double* line = busy.data() + (core * kPipes + pipe) * kColumns;
      const int y = top + kLine * static_cast<int>(pipe);
      for (int x = 0; x < kColumns;) {  // runs of one shade
        const int shade = std::min(10, static_cast<int>(std::ceil(line[x] * 10)));
        int end = x + 1;
        while (end < kColumns && std::min(10, static_cast<int>(std::ceil(line[end] * 10))) == shade) ++end;
        if (shade > 0)
          fmt::format_to(to,
                         "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" fill-opacity=\"{:.1f}\"/>\n",
                         kLeft + x, y, end - x, kLine - 1, kColours[pipe], shade / 10.0);
        x = end;
      }
    }
  }
  return out + "</svg>\n";
}

}  // namespace cubejit::cli
