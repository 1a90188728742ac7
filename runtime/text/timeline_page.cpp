// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a timeline's page knows: a row of numbers an event. Leaves showing them to timeline_page.html.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "cubejit/describe_counts.h"
#include "cubejit/timeline.h"
#include "runtime/text/timeline_page_text.h"
#include "runtime/text/timeline_text.h"

namespace cubejit {
namespace {

constexpr std::int64_t kMostEvents = 200'000;  // some ten megabytes

// The numbers of the first events of all parts, by core: see W in the page. Says how many there were.
std::int64_t addEvents(const Machine& machine, const std::vector<TimelinePart>& parts,
                       std::map<std::string, std::int64_t>& names, Text& out) {
  std::vector<std::size_t> next(parts.size());  // events are by core in each part
  std::int64_t all = 0, shown = 0;
  for (const TimelinePart& part : parts) all += std::ssize(*part.events);
  for (std::int64_t core = 0; core < machine.cores && shown < kMostEvents; ++core) {
    out << (core == 0 ? "\n[" : ",\n[");
    const char* comma = "";
    double before = 0;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const std::vector<TraceEvent>& events = *parts[p].events;
      for (std::size_t& i = next[p]; i < events.size() && events[i].core == core; ++i) {
        if (shown >= kMostEvents) continue;
        ++shown;
        const TraceEvent& e = events[i];
        const auto whole = [&](double cycles) { return static_cast<std::int64_t>(std::llround(before + cycles)); };
        const auto name = names.try_emplace(e.name, std::ssize(names)).first->second;
        out << comma;
        comma = ",";
        for (const std::int64_t number :
             {static_cast<std::int64_t>(e.pipe), name, whole(e.start), whole(e.end) - whole(e.start), e.bytes,
              std::int64_t{e.back}, std::int64_t{e.task}, static_cast<std::int64_t>(e.buffer), e.held, whole(e.until)})
          out << number << ",";
        out << static_cast<std::int64_t>(p);
      }
      before += parts[p].cycles;
    }
    out << "]";
  }
  return all - shown;
}

}  // namespace

std::string timelinePage(const Machine& machine, const std::vector<TimelinePart>& parts) {
  Text events, out;
  std::map<std::string, std::int64_t> names;
  const std::int64_t left = addEvents(machine, parts, names, events);
  out << R"({"machine":")" << plain(machine.name) << R"(","mhz":)";
  out.fixed(perMicrosecond(machine), 3) << R"(,"cores":)" << std::int64_t{machine.cores} << R"(,"left":)" << left
                                        << R"(,"rates":{"read":)";
  out.fixed(machine.npu.paths.l2Read, 3) << R"(,"write":)";
  out.fixed(machine.npu.paths.l2Write, 3) << "},\"pipes\":[";
  for (std::size_t p = 0; p < kPipes; ++p) out << (p == 0 ? "\"" : ",\"") << toString(static_cast<Pipe>(p)) << "\"";
  out << "],\"buffers\":[";
  for (std::size_t b = 0; b < kCoreBuffers; ++b) {
    const auto buffer = static_cast<CoreBuffer>(b);
    out << (b == 0 ? "" : ",") << R"({"name":")" << toString(buffer) << R"(","bytes":)"
        << std::max<std::int64_t>(1, capacityOf(machine.buffers, buffer)) << "}";
  }
  out << "],\"names\":[";
  std::vector<std::string> ordered(names.size());
  for (const auto& [name, number] : names) ordered[static_cast<std::size_t>(number)] = name;
  for (const std::string& name : ordered) out << (&name == &ordered.front() ? "\"" : ",\"") << plain(name) << "\"";
  out << "],\"parts\":[";
  for (const TimelinePart& part : parts) {
    out << (&part == &parts.front() ? "" : ",") << R"({"name":")" << plain(part.name) << R"(","cycles":)";
    out.fixed(part.cycles, 0) << R"(,"traced":)" << std::ssize(*part.events) << R"(,"dropped":)" << part.dropped << "}";
  }
  out << "],\"events\":[" << events.take() << "]}";
  std::string page = kTimelinePage;
  const std::string marker = "@DATA@";
  page.replace(page.find(marker), marker.size(), out.take());
  return page;
}

}  // namespace cubejit
