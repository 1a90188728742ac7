// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: are traces JSON that a viewer reads, with every event at its time, and pictures drawn where cores are busy?
#include "cubejit/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>
#include <nlohmann/json.hpp>

#include "cubejit/machines.h"

namespace cubejit {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<TraceEvent> events() {
  return {{0, Pipe::kGmToL1, "load image", 0, 100, 4096}, {1, Pipe::kCube, "mmad", 150, 350.5, 12}};
}

TEST(Timeline, TracesPlaceEventsByCorePipeAndTime) {
  const Machine machine = *machineByName("ascend910b2");  // 1800 MHz
  const std::vector<TraceEvent> first = events(), second = events();
  std::setlocale(LC_ALL, "de_DE.UTF-8");  // where there is one, numbers have commas
  const Json trace = Json::parse(chromeTrace(machine, {{"dx", 900, &first}, {"dw", 900, &second}}));
  std::setlocale(LC_ALL, "C");
  std::vector<Json> shown;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X") shown.push_back(event);
  }
  ASSERT_EQ(shown.size(), 4U);
  EXPECT_EQ(trace.at("traceEvents").size(), 4 + 24 * (1 + kPipes));
  EXPECT_EQ(shown[1].at("name"), "mmad");
  EXPECT_EQ(shown[1].at("pid"), 1);
  EXPECT_EQ(shown[1].at("tid"), static_cast<int>(Pipe::kCube));
  EXPECT_NEAR(shown[1].at("ts").get<double>(), 150 / 1800.0, 1e-4);
  EXPECT_NEAR(shown[1].at("dur").get<double>(), 200.5 / 1800.0, 1e-4);
  EXPECT_EQ(shown[1].at("args").at("steps"), 12);
  EXPECT_EQ(shown[0].at("args").at("bytes"), 4096);
  EXPECT_EQ(shown[3].at("cat"), "dw");
  EXPECT_NEAR(shown[3].at("ts").get<double>(), (900 + 150) / 1800.0, 1e-4);
}

TEST(Timeline, AMachinesNameCannotBreakTheText) {
  Machine machine = *machineByName("toy");
  machine.name = "a \"b\\ <c>";
  const std::vector<TraceEvent> some = events();
  EXPECT_TRUE(Json::accept(chromeTrace(machine, {{"x\"", 900, &some}})));
  EXPECT_THAT(timelineSvg(machine, {{"dx", 900, &some}}), HasSubstr("a _b_ _c_: 900 cycles"));
}

TEST(Timeline, PicturesShadeTheColumnsInWhichAPipeIsBusy) {
  const Machine machine = *machineByName("toy");
  const std::vector<TraceEvent> some{{0, Pipe::kCube, "mmad", 250, 500, 1}};
  const std::string svg = timelineSvg(machine, {{"dx", 1250, &some}});
  EXPECT_THAT(svg, HasSubstr(R"(<rect x="60" y="56" width="250" height="7" fill="#c0504d" fill-opacity="1.0"/>)"))
      << "the picture begins with the first event";
  EXPECT_THAT(svg, HasSubstr("1250 cycles"));
  EXPECT_THAT(svg, HasSubstr("; the first event begins at cycle 250"));
  EXPECT_THAT(svg, HasSubstr("viewBox=\"0 0 1120 "));
  EXPECT_THAT(svg, HasSubstr(">cycle</text>"));
  EXPECT_THAT(svg, HasSubstr(">\u00b5s</text>"));
  for (const char* place : {"x=\"210\"", "x=\"1010\""}) EXPECT_THAT(svg, HasSubstr(place));
  const std::vector<TraceEvent> none;
  EXPECT_THAT(timelineSvg(machine, {{"dx", 0, &none}}), HasSubstr("</svg>"));
}

TEST(Timeline, AFileThatCannotBeWrittenIsAnError) {
  const std::vector<TraceEvent> none;
  const Status written = writeTimelines({"no/such/folder/t.json", ""}, *machineByName("toy"), {{"dx", 1, &none}});
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, ErrorCode::kIo);
  EXPECT_THAT(written.error().message, HasSubstr("no/such/folder/t.json"));
}

TEST(Timeline, ArrowsLeadFromWhatIsAwaited) {
  const Machine machine = *machineByName("ascend910b2");
  std::vector<TraceEvent> some{{0, Pipe::kGmToL1, "load image", 0, 100, 4096},
                               {0, Pipe::kL1ToL0, "fill", 100, 150, 64}};
  some[1].back = 1;
  std::vector<Json> ends;
  const Json trace = Json::parse(chromeTrace(machine, {{"dx", 150, &some}}));
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("name") == "MTE2_MTE1") ends.push_back(event);
  }
  ASSERT_EQ(ends.size(), 2U);
  EXPECT_EQ(ends[0].at("ph"), "s");
  EXPECT_EQ(ends[0].at("tid"), static_cast<int>(Pipe::kGmToL1));
  EXPECT_EQ(ends[1].at("ph"), "f");
  EXPECT_NEAR(ends[1].at("ts").get<double>(), 100 / 1800.0, 1e-4);
  some[1].back = 2;  // of a trace that was cut
  EXPECT_EQ(chromeTrace(machine, {{"dx", 150, &some}}).find("MTE2_MTE1"), std::string::npos);
}

TEST(Timeline, PagesSayWhatTheyLeaveOut) {
  const Machine machine = *machineByName("ascend910b2");
  std::vector<TraceEvent> many(200'010, TraceEvent{0, Pipe::kCube, "mmad", 0, 1, 1});
  const std::string page = timelinePage(machine, {{"dx", 1, &many, 77}});
  EXPECT_THAT(page, HasSubstr(R"("left":10,)"));
  EXPECT_THAT(page, HasSubstr(R"("traced":200010,"dropped":77})"));
  const std::vector<TraceEvent> some = events();
  EXPECT_THAT(timelineSvg(machine, {{"dx", 900, &some, 77}, {"dw", 900, &some, 3}}),
              HasSubstr("; 80 instructions beyond the trace's limit are not drawn"));
  EXPECT_THAT(timelineSvg(machine, {{"dx", 900, &some}}), Not(HasSubstr("are not drawn")));
  EXPECT_LT(page.size(), 10'000'000U);
  EXPECT_EQ(page.find("@DATA@"), std::string::npos);
}

}  // namespace
}  // namespace cubejit
