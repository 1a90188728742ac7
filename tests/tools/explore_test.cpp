// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of `cubejit explore`: are a machine's numbers those that other commands tell of it, is the front right, does a run go on where it
// was stopped, is wrong input named, and does the page open?
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "runtime/text/json_machine.h"
#include "runtime/text/problem_text.h"
#include "tests/support/cli.h"

namespace cubejit {
namespace {

using Point = nlohmann::ordered_json;
using ::testing::HasSubstr;

const std::string kShape = "--input 1,64,20,24 --weight 48,64,3,3 --padding 1 --dtype f16";
const std::string kExplore = "explore " + kShape + " --soc ascend910b2 ";

class Explore : public Cli {
 protected:
  static std::vector<Point> linesOf(const std::string& text) {
    std::vector<Point> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(Point::parse(line));
    return lines;
  }
  std::vector<Point> explored(const std::string& words) const {
    const Outcome o = run(words + " --json");
    EXPECT_EQ(o.code, 0) << o.err;
    return linesOf(o.out);
  }
  std::string text(const std::string& name) const { return slurp(folder_ / name); }
};

// By the definition: no other is as good in both and better in one.
std::vector<std::size_t> frontByHand(const std::vector<Point>& points, const char* x, const char* y) {
  std::vector<std::size_t> front;
  for (std::size_t i = 0; i < points.size(); ++i) {
    bool beaten = false;
    for (const Point& other : points)
      beaten |= other.at(x) <= points[i].at(x) && other.at(y) <= points[i].at(y) &&
                (other.at(x) < points[i].at(x) || other.at(y) < points[i].at(y));
    if (!beaten) front.push_back(i);
  }
  return front;
}

TEST_F(Explore, NumbersAreThoseOfThePlanAndTheReportOfTheSameMachine) {
  const std::vector<Point> points = explored(kExplore + "--vary cores=6,24 --vary l1=128K,512K --vary hbm=400,1600");
  ASSERT_EQ(points.size(), 8U);
  const auto problem = parseProblemFlags([] {
    ProblemFlags flags;
    flags.input = "1,64,20,24", flags.weight = "48,64,3,3", flags.padding = "1";
    return flags;
  }());
  ASSERT_TRUE(problem.ok());
  Problem layer = *problem;
  ASSERT_TRUE(applyFormats(layer, "f16", "").ok());
  for (const Point& point : points) {
    SCOPED_TRACE(point.at("vary").dump());
    write("chip.json", point.at("machine").dump());
    const std::vector<Point> plans =
        linesOf(run("plan " + kShape + " --soc ./chip.json --json", "", "env CUBEJIT_TUNE=off").out);
    ASSERT_EQ(plans.size(), 2U);
    const auto machine = machineFromJson(point.at("machine").dump());
    ASSERT_TRUE(machine.ok());
    EXPECT_NEAR(machine->npu.paths.ddrRead * machine->cores * machine->npu.mhz * 1e-3, point.at("vary").at("hbm"),
                1e-6);
    Options options;
    options.machine = *machine;
    options.tune = TuneMode::kOff;
    Session session(options);
    double cycles = 0, energy = 0;
    std::map<std::string, double> bytes;
    for (std::size_t g = 0; g < 2; ++g) {
      const Point& mine = point.at("passes").at(g);
      for (const char* key : {"pass", "plan", "predicted_cycles", "predicted_us", "bound", "tasks", "buffers", "pipes"})
        EXPECT_EQ(mine.at(key), plans[g].at(key)) << key;
      cycles += plans[g].at("predicted_cycles").get<double>();
      energy += mine.at("energy_pj").get<double>();
      const Pass pass = g == 0 ? Pass::kDx : Pass::kDw;
      const auto compiled = session.compile(layer, {g == 0, g == 1, false});
      ASSERT_TRUE(compiled.ok()) << compiled.error().message;
      const auto report = (*compiled)->emulationReport(pass);
      ASSERT_TRUE(report.ok());
      for (std::size_t i = 0; i < kPaths; ++i) {
        EXPECT_EQ(mine.at("bytes").at(toString(static_cast<Path>(i))), report->total.bytes[i]);
        bytes[toString(static_cast<Path>(i))] += static_cast<double>(report->total.bytes[i]);
      }
      EXPECT_EQ(mine.at("cube_steps"), report->total.cubeSteps);
      // Reads and writes have one rate here, so that bytes follow from the cycles.
      EXPECT_NEAR(mine.at("memory_bytes").get<double>(),
                  mine.at("memory_cycles").get<double>() * machine->npu.paths.ddrRead * machine->cores, 1);
    }
    EXPECT_DOUBLE_EQ(point.at("cycles").get<double>(), cycles);
    EXPECT_DOUBLE_EQ(point.at("energy_pj").get<double>(), energy);
    for (const auto& [path, count] : bytes) EXPECT_EQ(point.at("bytes").at(path).get<double>(), count) << path;
  }
}

// The model of docs/energy.md, written again: this chip's L0A and L0B have 64 KiB, L0C 128, L1 512; L2 is banks of 1 MiB.
TEST_F(Explore, EnergyIsTheDocumentedSum) {
  const Point point = explored(kExplore + "--passes dx")[0];
  const Point& dx = point.at("passes").at(0);
  const auto bytes = [&](const char* path) { return dx.at("bytes").at(path).get<double>(); };
  const double steps = dx.at("cube_steps").get<double>(), slope = std::log(5.0) / std::log(32.0);
  const auto sram = [&](double kib) { return 2.5 * std::pow(kib / 32, slope); };
  const double gm = bytes("gm_to_l1") + bytes("gm_to_ub") + bytes("l0c_to_gm") + bytes("ub_to_gm");
  const std::map<std::string, double> expected = {
      {"mac", 2.0 * steps * 4096},
      {"l0a", sram(64) * (bytes("l1_to_l0a") + steps * 512)},
      {"l0b", sram(64) * (bytes("l1_to_l0b") + steps * 512)},
      {"l0c", sram(128) * (steps * 2048 + bytes("l0c_to_gm") + bytes("l0c_to_ub"))},
      {"l1", sram(512) * (bytes("gm_to_l1") + bytes("l1_to_l0a") + bytes("l1_to_l0b"))},
      {"ub", sram(192) * (bytes("l0c_to_ub") + bytes("ub_to_gm") + bytes("gm_to_ub"))},
      {"l2", 12.5 * gm},
      {"memory", 31.4 * dx.at("memory_bytes").get<double>()}};
  double sum = 0;
  for (const auto& [part, picojoules] : expected) {
    EXPECT_NEAR(dx.at("energy").at(part).get<double>(), picojoules, 1e-9 * picojoules) << part;
    sum += picojoules;
  }
  EXPECT_NEAR(point.at("energy_pj").get<double>(), sum, 1e-9 * sum);
  write("mine.json", R"({"mac_pj":{"f16":3},"sram_pj_per_byte":[[32768,4]],"memory_pj_per_byte":10})");
  const Point mine = explored(kExplore + "--passes dx --energy mine.json")[0].at("energy");
  EXPECT_NEAR(mine.at("mac").get<double>(), 1.5 * expected.at("mac"), 1);
  EXPECT_NEAR(mine.at("l1").get<double>(), 4 / sram(512) * expected.at("l1"), 1);
  EXPECT_NEAR(mine.at("memory").get<double>(), 10 / 31.4 * expected.at("memory"), 1);
}

TEST_F(Explore, RangesDoubleStepOrList) {
  const auto values = [&](const std::string& vary, const std::string& field) {
    std::vector<double> out;
    for (const Point& point : explored(kExplore + "--passes dx --vary " + vary))
      out.push_back(point.at("vary").at(field));
    return out;
  };
  EXPECT_EQ(values("cores=8..48", "cores"), (std::vector<double>{8, 16, 32, 48}));
  EXPECT_EQ(values("cores=8..30:8", "cores"), (std::vector<double>{8, 16, 24}));
  EXPECT_EQ(values("l1=1M,256K", "l1_bytes"), (std::vector<double>{262144, 1048576}));
  EXPECT_EQ(values("clock=1000.5..2001", "mhz"), (std::vector<double>{1000.5, 2001}));
  EXPECT_EQ(values("l2_read=0.1..0.3:0.1", "rates.l2_read").size(), 3U);  // steps of a fraction reach the end
  EXPECT_EQ(values("cubes.f16.cycles=1,2", "cubes.f16.cycles"), (std::vector<double>{1, 2}));
}

// Memory is the chip's: more or faster cores do not make it faster.
TEST_F(Explore, MemoryKeepsItsRateWhenCoresAndClockChange) {
  for (const Point& point : explored(kExplore + "--vary cores=12..48 --vary clock=900,1800")) {
    const Point& m = point.at("machine");
    EXPECT_NEAR(m.at("rates").at("ddr_read").get<double>() * m.at("cores").get<double>() * m.at("mhz").get<double>(),
                32.0 * 24 * 1800, 1e-3);
  }
  EXPECT_EQ(explored(kExplore + "--vary cores=12 --vary ddr_read=20")[0].at("machine").at("rates").at("ddr_read"), 20);
}

TEST_F(Explore, TheFrontIsThatOfTheDefinition) {
  const std::vector<Point> points =
      explored(kExplore + "--vary cores=2..48 --vary l0c=32K..256K --vary l2_read=20,110");
  ASSERT_EQ(points.size(), 48U);
  std::vector<std::size_t> lit;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].at("front").get<bool>()) lit.push_back(i);
  }
  EXPECT_EQ(lit, frontByHand(points, "us", "energy_pj"));
  EXPECT_GT(lit.size(), 1U);
  EXPECT_LT(lit.size(), points.size());
}

TEST_F(Explore, ARunGoesOnWhereItWasStopped) {
  const std::string words = kExplore + "--vary cores=4..32 --out points.jsonl --threads 1";
  ASSERT_EQ(run(words).code, 0);
  const std::string whole = text("points.jsonl");
  std::vector<Point> lines = linesOf(whole);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0].at("schema"), "cubejit.explore/1");
  lines[2]["us"] = 12345.5;  // what is there is believed
  const std::string kept = lines[0].dump() + "\n" + lines[2].dump() + "\n";
  write("points.jsonl", kept + lines[3].dump().substr(0, 100));  // the last line was cut off
  const std::vector<Point> points = explored(words);
  ASSERT_EQ(points.size(), 4U);
  EXPECT_EQ(points[1].at("us"), 12345.5);
  const std::vector<Point> now = linesOf(text("points.jsonl"));
  ASSERT_EQ(now.size(), 5U);
  EXPECT_EQ(text("points.jsonl").substr(0, kept.size()), kept);
  EXPECT_EQ(now[2], lines[1]);
  EXPECT_EQ(now[3], lines[3]);
  const std::string before = text("points.jsonl");
  EXPECT_EQ(explored(words), points);  // nothing is left to do
  EXPECT_EQ(text("points.jsonl"), before);
  refused(2, words + " --vary l1=256K", {"points.jsonl holds another exploration: its 'vary' differs"});
  refused(2, words + " --passes dx", {"its 'passes' differs; name another file"});
  write("notes.txt", "keep me\n");
  refused(2, kExplore + "--out notes.txt", {"notes.txt is no file of points"});
  write("notes.txt", "keep me");
  refused(2, kExplore + "--out notes.txt", {"notes.txt is no file of points"});
  EXPECT_EQ(text("notes.txt"), "keep me");
}

// Each member of a point that is there: away, or of another kind.
TEST_F(Explore, DamagedPointsAreRefused) {
  const std::string words = kExplore + "--vary cores=4..8 --out points.jsonl --threads 1";
  ASSERT_EQ(run(words).code, 0);
  const std::vector<Point> lines = linesOf(text("points.jsonl"));
  ASSERT_EQ(lines.size(), 3U);
  const auto refuses = [&](const Point& point) {
    write("points.jsonl", lines[0].dump() + "\n" + point.dump() + "\n");
    refused(2, words, {"points.jsonl has a line that is no point"});
  };
  for (const auto& [key, value] : lines[1].items()) {
    Point point = lines[1];
    point.erase(key);
    refuses(point);
    for (const Point& other : {Point(), Point(value.is_string() ? Point(1) : Point("x"))}) {
      point[key] = other;
      refuses(point);
    }
  }
  for (const Point& number : {Point(-1), Point(2), Point(1e30), Point(0.5), Point(18446744073709551615ULL)}) {
    Point point = lines[1];
    point["point"] = number;
    refuses(point);
  }
  Point point = lines[1];
  point["passes"][0].erase("name");
  refuses(point);
  point["passes"] = {1};
  refuses(point);
}

TEST_F(Explore, AnInterruptLeavesWholeLines) {
  Outcome o;
  for (const char* seconds : {"1", "6", "30"}) {  // a busy machine has not begun after one
    o = run(kExplore + "--vary cores=1..64:1 --vary mhz=1000..1063:1 --out points.jsonl --report page.html", "",
            std::string("timeout --preserve-status -s INT ") + seconds);
    if (linesOf(text("points.jsonl")).size() > 1) break;
  }
  EXPECT_EQ(o.code, 130) << o.err;
  EXPECT_THAT(o.err, HasSubstr("note: stopped; the same command goes on"));
  const std::string file = text("points.jsonl");
  ASSERT_FALSE(file.empty());
  EXPECT_EQ(file.back(), '\n');
  const std::size_t lines = linesOf(file).size();
  EXPECT_GT(lines, 1U);
  EXPECT_LT(lines, 4097U);
  EXPECT_THAT(text("page.html"), HasSubstr("</html>"));
}

TEST_F(Explore, WrongInputIsNamedByField) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"l3=1,2", "--vary l3: a machine has no number of that name; the nearest is l"},
      {"name=1", "--vary name: a machine has no number of that name"},
      {"cores", "--vary 'cores' must be FIELD=A..B, FIELD=A..B:STEP or FIELD=V,V,..."},
      {"cores=8..x", "--vary cores: 'x' must be a whole number"},
      {"cores=1.5", "--vary cores: '1.5' must be a whole number"},
      {"cores=", "--vary cores: '' must be a whole number"},
      {"cores=48..8", "--vary cores: 48..8 ends before it begins; write the smaller value first"},
      {"cores=8..48:0", "--vary cores: the step 0 must be more than 0"},
      {"cores=0..8", "--vary cores: 0 cannot be doubled; begin above 0, or give a step: 0..8:STEP"},
      {"cores=8,8", "--vary cores: 8 is listed twice"},
      {"cores=8 --vary cores=9", "--vary cores: is given twice"},
      {"clock=1K", "--vary mhz: '1K' has a unit; only sizes in bytes"},
      {"clock=nan", "--vary mhz: 'nan' must be a number"},
      {"l1=99999999999G", "--vary l1_bytes: '99999999999G' is out of range"},
      {"cores=0,8", "--vary: cores = 0 must be 1 to 4096"},
      {"l1=1", "--vary: l1_bytes = 1 must be 1024 to 1099511627776"},
      {"l2_read=0,1", "--vary: rates.l2_read = 0.000000 must be more than 0"},
      {"hbm=0,1", "--vary: rates.ddr_read = 0.000000 must be more than 0"},
      {"hbm=8 --vary ddr_read=9", "--vary hbm: sets rates.ddr_read and rates.ddr_write; vary either it or them"},
      {"cores=1..100:1 --vary clock=1..100:1",
       "--vary: 100 cores x 100 mhz are 10000 points; the most is 4096: take larger steps or fewer fields"},
      {"cores=1..99999:1", "--vary cores: 1..99999:1 has more than 4096 values"}};
  for (const auto& [vary, words] : wrong) refused(2, kExplore + "--out points.jsonl --vary " + vary, {words});
  refused(2, kExplore + "--vary cores=0,8 --vary l1=1",
          {"--vary: cores = 0 must be 1 to 4096\n", "--vary: l1_bytes = 1 must be 1024"});  // all at once
  refused(2, "explore " + kShape + " --vary cores=8", {"no machine to begin with; name a chip with --soc"});
  write("chip.json", R"({"name":"mine","cores":"many"})");
  refused(2, "explore " + kShape + " --machine ./chip.json",
          {"'cores' = ", " must be a whole number from -2^63", "'mhz' is missing"});
  refused(3, kExplore + "--passes db", {"db is a sum by the vector units and has no plan to explore"});
  refused(3, "explore " + kShape + " --soc ascend99", {"ascend99"});
  write("figures.json", R"({"mac_pj":{"f16":-1,"f8":1},"sram_pj_per_byte":[[8,1],[8,2]],"dram":3})");
  refused(2, kExplore + "--energy figures.json",
          {"'f16' = -1 pJ must be 0 to 1e9", "'f8' is not a key", "size 8 must be more than the one before",
           "'dram' is not"});
  refused(5, kExplore + "--energy nowhere.json", {"cannot read nowhere.json"});
  refused(5, kExplore + "--out /nonexistent/points.jsonl", {"cannot write /nonexistent/points.jsonl"});
}

TEST_F(Explore, MachinesWithoutAPlanAreToldAndNotOnTheFront) {
  const std::vector<Point> points = explored(kExplore + "--vary l0c=1K --vary l1=1K,512K");
  ASSERT_EQ(points.size(), 2U);
  EXPECT_GT(points[0].at("failed"), 0);
  EXPECT_FALSE(points[0].at("front").get<bool>());
  EXPECT_THAT(points[0].at("passes").dump(), HasSubstr("\"error\":"));
  const Outcome none = run(kExplore + "--vary l1=1K");
  EXPECT_EQ(none.code, 3) << none.err;
  EXPECT_THAT(none.err, HasSubstr("no machine has a plan for every pass; of the first, 1,64,20,24 * 48,64,3,3: "));
}

TEST_F(Explore, ThePageOpensWithTheFrontAndAPlan) {
  if (std::system("command -v chromium >/dev/null 2>&1") != 0) GTEST_SKIP() << "no chromium to open it with";
  write(
      "suite.jsonl",
      R"({"name":"</script><b>hostile","rank":2,"n":1,"ci":64,"co":48,"groups":1,"input":[1,20,24],"output":[1,20,24],"kernel":[1,3,3],"stride":[1,1,1],"pad":[0,0,1,1,1,1],"dilation":[1,1,1]})"
      "\n");
  const std::vector<Point> points = explored(
      "explore --suite suite.jsonl --passes dx --dtype f16 --soc ascend910b2 --vary cores=2..48 "
      "--vary l0c=32K..256K --vary l2_read=20,110 "
      "--report page.html");
  const std::string page = (folder_ / "page.html").string(), dom = (logs_ / "dom").string();
  const std::string open =
      "timeout 60 chromium --headless --no-sandbox --disable-gpu --user-data-dir=" + logs_.string() +
      "/profile --virtual-time-budget=3000 --dump-dom file://" + page + " >" + dom + " 2>/dev/null";
  ASSERT_EQ(std::system(open.c_str()), 0);
  const std::string shown = slurp(dom);
  std::string front;
  std::vector<std::size_t> byHand = frontByHand(points, "us", "energy_pj");
  std::stable_sort(byHand.begin(), byHand.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(points[a].at("us"), points[a].at("energy_pj")) <
           std::pair(points[b].at("us"), points[b].at("energy_pj"));
  });
  for (const std::size_t i : byHand) front += (front.empty() ? "" : " ") + std::to_string(i);
  ASSERT_GT(byHand.size(), 1U);
  EXPECT_THAT(shown, HasSubstr("data-front=\"" + front + "\""));
  std::size_t dots = 0;
  for (std::size_t at = shown.find("<circle"); at != std::string::npos; at = shown.find("<circle", at + 1)) ++dots;
  EXPECT_EQ(dots, points.size());
  EXPECT_THAT(shown, HasSubstr("plan.base_m</td>"));  // of the point that is chosen first
  EXPECT_THAT(shown, HasSubstr("&lt;/script&gt;&lt;b&gt;hostile dx: "));
}

}  // namespace
}  // namespace cubejit
