// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of machines as JSON: they read back what was written, and every broken rule is reported at once.
#include "runtime/text/json_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "cubejit/machines.h"
#include "cubejit/machines/toy.h"

namespace cubejit {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string machineRefusal(const std::string& text) {
  const auto machine = machineFromJson(text);
  EXPECT_FALSE(machine.ok());
  return machine.ok() ? "" : machine.error().message;
}

TEST(JsonMachine, EveryMachineOfTheTableReadsBack) {
  for (const std::string& name : machineNames()) {
    const std::string text = machineToJson(*machineByName(name));
    const auto back = machineFromJson(text);
    ASSERT_TRUE(back.ok()) << name << ": " << back.error().message;
    EXPECT_EQ(machineToJson(*back), text);
  }
}

TEST(JsonMachine, MissingUnknownAndMistypedKeysAreAllReported) {
  std::string text = machineToJson(toyMachine());
  text = replaced(text, "\"l1_bytes\"", "\"l1_byte\"");
  text = replaced(text, "\"mhz\":1000.0", "\"mhz\":\"fast\"");
  text = replaced(text, "\"fixpipe\":true", "\"fixpipe\":1");
  text = replaced(text, "\"ddr_read\":16.0", "\"ddr\":16.0");
  text = replaced(text, "\"type\":\"f32\"", "\"type\":\"f64\"");
  text = replaced(text, "\"stride_d\"", "\"stride_depth\"");
  EXPECT_THAT(machineRefusal(text),
              AllOf(HasSubstr("'l1_bytes' is missing"), HasSubstr("'l1_byte' is not a key"),
                    ContainsRegex("'mhz' = .* must be a number"), ContainsRegex("'fixpipe' = .* must be true or false"),
                    HasSubstr("rates: 'ddr_read' is missing"), HasSubstr("rates: 'ddr' is not a key"),
                    HasSubstr("cubes: 'type': unknown dtype 'f64'; the nearest is f32"),
                    HasSubstr("limits: 'stride_depth' is not a key")));
}

TEST(JsonMachine, ValuesAreCheckedToo) {
  std::string text = machineToJson(toyMachine());
  text = replaced(text, "\"cores\":2", "\"cores\":0");
  text = replaced(text, "\"l0c_bytes\":8192", "\"l0c_bytes\":3");
  text = replaced(text, "\"cycles\":1.0", "\"cycles\":0");
  EXPECT_THAT(machineRefusal(text), AllOf(HasSubstr("cores = 0 must be 1 to 4096"), HasSubstr("l0c_bytes = 3"),
                                          HasSubstr("cubes.f16.cycles")));
  EXPECT_THAT(machineRefusal(replaced(machineToJson(toyMachine()), "machine/1", "machine/2")), HasSubstr("'schema'"));
  EXPECT_THAT(machineRefusal(replaced(machineToJson(toyMachine()), "\"cores\":2", "\"cores\":9223372036854775807")),
              HasSubstr("cores = 9223372036854775807 must be a whole number from -2^31 to 2^31 - 1"));
  EXPECT_THAT(machineRefusal(replaced(machineToJson(toyMachine()), "\"cores\":2", "\"cores\":-5")),
              HasSubstr("cores = -5 must be 1 to 4096"));
}

TEST(JsonMachine, WhatIsNoMachineIsRefused) {
  for (const char* text : {"", "7", "[]", "{", "{}", "{\"cubes\": 3, \"rates\": []}"})
    EXPECT_NE(machineRefusal(text), "") << text;
  EXPECT_THAT(machineRefusal("{\"cubes\": 3, \"rates\": []}"),
              AllOf(HasSubstr("'cubes' = 3 must be a list"), HasSubstr("'rates' = [] must be an object")));
  EXPECT_THAT(machineRefusal("{\"cubes\": [3]}"), HasSubstr("'cubes' must list objects"));
  EXPECT_THAT(machineRefusal("{\"cubes\": [{}, {}, {}, {}, {}, {}, {}, {}, {}]}"),
              HasSubstr("'cubes' must list at most 8 types"));
}

TEST(JsonMachine, NamesAndFilesAreTold) {
  EXPECT_TRUE(readMachine("Ascend310P3").ok());
  EXPECT_FALSE(readMachine("ascend").ok());
  const auto missing = readMachine("./no_such_file.json");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kIo);
  const std::string path = ::testing::TempDir() + "cubejit_machine_" + std::to_string(getpid()) + ".json";
  Machine mine = toyMachine();
  mine.name = "mine";
  std::ofstream(path) << machineToJson(mine);
  EXPECT_EQ(readMachine(path)->name, "mine");
  std::ofstream(path) << "{}";
  EXPECT_THAT(readMachine(path).error().message, AllOf(HasSubstr(path), HasSubstr("'cores' is missing")));
  std::remove(path.c_str());
}

}  // namespace
}  // namespace cubejit
