// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of any file that is to be a store of tuning records: it is refused, set aside or read; what is read can be written again, and a store
// that is opened to be written takes a record and has it.
#include "runtime/tuning/store.h"

#include <sys/stat.h>

#include <filesystem>

#include "runtime/json_record.h"
#include "tests/fuzz/target.h"

using namespace cubejit;

namespace {

const TuneRecord& someRecord() {
  static const TuneRecord record = [] {
    const auto read = recordFromJson(
        R"({"schema":"cubejit.record/1","name":"","problem":{"rank":1},"gradient":"db","machine":"m","backend":"xbyak","threads":1,)"
        R"("version":"v","code":"c","plan":{"version":2,"gradient":"db","algorithm":"bias"},)"
        R"("cost":{"total":1,"compute":1,"memory":1,"move":1,"call":1},"status":"measured","won":true,"verified":true,)"
        R"("untuned":false,"relative":0.5,"samples_ns":[7],"message":"","run":"fuzz","time":4000000000})");
    fuzz::hold(read.ok(), "the target's own record is one", read.ok() ? "" : read.error().message);
    return *read;
  }();
  return record;
}

// Journals, and files set aside.
void removeBeside(const std::string& path) {
  const std::filesystem::path file(path);
  for (const auto& entry : std::filesystem::directory_iterator(file.parent_path())) {
    if (entry.path().filename().string().rfind(file.filename().string(), 0) == 0) std::filesystem::remove(entry.path());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::ScratchFile file("store");
  removeBeside(file.path());
  file.write(fuzz::textOf(data, size));
  ::chmod(file.path().c_str(), 0600);
  StoreNotes notes;
  if (const auto store = TuningStore::open(file.path(), StoreAccess::kRead, &notes); store.ok()) {
    std::int64_t unreadable = 0;
    const auto records = (*store)->all(&unreadable);
    for (std::size_t i = 0; records.ok() && i < records->size(); ++i) {
      const std::string printed = recordToJson((*records)[i]);
      fuzz::hold(recordFromJson(printed).ok(), "a record that is read is one", printed);
    }
    static_cast<void>((*store)->winners(someRecord().key, someRecord().version));
    static_cast<void>((*store)->elsewhere(someRecord().key, someRecord().version));
    static_cast<void>((*store)->integrity());
  }
  const auto store = TuningStore::open(file.path(), StoreAccess::kReadWrite, &notes);
  if (store.ok() && (*store)->add(someRecord()).ok()) {
    const auto records = (*store)->of(someRecord().key, someRecord().version);
    fuzz::hold(records.ok() && !records->empty(), "a record that was added is there");
    static_cast<void>((*store)->prune({"v", true, true, 0}));
  }
  return 0;
}
