// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of any text that is to be a tuning record, a pin, or a line between a tuner and its worker: it is refused, or what is printed of it
// reads back and is printed the same.
#include "runtime/tuning/json_lab.h"
#include "runtime/tuning/json_record.h"
#include "tests/fuzz/json_mutator.h"

using namespace cubejit;

namespace {

template <class Read, class Print>
void readsBack(const char* what, const std::string& text, Read read, Print print) {
  const auto value = read(text);
  if (!value.ok()) return;
  const std::string printed = print(*value);
  const auto again = read(printed);
  fuzz::hold(again.ok(), what, printed);
  fuzz::hold(print(*again) == printed, what, printed + "\nis printed as\n" + print(*again));
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  return fuzz::mutateJsonText(data, size, most, seed,
                              {"cubejit.record/1",
                               "cubejit.pin/1",
                               "dx",
                               "dw",
                               "db",
                               "y",
                               "measured",
                               "refused",
                               "timed_out",
                               "open",
                               "load",
                               "verify",
                               "sample",
                               "drop",
                               "xbyak",
                               "llvm",
                               "avx2",
                               "avx512",
                               "direct",
                               "spatial",
                               "grouped",
                               "winograd",
                               "bias",
                               "cube",
                               "f16",
                               "bf16",
                               "ncdhw",
                               "relaxed",
                               ""});
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::textOf(data, size);
  readsBack("a printed record is read", text, recordFromJson, recordToJson);
  readsBack("a printed pin is read", text, pinFromJson, pinToJson);
  readsBack("printed samples are read", text, samplesFromJson, samplesToJson);
  readsBack("a printed cost is read", text, costFromJson, costToJson);
  readsBack("a printed question is read", text, questionFromJson, questionToJson);
  readsBack("a printed reply is read", text, replyFromJson, replyToJson);
  return 0;
}
