// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of the command for NPUs: targets, plan --soc and tiling, their data, their refusals and exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/command.h"

namespace cubejit {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

const char* const kLayer = "--input 1,64,3,20,24 --weight 48,64,1,3,3 --padding 0,1,1 --dtype f16 --soc ascend910b2";

class NpuCli : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) / ("cubejit_npu_" + std::string(test->name()) + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  Outcome run(const std::string& arguments) const {
    const std::string line =
        "cd " + folder_.string() + " && timeout 120 " + CUBEJIT_CLI + " " + arguments + " </dev/null >out 2>err";
    return outcomeOf(line, folder_ / "out", folder_ / "err");
  }
  std::string read(const std::string& name) const { return slurp(folder_ / name); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

  fs::path folder_;
};

TEST_F(NpuCli, TargetsListsChipsAndPrintsOneAsAFileToChange) {
  const Json targets = Json::parse(run("targets --json").out);
  EXPECT_EQ(targets.at("machines").size(), 65U);  // the host, 63 chips, the toy
  EXPECT_THAT(run("targets --all").out, AllOf(HasSubstr("ascend910_9391"), HasSubstr("f16 bf16 f32 hf32_low")));
  const std::string families = run("targets").out;
  EXPECT_THAT(families, AllOf(ContainsRegex("Atlas A2 and A3 +13  ascend910b1 +f16 bf16 f32 hf32\n"),
                              HasSubstr("targets --all"), Not(HasSubstr("ascend910_9391"))));
  EXPECT_LT(std::count(families.begin(), families.end(), '\n'), 20);
  const Outcome one = run("targets --soc Ascend310P3");
  ASSERT_EQ(one.code, 0) << one.err;
  Json machine = Json::parse(one.out);
  EXPECT_EQ(machine.at("cores"), 8);
  machine["cores"] = 3;
  machine["name"] = "three";
  write("three.json", machine.dump());
  const Outcome planned =
      run("plan --input 1,64,20,24 --weight 48,64,3,3 --padding 1 --dtype f16 --soc ./three.json --json");
  ASSERT_EQ(planned.code, 0) << planned.err;
  EXPECT_EQ(Json::parse(planned.out.substr(0, planned.out.find('\n'))).at("core_cycles").size(), 3U);
  machine["cores"] = 0;
  machine.erase("mhz");
  write("three.json", machine.dump());
  const Outcome broken = run("targets --soc ./three.json");
  EXPECT_EQ(broken.code, 2);
  EXPECT_THAT(broken.err, AllOf(HasSubstr("'mhz' is missing"), HasSubstr("error[")));
}

TEST_F(NpuCli, PlansAreDataAndExplainThemselves) {
  const Outcome data = run(std::string("plan ") + kLayer + " --json --explain --passes dw");
  ASSERT_EQ(data.code, 0) << data.err;
  const Json plan = Json::parse(data.out);
  EXPECT_EQ(plan.at("schema"), "cubejit.npu_plan/1");
  EXPECT_EQ(plan.at("plan").at("algorithm"), "cube");
  EXPECT_EQ(plan.at("core_cycles").size(), 24U);
  EXPECT_FALSE(plan.at("candidates").empty());
  EXPECT_LT(plan.at("plan_us").get<double>(), 1e6);
  const Outcome text = run(std::string("plan ") + kLayer + " --explain");
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, AllOf(HasSubstr("dx on ascend910b2"), HasSubstr("dw on ascend910b2"), HasSubstr("occupancy"),
                              HasSubstr("pipes"), HasSubstr("cores, cycles"), HasSubstr("what would be better"),
                              HasSubstr("repro      cubejit plan")));
  // A plan read back costs what it did.
  write("plan.json", plan.at("plan").dump());
  const Outcome again = run(std::string("plan ") + kLayer + " --json --passes dw --plan plan.json");
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(Json::parse(again.out).at("predicted_cycles"), plan.at("predicted_cycles"));
  Json tooBig = plan.at("plan");
  tooBig["base_n"] = 4080;
  write("plan.json", tooBig.dump());
  const Outcome refused = run(std::string("plan ") + kLayer + " --passes dw --plan plan.json");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("L0B needs"), HasSubstr("ascend910b2 has 65536"), HasSubstr("base_n"),
                                 HasSubstr("= repro:")));
}

// A NumPy file of f16 ones.
std::string ones(const std::string& shape, std::size_t count) {
  std::string header = "{'descr': '<f2', 'fortran_order': False, 'shape': (" + shape + "), }";
  header += std::string(63 - (10 + header.size()) % 64, ' ') + "\n";
  std::string file = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size() % 256) +
                     static_cast<char>(header.size() / 256) + header;
  for (std::size_t i = 0; i < count; ++i) file += std::string("\x00\x3c", 2);
  return file;
}

TEST_F(NpuCli, RunsOnAnEmulatedChipAndShowsWhatItDid) {
  write("dy.npy", ones("1, 16, 6, 7", 672));
  write("x.npy", ones("1, 16, 6, 7", 672));
  write("w.npy", ones("16, 16, 1, 1", 256));
  const std::string problem = "run --input 1,16,6,7 --weight 16,16,1,1 --layout ncdhw --in dy=dy.npy --in w=w.npy";
  const std::string all =
      problem + " --in x=x.npy --dtype f16 --soc ascend910b2 --out dx=dx.npy --out dw=dw.npy --out db=db.npy";
  const Outcome text = run(all + " --trace t.json --timeline t.svg");
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("dx on ascend910b2"), HasSubstr("sums       of up to 16 terms each"),
                              HasSubstr("high water"), HasSubstr("gm_to_l1"), HasSubstr("of 524288"),
                              HasSubstr("db on ascend910b2")));
  const std::string dx = read("dx.npy"), dw = read("dw.npy");
  EXPECT_EQ(dx.substr(dx.size() - 2), std::string("\x00\x4c", 2));  // 16
  EXPECT_EQ(dw.substr(dw.size() - 2), std::string("\x40\x51", 2));  // 42
  const Json trace = Json::parse(read("t.json"));
  EXPECT_GT(trace.at("traceEvents").size(), 24U * 6);
  bool cube = false;
  for (const Json& event : trace.at("traceEvents"))
    cube = cube || (event.at("ph") == "X" && event.at("name") == "mmad" && event.at("dur").get<double>() > 0);
  EXPECT_TRUE(cube);
  EXPECT_THAT(read("t.svg"), AllOf(HasSubstr("<svg"), HasSubstr("core 23"), HasSubstr("</svg>")));
  const Json json = Json::parse(run(all + " --json").out.substr(0, run(all + " --json").out.find('\n')));
  EXPECT_EQ(json.at("schema"), "cubejit.soc_run/1");
  EXPECT_EQ(json.at("cores").size(), 24U);
  EXPECT_EQ(json.at("sum_terms"), 16);
  EXPECT_GT(json.at("total").at("bytes").at("l1_to_l0a").get<double>(), 0);
  // A plan of one's own that does not fit, and what only chips have.
  Json plan = json.at("plan");
  plan["base_m"] = 4080;
  write("plan.json", plan.dump());
  const Outcome broken = run(problem + " --dtype f16 --soc ascend910b2 --out dx=none.npy --plan plan.json");
  EXPECT_EQ(broken.code, 3);
  EXPECT_THAT(broken.err, AllOf(HasSubstr("L0A needs"), HasSubstr("ascend910b2 has 65536; lower base_m")));
  EXPECT_FALSE(fs::exists(folder_ / "none.npy"));
  EXPECT_THAT(run(problem + " --dtype f16 --out dx=none.npy --trace t.json").err, HasSubstr("add --soc"));
  EXPECT_EQ(run(problem + " --dtype f16 --soc ascend910b2 --out dx=dx.npy --trace no/such/folder").code, 5);
}

TEST_F(NpuCli, VerifiesAndMeasuresEmulatedChips) {
  const Outcome fuzz = run("verify --soc toy --fuzz 20 --dtype any --layout any --threads 1,2 --seed 9");
  EXPECT_EQ(fuzz.code, 0) << fuzz.err;
  EXPECT_THAT(fuzz.out, HasSubstr("0 failed"));
  const Outcome measured =
      run("bench --soc toy --input 1,16,8,8 --weight 16,16,3,3 --padding 1 --dtype f16 --min-seconds 0.01 --json");
  ASSERT_EQ(measured.code, 0) << measured.err;
  const Json row = Json::parse(measured.out.substr(0, measured.out.find('\n')));
  EXPECT_GT(row.at("host_share").get<double>(), 0);
  EXPECT_GT(row.at("chip_cycles").get<double>(), 0);
  EXPECT_EQ(run("verify --soc toy --fast --fuzz 10 --dtype any --seed 10").code, 0);
  EXPECT_THAT(run("verify --fast --fuzz 2").err, HasSubstr("add --soc"));
  for (const std::string chip : {"910b", "950"}) {  // whose cubes have another width of hf32
    for (const std::string type : {"hf32", "hf32_low"})
      EXPECT_EQ(run("verify --soc " + chip + " --fuzz 6 --reals --passes y,dx,dw --dtype " + type).code, 0)
          << chip << type;
  }
  const Outcome wrong = run("verify --fuzz 2 --seed 5 --reals --json");
  EXPECT_THAT(wrong.out, HasSubstr("--seed 6 --reals"));
  EXPECT_EQ(run("verify --soc toy --fuzz 4 --dtype f16 --agree interpreter,tile_interpreter").code, 0);
}

TEST_F(NpuCli, WhatAChipLacksIsAnsweredWithTheChipsThatHaveIt) {
  const Outcome type = run("plan --input 1,16,8,8 --weight 16,16,3,3 --soc ascend910a --passes dx");
  EXPECT_EQ(type.code, 3);
  EXPECT_EQ(type.out, "");
  EXPECT_THAT(type.err, AllOf(HasSubstr("f32 is no type of the cube of ascend910a"), HasSubstr("ascend910b1")));
  EXPECT_EQ(run(std::string("plan ") + kLayer + " --passes db").code, 3);
  const Outcome name = run("plan --input 1,16,8,8 --weight 16,16,3,3 --soc ascend911");
  EXPECT_EQ(name.code, 3);
  EXPECT_THAT(name.err, HasSubstr("no machine is called 'ascend911'"));
  EXPECT_EQ(run("plan --input 1,16,8,8 --weight 16,16,3,3 --soc ./none.json").code, 5);
}

TEST_F(NpuCli, TilingsArePrintedComparedAndChecked) {
  const std::string dx = std::string("tiling ") + kLayer + " --passes dx";
  const Outcome json = run(dx + " --json");
  ASSERT_EQ(json.code, 0) << json.err;
  Json tiling = Json::parse(json.out);
  EXPECT_EQ(tiling.at("struct"), "TConv3DBackpropInputTiling");
  EXPECT_EQ(tiling.at("cout1"), 3);
  write("a.json", json.out);
  EXPECT_EQ(run(dx + " --raw a.bin").code, 0);
  EXPECT_EQ(fs::file_size(folder_ / "a.bin"), 280U);
  EXPECT_EQ(run("tiling --diff a.json a.bin").code, 0);
  EXPECT_THAT(run("tiling --import a.bin --soc ascend910b2").out, HasSubstr("dx on ascend910b2"));
  tiling["stepKb"] = 100000;
  write("b.json", tiling.dump());
  const Outcome diff = run("tiling --diff a.json b.json");
  EXPECT_EQ(diff.code, 1);
  EXPECT_THAT(diff.out, AllOf(HasSubstr("stepKb"), HasSubstr("100000")));
  EXPECT_EQ(Json::parse(run("tiling --diff a.json b.json --json").out).at("fields").size(), 1U);
  const Outcome broken = run("tiling --import b.json --soc ascend910b2");
  EXPECT_EQ(broken.code, 2);
  EXPECT_THAT(broken.err, AllOf(HasSubstr("L1 (A "), HasSubstr("ascend910b2 has 524288; lower stepKb")));
  const Outcome dw = run(std::string("tiling ") + kLayer + " --passes dw");
  EXPECT_THAT(dw.out, AllOf(HasSubstr("TConv3DBpFilterTiling"), HasSubstr("bl1Bound")));
}

TEST_F(NpuCli, WhatIsNoTilingIsRefused) {
  write("a.json", "{}");
  EXPECT_THAT(run("tiling --import a.json --soc ascend910b2").err, HasSubstr("'struct' = ''"));
  write("a.json", "{\"struct\": \"TConv3DBpFilterTiling\", \"batch\": -1, \"batches\": 2, \"cin\": 5000000000}");
  EXPECT_THAT(run("tiling --import a.json --soc ascend910b2").err,
              AllOf(HasSubstr("'batch' = -1 must be a whole number from 0 to 4294967295"),
                    HasSubstr("'batches' is not a key"), HasSubstr("'cin' = 5000000000")));
  write("a.bin", "seven b");
  EXPECT_THAT(run("tiling --import a.bin --soc ascend910b2").err, HasSubstr("a.bin has 7 bytes"));
  EXPECT_EQ(run("tiling --import none.bin --soc ascend910b2").code, 5);
  EXPECT_EQ(run("tiling --input 1,16,8,8 --weight 16,16,3,3").code, 2);  // no --soc
  const std::string groups =
      "tiling --input 1,16,8,8 --weight 16,8,3,3 --groups 2 --dtype f16 --soc ascend910b2 --passes dx";
  EXPECT_THAT(run(groups).out, HasSubstr("plan of the model"));
  const Outcome forChip = run(groups + " --for-chip");
  EXPECT_EQ(forChip.code, 2);
  EXPECT_THAT(forChip.err, HasSubstr("groups = 2 must be 1: the vendor's tilings have no other"));
}

// plan --json, tiling --plan, tiling --import --json and run --plan pass one plan on; --raw writes all that a kernel reads.
TEST_F(NpuCli, PlansAndTilingsBecomeOneAnother) {
  const std::string layer = std::string(" ") + kLayer;
  for (const auto& [pass, bytes] : {std::pair<std::string, std::size_t>{"dx", 280}, {"dw", 240}}) {
    const std::string asked = layer + " --passes " + pass;
    const Outcome made = run("tiling" + asked + " --for-chip --json --raw a.bin");
    ASSERT_EQ(made.code, 0) << made.err;
    EXPECT_EQ(fs::file_size(folder_ / "a.bin"), bytes);
    write("a.json", made.out);
    const Outcome plan = run("tiling --import a.bin --soc ascend910b2 --json");
    ASSERT_EQ(plan.code, 0) << plan.err;
    write("plan.json", plan.out);
    const Outcome again = run("tiling" + asked + " --for-chip --plan plan.json --json");
    EXPECT_EQ(again.out, made.out) << again.err;
    EXPECT_THAT(run("tiling" + asked + " --plan plan.json").out, HasSubstr("plan of the caller"));
    EXPECT_EQ(Json::parse(run("plan" + asked + " --plan plan.json --json").out).at("plan"),
              Json::parse(plan.out).at("plan"));
    EXPECT_THAT(run("verify" + asked + " --plan plan.json").out, HasSubstr("1 passed, 0 failed"));
  }
  Json changed = Json::parse(run("plan" + layer + " --passes dx --json").out);
  changed.at("plan")["step_n"] = 2;
  write("plan.json", changed.dump());
  const Outcome refused = run("tiling" + layer + " --passes dx --plan plan.json");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("step_n = 2 must be 1 for the Ascend C kernels"));
}

// What tuning found for the chip is in the struct.
TEST_F(NpuCli, TunedPlansReachTilings) {
  const std::string layer =
      "--input 1,96,28,28 --weight 80,96,3,3 --padding 1 --dtype f16 --soc ascend310p3 --passes dw ";
  const std::string store = "env CUBEJIT_DB=tune.db CUBEJIT_SYSTEM_DB= CUBEJIT_TUNE=use ";
  const Outcome tuned = run("tune " + layer + "--db tune.db --trials 60 --json");
  ASSERT_EQ(tuned.code, 0) << tuned.err;
}

const char* const kSmallLayer = "--input 2,20,9,11 --weight 24,20,3,3 --stride 2 --padding 1 --dtype f16 --soc toy ";

TEST_F(NpuCli, DumpsWhatACoreDoesAndWhatItBecomes) {
  for (const std::string fast : {"", "--fast "}) {
    const Outcome o = run(std::string("dump ") + kSmallLayer + fast + "--passes dx,dw,db --emit " +
                          (fast.empty() ? "all" : "plan,tile,html") + " -o d");
    ASSERT_EQ(o.code, 0) << o.err;
    std::istringstream folders(o.out);
    int count = 0;
    for (std::string folder; std::getline(folders, folder); ++count) {
      const bool db = folder.find("/db_") != std::string::npos;
      const auto text = [&](const char* file) { return slurp(folder_ / folder / file); };
      EXPECT_THAT(text("core.txt"), AllOf(HasSubstr("on toy: "), HasSubstr("cycles as estimated"),
                                          HasSubstr(db ? "vector" : "mmad"), HasSubstr("core 0:")));
      EXPECT_EQ(Json::parse(text("machine.json")).at("name"), "toy");
      EXPECT_THAT(text("index.html"), AllOf(HasSubstr("\"chip\":{\"name\":\"toy\""), HasSubstr("<svg")));
      EXPECT_THAT(text("tile.txt"), HasSubstr(db ? "phase bias" : "phase cube"));
      EXPECT_EQ(fs::exists(folder_ / folder / "tile.lowered.txt"), !fast.empty() && !db);
      const std::string again =
          "cd " + folder_.string() + " && CUBEJIT=" + CUBEJIT_CLI + " sh " + folder + "/repro.sh >out 2>err";
      EXPECT_THAT(outcomeOf(again, folder_ / "out", folder_ / "err").out, HasSubstr("same: ")) << read("err");
    }
    EXPECT_EQ(count, 3);
  }
}

// What is linked is the chip's emulation: sums of small whole numbers are those of the host's own program.
TEST_F(NpuCli, AChipsEmulationIsACObject) {
  write("main.c", R"(#include HEADER
#include <stdio.h>
#include <stdlib.h>
static void* filled(size_t bytes, unsigned seed) {
  uint16_t* p = aligned_alloc(64, (bytes + 63) / 64 * 64);
  for (size_t i = 0; i < bytes / 2; ++i) p[i] = (uint16_t)(0x3c00u | (i * seed % 5 == 0 ? 0x8000u : 0u));  /* 1 or -1 */
  return p;
}
int main(void) {
  uint16_t *x = filled(2 * 20 * 9 * 11 * 2, 3), *dy = filled(2 * 24 * 5 * 6 * 2, 7), *dw = filled(24 * 20 * 9 * 2, 1);
  void* workspace = aligned_alloc(64, (G_WORKSPACE_BYTES(1) + 63) / 64 * 64);
  if (!g_supported() || !workspace) return 2;
  g_run(OPERANDS, dw, workspace);
  for (int i = 0; i < 24 * 20 * 9; ++i) printf("%x\n", dw[i]);
  return 0;
}
)");
  std::string results[2];
  for (const int chip : {0, 1}) {
    std::string layer = kSmallLayer;
    if (chip == 0) layer = layer.substr(0, layer.find("--soc"));
    const Outcome o =
        run("dump " + layer + " --passes dw --emit obj,c-header --symbol g -o " + (chip == 0 ? "host" : "chip"));
    ASSERT_EQ(o.code, 0) << o.err;
    const std::string folder = o.out.substr(0, o.out.find('\n'));
    const std::string line =
        "cd " + folder_.string() + " && cc -std=c11 -Wall -Wextra -Werror '-DHEADER=\"" + folder + "/g.h\"' " +
        (slurp(folder_ / folder / "g.h").find("g_run(x, dy, ") == std::string::npos ? "-DOPERANDS=dy,x "
                                                                                    : "-DOPERANDS=x,dy ") +
        "main.c " + folder + "/g.o -o program >out 2>err && ./program >out 2>err";
    const Outcome ran = outcomeOf(line, folder_ / "out", folder_ / "err");
    ASSERT_EQ(ran.code, 0) << ran.err;
    results[chip] = ran.out;
  }
  EXPECT_GT(results[0].size(), 4000U);
  EXPECT_EQ(results[0], results[1]);
}

TEST_F(NpuCli, EmulatedRunsAreFollowedAsThoseOfTheHost) {
  const std::string line =
      "cd " + folder_.string() +
      " && CUBEJIT_DUMP=tile CUBEJIT_DUMP_DIR=seen CUBEJIT_VERBOSE=all CUBEJIT_VERBOSE_FILE=log timeout 120 " +
      CUBEJIT_CLI + " verify " + kSmallLayer + "--fast --agree interpreter --passes dw >out 2>err";
  const Outcome o = outcomeOf(line, folder_ / "out", folder_ / "err");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(read("log"),
              AllOf(HasSubstr("cubejit plan program=dw_f16"), HasSubstr("algorithm=cube"), HasSubstr("event=run")));
  EXPECT_FALSE(fs::is_empty(folder_ / "seen"));
}

TEST_F(NpuCli, DumpsOfChipsAreRefusedBeforeAnythingIsWritten) {
  Json machine = Json::parse(run("targets --soc toy").out);
  machine["l1_bytes"] = -5;
  machine["ub_bytes"] = 3;
  write("bad.json", machine.dump());
  const std::string layer = "--input 1,20,9 --weight 24,20,3 --padding 1 --dtype f16 ";
  const Outcome sizes = run("dump " + layer + "--soc ./bad.json -o d");
  EXPECT_EQ(sizes.code, 2);
  EXPECT_THAT(sizes.err, AllOf(HasSubstr("l1_bytes = -5"), HasSubstr("ub_bytes = 3")));
  write("file", "");
  EXPECT_EQ(run("dump " + layer + "--soc toy -o file/d").code, 5);
  const Outcome type = run("dump " + layer + "--soc ascend310p3 --dtype bf16 -o d");
  EXPECT_NE(type.code, 0);
  EXPECT_FALSE(fs::exists(folder_ / "d"));
}

}  // namespace
}  // namespace cubejit
