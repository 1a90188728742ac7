// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "runtime/explore/point_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/explore/point.h"
#include "runtime/text/json_object.h"
#include "runtime/text/text_file.h"

namespace cubejit {
namespace {

constexpr std::size_t kMostOfLine = std::size_t{64} << 20;  // a point tells of every problem of a suite

}  // namespace

Status PointFile::open(const std::string& path, const Json& request, std::vector<Json>& points) {
  path_ = path;
  if (path.empty()) return Unit{};
  std::error_code ignored;
  std::size_t kept = 0;  // bytes
  const bool device = std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored);
  if (!device) {
    lock_ = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (!lock_) return cannot();
    if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      return Error{ErrorCode::kIo, Stage::kRun,
                   printable(path) + " is in use by another exploration; wait for it, or name another file"};
    CUBEJIT_TRY(known, readKnown(request, points));
    kept = known;
  }
  const bool begun = kept > 0;
  if (begun && truncate(path.c_str(), static_cast<off_t>(kept)) != 0) return cannot();
  out_.open(path, std::ios::binary | (begun ? std::ios::app : std::ios::trunc));
  return begun ? (out_ ? Status(Unit{}) : Status(cannot())) : add(request);
}

Status PointFile::add(const Json& line) {
  if (path_.empty()) return Unit{};
  errno = 0;
  if (out_) out_ << oneLine(line) << "\n" << std::flush;
  return out_ ? Status(Unit{}) : Status(cannot());
}

Result<std::size_t> PointFile::readKnown(const Json& request, std::vector<Json>& points) const {
  CUBEJIT_TRY(in, TextLines::open(path_, "points of an exploration, one a line", Stage::kPlan, kMostOfLine));
  std::size_t kept = 0;
  std::string line;
  CUBEJIT_TRY(any, in.next(line));
  if (any && in.whole()) {
    const Json there = parseJson(line);
    if (!there.is_object() || there.value("schema", Json()) != request["schema"])
      return invalid("is no file of points; name another");
    for (const auto& [key, value] : request.items()) {
      if (there.value(key, Json()) != value)
        return invalid("holds another exploration: its '" + key + "' differs; name another file");
    }
    kept = in.end();
    // The last line may be cut off; it is asked again.
    for (;;) {
      CUBEJIT_TRY(more, in.next(line));
      if (!more || !in.whole()) break;
      Json point = parseJson(line);
      if (!isExploredPoint(point) || !point.contains("point") ||
          !isWholeWithin(point["point"], 0, static_cast<std::int64_t>(points.size()) - 1))
        return invalid("has a line that is no point: " + line.substr(0, 80) + "; remove it, or name another file");
      kept = in.end();
      const auto place = point["point"].get<std::size_t>();
      points[place] = std::move(point);
    }
  } else if (any && line.rfind("{\"schema\":\"cubejit.explore/", 0) != 0) {
    return invalid("is no file of points; name another");
  }
  return kept;
}

Error PointFile::cannot() const {
  const std::string why = errno == 0 ? "" : std::string(": ") + std::strerror(errno);
  return Error{ErrorCode::kIo, Stage::kRun, "cannot write " + printable(path_) + why};
}

Error PointFile::invalid(const std::string& what) const {
  return invalidInput(printable(path_ + " " + what), Stage::kPlan);
}

}  // namespace cubejit
