// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of the command: each subcommand's good path, data on stdout only, and for every kind of bad input an
// error that names it, its exit code, and no file left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cubejit/cubejit.hpp"
#include "runtime/verify/reference_conv.h"
#include "tests/support/cli.h"

namespace cubejit {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const char* const kTiny = "--input 1,4,6 --weight 3,4,3 --padding 1";

std::vector<float> numbers(std::size_t count, int first) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>((static_cast<int>(i) * 7 + first) % 9 - 4);
  return values;
}

std::vector<Json> lines(const std::string& text) {
  std::vector<Json> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(Json::parse(line));
  return out;
}

TEST_F(Cli, TargetsPlanAndVersionsAreData) {
  Outcome o = run("targets --json");
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(lines(o.out).at(0).at("schema"), "cubejit.target/1");
  EXPECT_GE(lines(o.out).at(0).at("threads").get<int>(), 1);
  EXPECT_EQ(o.err, "");
  o = run(std::string("plan ") + kTiny + " --explain --json --isa avx2");
  EXPECT_EQ(o.code, 0) << o.err;
  const std::vector<Json> plans = lines(o.out);
  ASSERT_EQ(plans.size(), 3U);
  EXPECT_EQ(plans[0].at("pass"), "dx");
  EXPECT_FALSE(plans[1].at("candidates").empty());
  EXPECT_TRUE(plans[2].contains("workspace_bytes"));
  EXPECT_THAT(run(std::string("plan ") + kTiny + " --explain").out, HasSubstr("legal candidates"));
  EXPECT_EQ(run("--version").code, 0);
  EXPECT_EQ(run("verify --help").code, 0);
}

TEST_F(Cli, PassesAreReadByTheirOldFlag) {  // that of 0.2.0
  const auto planBy = [&](const std::string& flag) {
    return lines(run(std::string("plan ") + kTiny + flag + " dw --json").out).at(0).at("plan");
  };
  EXPECT_EQ(planBy(" --passes").at("pass"), "dw");
  EXPECT_EQ(planBy(" --gradients"), planBy(" --passes"));
}

TEST_F(Cli, PlansFollowTheThreads) {
  std::vector<std::string> plans;
  for (const std::string threads : {"1", "2", "8"}) {
    const std::string ask = "plan --input 8,16,64,64 --weight 16,16,3,3 --padding 1 --passes dw --threads " + threads;
    EXPECT_THAT(run(ask).out, HasSubstr("(" + threads + " cores)"));
    plans.push_back(lines(run(ask + " --json").out).at(0).at("plan").dump());
  }
  EXPECT_NE(plans[0], plans[1]);
  EXPECT_NE(plans[1], plans[2]);
}

TEST_F(Cli, PlansFromOutsideGoThroughTheSameCheck) {
  const Outcome o = run(std::string("plan ") + kTiny + " --passes dx --json");
  ASSERT_EQ(o.code, 0) << o.err;
  Json plan = lines(o.out).at(0).at("plan");
  write("plan.json", plan.dump() + "\n");
  EXPECT_EQ(run(std::string("verify ") + kTiny + " --passes dx --plan plan.json").code, 0);
  plan["register_vectors"] = 1000;
  write("plan.json", plan.dump() + "\n");
  for (const std::string command : {"bench --json", "dump -o d"}) {
    refused(3, command + " " + kTiny + " --passes dx --plan plan.json", {"vector registers"});
  }
  const std::string deep = std::string(250000, '[') + std::string(250000, ']');
  write("plan.json", R"({"plan":{"version":)" + deep + "}}\n");
  refused(2, std::string("verify ") + kTiny + " --passes dx --plan plan.json", {"not a JSON object"});
}

TEST_F(Cli, ThreeSpellingsOfOneProblem) {
  const auto planOf = [&](const std::string& problem, const std::string& input = "") {
    const Outcome o = run("plan " + problem + " --passes dw --json", input);
    EXPECT_EQ(o.code, 0) << o.err;
    Json line = lines(o.out).at(0);
    line.erase("name");
    EXPECT_GT(line.value("plan_us", 0.0), 0.0);
    line.erase("plan_us");
    return line;
  };
  const std::string json =
      R"({"name":"j","rank":2,"n":2,"ci":8,"co":6,"groups":2,"input":[1,9,8],"output":[1,5,8],"kernel":[1,3,3],)"
      R"("stride":[1,2,1],"pad":[0,0,1,1,2,2],"dilation":[1,1,2]})";
  const Json flags =
      planOf("--input 2,8,9,8 --weight 6,4,3,3 --stride 2,1 --padding 1,1,2,2 --dilation 1,2 --groups 2");
  EXPECT_EQ(planOf("--prb g2mb2ic8ih9iw8oc6oh5ow8kh3kw3sh2sw1ph1pw2dh0dw1"), flags);
  EXPECT_EQ(planOf("--problem -", json + "\n"), flags);
  write("p.json", json + "\n" + json + "\n");
  EXPECT_EQ(planOf("--problem p.json:j"), flags);
}

TEST_F(Cli, DumpWritesTheStagesAskedFor) {
  Outcome o = run(std::string("dump ") + kTiny + " --passes dx --isa avx2 --emit plan,tile,vector,asm,bin -o out/deep");
  ASSERT_EQ(o.code, 0) << o.err;
  const fs::path folder = folder_ / o.out.substr(0, o.out.find('\n'));
  EXPECT_THAT(folder.filename().string(), AllOf(HasSubstr("dx_f32"), HasSubstr("avx2")));
  bool listing = false, bytes = false, vector = false;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    listing = listing || (entry.path().extension() == ".s" && slurp(entry.path()).find("ret") != std::string::npos);
    bytes = bytes || (entry.path().extension() == ".bin" && fs::file_size(entry.path()) > 0);
    vector = vector || name.find(".vector.txt") != std::string::npos;
  }
  EXPECT_TRUE(listing && bytes && vector);
  EXPECT_FALSE(slurp(folder / "tile.txt").empty());
  EXPECT_TRUE(Json::accept(slurp(folder / "plan.json")));
  const std::string first = slurp(folder / "tile.txt");
  EXPECT_EQ(run(std::string("dump ") + kTiny + " --passes dx --isa avx2 --emit tile -o out/deep").code, 0)
      << "twice is fine";
  EXPECT_EQ(slurp(folder / "tile.txt"), first);
  for (const auto& entry : fs::directory_iterator(folder)) {
    EXPECT_NE(entry.path().extension(), ".bin") << "a folder shows one dump, not a mixture";
  }
}

TEST_F(Cli, RunComputesTheGradientsNamedByOut) {
  Problem p;
  p.rank = 2;
  p.batch = 2;
  p.cin = 4;
  p.cout = 6;
  p.groups = 2;
  p.in = p.out = Dhw{1, 5, 4};
  p.kernel = Dhw{1, 3, 3};
  p.padBefore = p.padAfter = Dhw{0, 1, 1};
  const auto dy = numbers(2 * 6 * 20, 1), x = numbers(2 * 4 * 20, 2), w = numbers(6 * 2 * 9, 3);
  write("w.npy", npy("(6, 2, 3, 3)", w));
  for (const bool plain : {true, false}) {
    p.layout = plain ? Layout::kNcdhw : Layout::kNdhwc;
    write("dy.npy", npy(plain ? "(2, 6, 5, 4)" : "(2, 5, 4, 6)", dy));
    write("x.npy", npy(plain ? "(2, 4, 5, 4)" : "(2, 5, 4, 4)", x, "<f4", "False", 2));
    const std::string problem = std::string("run --input 2,4,5,4 --weight 6,2,3,3 --groups 2 --padding 1 --layout ") +
                                (plain ? "ncdhw" : "ndhwc");
    Outcome o = run(problem +
                    " --in dy=dy.npy --in x=x.npy --in w=w.npy --out dx=dx.npy --out dw=dw.npy --out db=db.npy --json");
    ASSERT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(lines(o.out).size(), 3U);
    const ReferenceResults want = referenceResults(p, {true, true, true}, dy, x, w);
    const auto toFloat = [](const std::vector<double>& v) { return std::vector<float>(v.begin(), v.end()); };
    EXPECT_EQ(slurp(folder_ / "dx.npy"), npy(plain ? "(2,4,5,4,)" : "(2,5,4,4,)", toFloat(want.dx)));
    EXPECT_EQ(slurp(folder_ / "dw.npy"), npy("(6,2,3,3,)", toFloat(want.dw)));
    EXPECT_EQ(slurp(folder_ / "db.npy"), npy("(6,)", toFloat(want.db)));
    for (const char* name : {"dx.npy", "dw.npy", "db.npy"}) fs::remove(folder_ / name);
    o = run(problem + " --in dy=dy.npy --out db=db.npy");
    EXPECT_EQ(o.code, 0) << "db needs dy alone: " << o.err;
    EXPECT_EQ(o.out, "");
    EXPECT_FALSE(fs::exists(folder_ / "dx.npy"));
  }
}

TEST_F(Cli, PackAndUnpackAreInverse) {
  const auto w = numbers(6 * 2 * 9, 3);
  write("w.npy", npy("(6,2,3,3,)", w));
  const std::string problem =
      " --input 2,4,5,4 --weight 6,2,3,3 --groups 2 --padding 1 --dtype f16 --layout w=fractal_z ";
  Outcome o = run("pack" + problem + "--tensor w --in w.npy --out packed.npy --json");
  ASSERT_EQ(o.code, 0) << o.err;
  const Json line = lines(o.out).at(0);
  EXPECT_EQ(line["layout"], "fractal_z_3d");
  EXPECT_EQ(line["shape"], Json::array({9, 1, 16, 16})) << "both groups share a real group";
  o = run("unpack" + problem + "--tensor w --in packed.npy --out back.npy");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(slurp(folder_ / "back.npy"), slurp(folder_ / "w.npy"));
  o = run("pack" + problem + "--tensor w --in w.npy --out packed.raw");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(fs::file_size(folder_ / "packed.raw"), 9U * 16 * 16 * 2);
  for (const char* name : {"packed.npy", "back.npy", "packed.raw"}) fs::remove(folder_ / name);
  write("short.raw", "12");
  refused(2, "unpack" + problem + "--tensor w --in short.raw --out back.npy", {"holds 2 bytes", "takes 4608"});
  refused(2, "pack" + problem + "--tensor v --in w.npy --out back.npy",
          {"unknown tensor 'v'", "dy, x, w, dx, dw, db, y"});
  refused(5, "pack" + problem + "--tensor w --in none.raw --out back.npy", {"cannot read none.raw"});
}

TEST_F(Cli, VerifyOneSuiteAndFuzz) {
  EXPECT_EQ(run(std::string("verify ") + kTiny + " --backend llvm --agree xbyak,interpreter").code, 0);
  Outcome o = run(std::string("verify ") + kTiny + " --threads 1,2,3");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out, "1 passed, 0 failed, 0 skipped\n");
  o = run("verify --fuzz 60 --seed 5 --json");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(lines(o.out).size(), 60U);
  EXPECT_THAT(o.err, HasSubstr("60 passed, 0 failed, 0 skipped"));
  EXPECT_THAT(o.out, AllOf(HasSubstr("--layout ncdhw"), HasSubstr("--layout ndhwc")))
      << "both layouts unless one is given";
  o = run("verify --fuzz 5 --dtype f16 --layout any --json");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out, AllOf(HasSubstr("--dtype f16"), Not(HasSubstr("f32")))) << "layouts are drawn, types are given";
  o = run("verify --input 1,4,60 --weight 3,4,3 --passes dx --max-macs 100 --json");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out, AllOf(HasSubstr(R"("elements":240,"compared":16)"), HasSubstr("--max-macs 100")))
      << "a problem that was spelled out is sampled if that is asked for";
  write("suite.jsonl", R"({"name":"good","n":1,"ci":2,"co":2,"input":[1,1,5],"output":[1,1,3],"kernel":[1,1,3]})"
                       "\n"
                       R"({"name":"bad","n":1,"ci":2,"co":2,"input":[1,1,5],"output":[1,1,4],"kernel":[1,1,3]})"
                       "\n");
  o = run("verify --suite suite.jsonl");
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.out, "1 passed, 1 failed, 0 skipped\n");
  EXPECT_THAT(o.err, AllOf(HasSubstr("error[invalid_problem]: bad: out.w = 4"), HasSubstr("must be 3"),
                           HasSubstr("= repro: cubejit verify --input 1,2")));
}

TEST_F(Cli, ALimitOfWorkspaceHoldsAndTheWorkspaceOfACallIsSaid) {
  const std::string problem = "--input 8,64,14,14 --weight 64,64,3,3 --padding 1 --layout ncdhw --passes y,dx,dw";
  const auto bytesOf = [&](const std::string& more) {
    const Outcome o = run("plan " + problem + more + " --json");
    EXPECT_EQ(o.code, 0) << o.err;
    const std::string key = R"("interleaves":false,"workspace_bytes":)";
    return std::stoll(o.out.substr(o.out.find(key) + key.size()));
  };
  EXPECT_THAT(run("plan " + problem).out, HasSubstr("y,dx,dw in one call\n"));
  const auto free = bytesOf("");
  EXPECT_LE(bytesOf(" --mem-limit " + std::to_string(free / 1024 * 2 / 3) + "K"), free * 2 / 3);
  const Outcome least = run("verify " + problem + " --mem-limit 1K");
  EXPECT_EQ(least.code, 4);
  EXPECT_THAT(least.err, AllOf(HasSubstr("bytes of workspace, the limit is 1024 bytes"), HasSubstr("--mem-limit 1K")));
  EXPECT_THAT(run("plan " + problem + " --mem-limit 1Q").err, HasSubstr("'1Q' must be a whole number of bytes"));
  for (const char* ofHost : {" --mem-limit 1M", " --batch-invariant"})
    EXPECT_THAT(run("plan " + problem + " --soc ascend910b2" + ofHost).err, HasSubstr("leave it out with --soc"));
}

TEST_F(Cli, AProblemWhosePlanIsRefusedIsNoFailureOfTheComputation) {
  const std::string problem = std::string(kTiny) + " --passes dx";
  const Outcome planned = run("plan " + problem + " --json --algorithm direct");
  ASSERT_EQ(planned.code, 0) << planned.err;
  const Json plan = Json::parse(planned.out).at("plan");
  const auto changed = [&](const char* name, const Json& value) {
    Json other = plan;
    other[name] = value;
    write("plan.json", other.dump());
  };
  for (const char* command : {"verify ", "plan ", "bench "}) {
    const std::string line = command + problem + " --plan plan.json";
    changed("version", 1);
    refused(2, line, {"of version 1,", "reads version 2", "--plan plan.json"});
    changed("winograd_tile", 4);
    refused(2, line, {"'winograd_tile' is not a key", "--plan plan.json"});
    changed("algorithm", "wino");
    refused(2, line, {"'algorithm' = 'wino'", "direct", "--plan plan.json"});
    write("plan.json", "{");
    refused(2, line, {"not a JSON object", "--plan plan.json"});
  }
  Json old = plan;
  write("plan.json", (old.erase("version"), old.dump()));
  refused(2, "verify " + problem + " --plan plan.json", {"(it has no 'version')"});
  changed("winograd_tile", 4);
  const Outcome suite =
      run("verify --suite /dev/stdin --passes dx --plan plan.json",
          R"({"name":"row","n":1,"ci":4,"co":3,"input":[1,1,6],"output":[1,1,6],"kernel":[1,1,3],"pad":[0,0,0,0,1,1]})"
          "\n");
  EXPECT_NE(suite.code, 0);
  EXPECT_THAT(suite.err, HasSubstr("winograd_tile"));
}

TEST_F(Cli, ExplainedPlansAreRunBesideTheirCosts) {
  const std::string problem = "plan --input 2,32,14,14 --weight 32,32,3,3 --padding 1 --passes dx,dw --explain ";
  const Outcome o = run(problem + "--json --threads 2");
  ASSERT_EQ(o.code, 0) << o.err;
  for (const Json& line : lines(o.out)) {
    std::size_t measured = 0;
    for (const Json& candidate : line.at("candidates")) {
      if (!candidate.contains("measured")) continue;
      ++measured;
      EXPECT_GT(candidate.at("measured").at("cycles").get<double>(), 0);
    }
    EXPECT_GE(measured, 3U);
    const Json& took = line.at("measured");
    double parts = 0;
    for (const char* part : {"multiplying", "moving", "walking", "waiting"}) parts += took.at(part).get<double>();
    EXPECT_NEAR(parts / took.at("cycles").get<double>(), 2.0, 0.1) << took;  // of two threads
    EXPECT_TRUE(line.at("candidates").front().contains("measured"));
  }
  const std::string text = run(problem).out;
  EXPECT_THAT(text, AllOf(HasSubstr("measured, the plan chosen: "), HasSubstr("; on all cores: multiplying"),
                          HasSubstr("; regret "), HasSubstr("% of the peak")));
  EXPECT_THAT(run("plan --input 2,32,14,14 --weight 32,32,3,3 --padding 1 --passes db --explain").out,
              AllOf(HasSubstr("; on all cores: adding"), Not(HasSubstr("multiplying")), Not(HasSubstr("peak"))));
  EXPECT_THAT(run(problem + "--isa neon").out, HasSubstr("not measured: "));
}

TEST_F(Cli, PlansOfASuiteGoOnBehindABadRow) {
  const std::string row =
      R"({"name":"good","rank":1,"n":1,"ci":4,"co":4,"input":[1,1,8],"output":[1,1,8],"kernel":[1,1,3],"pad":[0,0,0,0,1,1]})";
  const std::string bad =
      R"({"name":"bad","rank":1,"n":1,"ci":4,"co":4,"input":[1,1,8],"output":[1,1,5],"kernel":[1,1,3],"pad":[0,0,0,0,1,1]})";
  const Outcome o = run("plan --suite /dev/stdin --passes dx --json", bad + "\n" + row + "\n");
  EXPECT_EQ(o.code, 2);
  EXPECT_THAT(o.err, HasSubstr("out.w = 5"));
  ASSERT_EQ(lines(o.out).size(), 1U) << o.err;
  EXPECT_EQ(lines(o.out)[0].at("name"), "good");
}

TEST_F(Cli, BenchBreaksTimeDownIntoPartsThatAddUp) {
  const std::string problem = "bench --input 4,32,28,28 --weight 32,32,3,3 --padding 1 --passes dx,dw --threads 2 ";
  const Outcome o = run(problem + "--breakdown --json --min-seconds 0");
  ASSERT_EQ(o.code, 0) << o.err;
  for (const Json& line : lines(o.out)) {
    const Json& parts = line.at("breakdown");
    double sum = 0, kernels = 0;
    for (const char* part : {"multiplying", "moving", "walking", "waiting"}) sum += parts.at(part).get<double>();
    EXPECT_NEAR(sum, 1.0, 0.02) << parts;
    for (const Json& kernel : parts.at("kernels")) kernels += kernel.at("share").get<double>();
    EXPECT_NEAR(kernels, parts.at("multiplying").get<double>() + parts.at("moving").get<double>(), 1e-6) << parts;
    EXPECT_GT(parts.at("peak_fraction_multiplying").get<double>(), 0) << parts;
  }
  const Outcome text = run(problem + "--breakdown --min-seconds 0");
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("%  multiplying, at "), HasSubstr("%  waiting: 2 threads"), HasSubstr("calls of")));
  const std::string adding =
      "bench --input 4,32,28,28 --weight 32,32,3,3 --passes db --threads 2 --breakdown --min-seconds 0 ";
  EXPECT_THAT(run(adding).out,
              AllOf(HasSubstr("%  adding up dy"), HasSubstr("    adds sum"), Not(HasSubstr("multipl"))));
  EXPECT_FALSE(Json::parse(run(adding + "--json").out).at("breakdown").contains("peak_fraction_multiplying"));
  EXPECT_THAT(run(problem + "--json --min-seconds 0").out, Not(HasSubstr("breakdown")));
  refused(2, problem + "--breakdown --soc ascend910b2", {"are for the host", "leave them or --soc out"});
}

TEST_F(Cli, BenchPrintsTheFieldsOfItsContract) {
  const Outcome o = run(std::string("bench ") + kTiny +
                        " --passes dx,dw,db --dtype f32 --layout ncdhw --threads 1 --isa avx2 --json --min-seconds 0");
  ASSERT_EQ(o.code, 0) << o.err;
  const std::vector<Json> out = lines(o.out);
  ASSERT_EQ(out.size(), 3U);
  for (const char* field :
       {"schema", "name", "pass", "dtype", "layout", "isa", "backend", "threads", "ns_median", "ns_min",
        "cpu_ns_median", "samples", "flops", "gflops", "peak_gflops", "workspace_bytes", "generate_us", "plan"}) {
    for (const Json& line : out) EXPECT_TRUE(line.contains(field)) << field;
  }
  EXPECT_TRUE(out[0].contains("peak_fraction") && out[1].contains("peak_fraction"));
  EXPECT_FALSE(out[2].contains("peak_fraction")) << "db does not multiply";
  EXPECT_THAT(run(std::string("bench ") + kTiny + " --passes db --min-seconds 0").out,
              ::testing::ContainsRegex("db .* - +[0-9]+K"));
  EXPECT_EQ(out[0].at("flops"), 2 * 3 * 4 * (6 * 3 - 2)) << "the two taps on padding do not count";
  EXPECT_EQ(out[2].at("flops"), 3 * 6);
  EXPECT_EQ(out[1].at("pass"), "dw");
  EXPECT_EQ(out[0].at("layout"), "ncdhw");
  EXPECT_GE(out[0].at("samples").get<int>(), 7);
  EXPECT_LE(out[0].at("ns_min").get<double>(), out[0].at("ns_median").get<double>());
  EXPECT_GT(out[0].at("cpu_ns_median").get<double>(), 0);
}

TEST_F(Cli, ProblemsThatBreakRules) {
  for (const std::string command : {"plan", "verify", "bench", "dump -o d", "run --in dy=a --out db=b"}) {
    refused(2, command + " --input 1,0,-4 --weight 0,0,3", {"cin = 0 must be at least 1", "cout = 0", "in.w = -4"});
  }
  refused(2, "plan --input 1,5,8 --weight 4,4,3 --groups 3",
          {"is not --input's 5", "cin = 5 is not divisible by groups = 3", "cout = 4 is not divisible by groups = 3"});
  refused(2, "plan --input 1,4,8 --weight 4,4,3 --stride 9223372036854775807 --padding 9223372036854775802",
          {"stride.w = 9223372036854775807 must be at most 2^31 - 1", "pad_before.w = 9223372036854775802"});
  refused(2, "plan --input 1,4,8 --weight 4,4,3 --stride 99999999999999999999",
          {"--stride = '99999999999999999999'", "2^63 - 1"});
  refused(2, "plan --input 1048576,1048576,1048576,1048576 --weight 1048576,1048576,1,1",
          {"x takes 4 x", "y takes 4 x"});
  refused(2, "plan --input 1,4,2 --weight 4,4,3", {"dilated kernel, 3, is larger than the padded input, 2"});
  refused(2, "plan --problem -", {"out.w = 9 does not follow from the input; it must be 6"},
          R"({"n":1,"ci":2,"co":2,"input":[1,1,8],"output":[1,1,9],"kernel":[1,1,3]})");
  refused(2, "plan --problem -", {"'kernal' is not a key", "'kernel' is missing"},
          R"({"n":1,"ci":2,"co":2,"input":[1,1,8],"output":[1,1,6],"kernal":[1,1,3]})");
  refused(2, "plan --prb mb1ic4iw8oc4kw0", {"kernel.w = 0"});
}

TEST_F(Cli, WrongFlags) {
  refused(2, "", {"subcommand"});
  refused(2, "plan --bogus 3", {"--bogus"});
  refused(2, "plan", {"no problem given"});
  refused(2, std::string("plan ") + kTiny + " --prb ic1iw1oc1kw1", {"more than one way"});
  refused(2, "plan --prb mb1ic4iw8oc4kw3 --stride 2", {"belong to --input and --weight"});
  refused(2, std::string("plan ") + kTiny + " --passes dx,dz", {"unknown pass 'dz'"});
  refused(2, std::string("bench ") + kTiny + " --threads 1,2", {"only verify takes one"});
  refused(2, std::string("verify ") + kTiny + " --threads 0", {"--threads"});
  refused(2, std::string("plan ") + kTiny + " --dtype f8", {"unknown dtype 'f8'", "f32, f16, bf16"});
  refused(2, std::string("plan ") + kTiny + " --layout chwn", {"unknown layout 'chwn'"});
  refused(2, std::string("plan ") + kTiny + " --isa mmx", {"mmx"});
  refused(2, std::string("plan ") + kTiny + " --backend gcc",
          {"unknown backend 'gcc'", "xbyak, llvm, interpreter, tile_interpreter"});
  refused(2, std::string("verify ") + kTiny + " --agree gcc", {"unknown backend 'gcc'"});
  refused(3, std::string("bench ") + kTiny + " --isa neon", {"cannot run neon"});
  refused(2, std::string("dump ") + kTiny + " --emit plan,htm -o d", {"unknown stage 'htm'; the nearest is html"});
}

TEST_F(Cli, FilesThatAreMissingOrUnwritable) {
  refused(5, "verify --suite nowhere.jsonl", {"cannot read nowhere.jsonl"});
  refused(5, "plan --problem nowhere.json", {"cannot read nowhere.json"});
  refused(5, std::string("verify ") + kTiny + " --plan nowhere.json", {"cannot read nowhere.json"});
  write("file", "");
  refused(5, std::string("dump ") + kTiny + " -o file/below", {"file/below"});
  refused(5, std::string("dump ") + kTiny + " -o /proc/cubejit", {"/proc/cubejit"});
  write("dy.npy", npy("(1, 3, 6)", numbers(18, 0)));
  write("x.npy", npy("(1, 4, 6)", numbers(24, 0)));
  const std::string to = std::string("run ") + kTiny + " --layout ncdhw --in dy=dy.npy --in x=x.npy ";
  refused(5, to + "--out db=db.npy --out dw=nowhere/dw.npy", {"cannot write nowhere/dw.npy"});
  refused(5, to + "--out db=db.npy --out dw=/proc/dw.npy", {"cannot write /proc/dw.npy"});
  fs::create_directory(folder_ / "taken");
  refused(5, to + "--out db=db.npy --out dw=taken", {"taken", "folder"});
}

TEST_F(Cli, ArraysOfTheWrongKind) {
  const std::string ask = std::string("run ") + kTiny + " --layout ncdhw --in dy=dy.npy --out db=db.npy";
  const auto with = [&](const std::string& contents, int code, const std::string& word) {
    write("dy.npy", contents);
    refused(code, ask, {"dy.npy", word});
  };
  const std::vector<float> right = numbers(18, 0);
  refused(5, ask, {"cannot read dy.npy"});
  with(npy("(1, 6, 3)", right), 2, "has shape (1,6,3,), the problem and layout need (1,3,6,)");
  with(npy("(18,)", right), 2, "has shape (18,)");
  with(npy("(1, 3, 6)", right, "<f8"), 2, "'<f8'");
  with(npy("(1, 3, 6)", right, ">f4"), 2, "'>f4'");
  with(npy("(1, 3, 6)", right, "<f4", "True"), 2, "Fortran order");
  with(npy("(1, 3, 6)", numbers(17, 0)), 2, "holds 68 bytes of data, its shape needs 72");
  with(npy("(1, 3, 6)", numbers(19, 0)), 2, "holds 76 bytes");
  with(npy("(1, 3, 9223372036854775807)", right), 2, "shape");
  with(npy("(1, -3, 6)", right), 2, "no readable shape");
  with(npy("(1, 3, 6)", right, "<f4", "False", 3), 2, "format 3");
  with("", 2, "not a NumPy file");
  with("hello, this is text", 2, "not a NumPy file");
  const std::string good = npy("(1, 3, 6)", right);
  for (const std::size_t length : {std::size_t{7}, std::size_t{9}, std::size_t{40}, good.size() - 1})
    with(good.substr(0, length), 2, "dy.npy");
  write("dy.npy", good);
  EXPECT_EQ(run(ask).code, 0) << "the array they are all made from is fine";
}

// What files and arguments hold is not obeyed by a terminal, and is UTF-8.
TEST_F(Cli, ErrorsHoldNoControls) {
  refused(2,
          "plan --prb 'mb1\x1b[31mic\xff\xc2\x9b"
          "2J'",
          {R"(mb1\x1b[31mic\xff\xc2\x9b2J)"});
}

TEST_F(Cli, TensorsThatAreNotNamed) {
  refused(2, std::string("run ") + kTiny + " --in dy=dy.npy", {"no --out given"});
  refused(2, std::string("run ") + kTiny + " --passes y --in dy=dy.npy --in w=w.npy --out dx=dx.npy",
          {"--passes y and --out dx differ; leave --passes out"});
  refused(2, std::string("run ") + kTiny + " --in x=x.npy --out dx=dx.npy",
          {"--in dy=FILE is missing", "--in w=FILE is missing"});
  refused(2, std::string("run ") + kTiny + " --in dz=z.npy --in y --out dx=", {"--in dz=z.npy must be NAME=FILE"});
  refused(2, std::string("run ") + kTiny + " --in dy=a --in dy=b --out db=db.npy", {"names dy a second time"});
  refused(2, std::string("run ") + kTiny + " --in dy=a --in x=x --out db=same.npy --out dw=same.npy",
          {"--out db and --out dw are the same file: same.npy, same.npy"});
}

TEST_F(Cli, TheEnvironmentIsReadStrictly) {
  EXPECT_THAT(run(std::string("plan ") + kTiny + " --json", "", "CUBEJIT_MAX_ISA=avx2").out,
              HasSubstr("\"isa\":\"avx2\""));
  refused(2, std::string("plan ") + kTiny, {"mmx"}, "", "CUBEJIT_MAX_ISA=mmx");
  refused(2, std::string("verify ") + kTiny, {"'gcc'", "xbyak, llvm, interpreter"}, "", "CUBEJIT_BACKEND=gcc");
}

TEST_F(Cli, TheBackendIsTheFlagsTheEnvironmentsOrTheIsas) {
  const std::string verify = std::string("verify ") + kTiny + " --passes dx";
  const auto backend = [&](const std::string& flags, const std::string& environment) {
    const Outcome o = run(verify + flags, "", environment + " CUBEJIT_VERBOSE=dispatch");
    EXPECT_EQ(o.code, 0) << o.err;
    const std::size_t at = o.err.find(" backend=");
    return at == std::string::npos ? o.err : o.err.substr(at + 9, o.err.find(' ', at + 9) - at - 9);
  };
  EXPECT_EQ(backend("", ""), toString(kUsualBackend));
  EXPECT_EQ(backend("", "CUBEJIT_BACKEND=llvm"), "llvm");
  EXPECT_EQ(backend(" --backend interpreter", "CUBEJIT_BACKEND=llvm"), "interpreter");
  // Code for the other architecture is dumped by the backend that writes it, and is not run.
  const Outcome foreign = run(std::string("dump ") + kTiny + " --passes dx --isa neon --emit asm,mca -o out");
  EXPECT_EQ(foreign.code, 0) << foreign.err;
  const Outcome refusedToRun = run(std::string("bench ") + kTiny + " --passes dx --isa sve256");
  if (kUsualBackend == BackendKind::kXbyak) {
    EXPECT_THAT(foreign.err, HasSubstr("cannot run neon code"));
    EXPECT_EQ(refusedToRun.code, 3);
    EXPECT_THAT(refusedToRun.err, HasSubstr("cannot run sve256 code"));
  }
}

}  // namespace
}  // namespace cubejit
