// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of the documented tiling classes: defaults, setters, checks and the structs they fill. Both documented
// spellings of the headers are included.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "api/ascendc/request_rules.h"
#include "api/ascendc/tiling_values.h"
#include "cubejit/cubejit.h"
#include "lib/conv_backprop/conv3d_bp_filter_tiling.h"
#include "lib/conv_backprop/conv3d_bp_input_tiling.h"
#include "tiling/conv_backprop/conv3d_bp_filter_tiling.h"
#include "tiling/conv_backprop/conv3d_bp_input_tiling.h"
#include "tiling/platform/platform_ascendc.h"

namespace {

using ConvBackpropApi::Conv3dBpFilterTiling;
using ConvBackpropApi::Conv3DBpInputTiling;
using ConvCommonApi::ConvDtype;
using ConvCommonApi::ConvFormat;
using ConvCommonApi::TPosition;
using platform_ascendc::SocVersion;
using ::testing::AllOf;
using ::testing::HasSubstr;

// x1_12 of the published networks.
template <class T>
void setX112(T& tiling) {
  tiling.SetWeightShape(256, 256, 3, 3, 3);
  tiling.SetInputShape(1, 256, 11, 128, 128);
  tiling.SetGradOutputShape(1, 256, 9, 128, 128);
  tiling.SetPadding(0, 0, 1, 1, 1, 1);
}

struct OpenInput : Conv3DBpInputTiling {
  using Conv3DBpInputTiling::Conv3DBpInputTiling;
  const ConvBackpropApi::PlatformInfo& info() const { return platformInfo; }
  const cubejit::ascendc::TilingRequest& request() const { return request_; }
};

TEST(TilingClasses, DefaultsAreTheDocumentedOnes) {
  const OpenInput t;
  EXPECT_EQ(t.info().socVersion, SocVersion::ASCEND910B);
  EXPECT_EQ(t.info().l1Size, 524288U);
  EXPECT_EQ(t.info().l0ASize, 65536U);
  EXPECT_EQ(t.info().l0CSize, 131072U);
  EXPECT_EQ(t.info().ubSize, 262144U);
  EXPECT_EQ(t.info().btSize, 1024U);
  EXPECT_EQ(t.info().fbSize, 2048U);
  EXPECT_EQ(t.request().weight.format, ConvFormat::FRACTAL_Z_3D);
  EXPECT_EQ(t.request().input.format, ConvFormat::NCDHW);
  EXPECT_EQ(t.request().input.position, TPosition::CO1);
  EXPECT_EQ(t.request().groups, 1);
  EXPECT_EQ(t.request().n, -1);
}

TEST(TilingClasses, OlderSpellingsAreTheSame) {
  Convolution3DBackprop::Conv3DBpInputTiling t;
  t.SetWeightType(Convolution3DBackprop::TPosition::GM, Convolution3DBackprop::ConvFormat::FRACTAL_Z_3D,
                  Convolution3DBackprop::ConvDtype::BF16);
  static_assert(std::is_same_v<Convolution3DBackprop::TPosition, TPosition>);
  static_assert(std::is_same_v<Convolution3DBackprop::ConvDtype, ConvDtype>);
  static_assert(std::is_same_v<Convolution3DBackprop::Conv3DBpInputTiling, Conv3DBpInputTiling>);
}

TEST(TilingClasses, PlatformsAreTakenOver) {
  const OpenInput info(ConvBackpropApi::PlatformInfo{.socVersion = SocVersion::ASCEND910_93,
                                                     .l1Size = 100,
                                                     .l0CSize = 200,
                                                     .ubSize = 300,
                                                     .l0ASize = 400,
                                                     .l0BSize = 500,
                                                     .btSize = 6,
                                                     .fbSize = 7});
  EXPECT_EQ(info.info().l0BSize, 500U);
  EXPECT_EQ(info.info().btSize, 1024U);  // forced
  EXPECT_EQ(info.request().machine.buffers.l1Bytes, 100);
  fe::PlatFormInfos chip(*cubejit::machineByName("Ascend310P3"));
  const platform_ascendc::PlatformAscendC platform(&chip);
  const OpenInput ofPlatform(platform);
  EXPECT_EQ(ofPlatform.info().socVersion, SocVersion::ASCEND310P);
  EXPECT_EQ(ofPlatform.info().l0CSize, 262144U);
  EXPECT_EQ(ofPlatform.request().machine.cores, 8);
}

TEST(TilingClasses, InputTilingIsFilledFromThePlanner) {
  Conv3DBpInputTiling tiling;
  setX112(tiling);
  optiling::Conv3DBackpropInputTilingData data;
  ASSERT_EQ(tiling.GetTiling(data), 0) << cubejit_last_error();
  const auto& t = data.conv3DDxTiling;
  EXPECT_EQ(t.get_batch(), 1U);
  EXPECT_EQ(t.get_cout1(), 16U);
  EXPECT_EQ(t.get_c0(), 16U);
  EXPECT_EQ(t.get_c0Bits(), 4U);
  EXPECT_EQ(t.get_dout(), 9U);
  EXPECT_EQ(t.get_padUp(), 1U);
  EXPECT_EQ(t.get_backpropPadUp(), 1U);
  EXPECT_EQ(t.get_backpropPadDown(), 1U);
  EXPECT_EQ(t.get_backpropPadTail(), 2U);
  EXPECT_EQ(t.get_singleCoreCout(), 256U);
  EXPECT_EQ(t.get_singleCoreBatch(), 1U);
  EXPECT_EQ(t.get_singleCoreM() % 128, 0U);
  EXPECT_EQ(t.get_stepM(), 1U);
  EXPECT_EQ(t.get_initOutputFlag(), 0);
  EXPECT_EQ(t.get_hf32Flag(), 0);
  AscendC::tiling::Conv3DBackpropInputTilingData plain, saved;
  ASSERT_EQ(tiling.GetTiling(plain), 0);  // may be repeated
  data.SaveToBuffer(&saved, sizeof(saved));
  EXPECT_EQ(data.GetDataSize(), 280U);
#define CUBEJIT_TILING_FIELD(type, name) EXPECT_EQ(saved.conv3DDxTiling.name, plain.conv3DDxTiling.name);
#include "tiling/conv_backprop/conv3d_bp_input_tiling_fields.def"
#undef CUBEJIT_TILING_FIELD
  std::uint32_t padding = 1;  // between the last field of 4 bytes and the first of 8
  std::memcpy(&padding, reinterpret_cast<const char*>(&saved) + 63 * sizeof(padding), sizeof(padding));
  EXPECT_EQ(padding, 0U);
  EXPECT_THAT(cubejit::ascendc::checkTiling(plain.conv3DDxTiling, *cubejit::machineByName("ascend910b2")),
              testing::IsEmpty());
}

TEST(TilingClasses, SettersKeepWhatWasSetAndWhatItIs) {
  Conv3DBpInputTiling t;
  EXPECT_TRUE(t.SetOutputPadding(0, 1, 0));
  EXPECT_TRUE(t.SetWeightShape(44, 4, 2, 3, 2));
  EXPECT_FALSE(t.SetWeightShape(45, 4, 2, 3, 2));
  EXPECT_FALSE(t.SetInputShape(1, 5, 1, 1, 1));
  EXPECT_TRUE(t.SetGradOutputShape(1, 44, 17, 5, 77));
  EXPECT_FALSE(t.SetInputShape(2, 4, 18, 12, 78));
  EXPECT_TRUE(t.SetInputShape(1, 4, 18, 12, 78));
  EXPECT_FALSE(t.SetOutputPadding(0, 0, 0));  // no longer a transposed convolution
}

TEST(TilingClasses, TransposedInputIsInferred) {
  Conv3DBpInputTiling tiling;
  tiling.SetWeightShape(44, 4, 2, 3, 2);
  tiling.SetGradOutputShape(1, 44, 17, 5, 77);
  tiling.SetStride(1, 2, 1);
  tiling.SetOutputPadding(0, 1, 0);
  AscendC::tiling::Conv3DBackpropInputTilingData data;
  ASSERT_EQ(tiling.GetTiling(data), 0) << cubejit_last_error();
  EXPECT_EQ(data.conv3DDxTiling.di, 18U);
  EXPECT_EQ(data.conv3DDxTiling.hi, 12U);
  EXPECT_EQ(data.conv3DDxTiling.wi, 78U);
  EXPECT_EQ(data.conv3DDxTiling.initOutputFlag, 1);
  tiling.SetWeightShape(44, 4, 2, 3, 0);
  const auto before = data.conv3DDxTiling;
  EXPECT_EQ(tiling.GetTiling(data), -1);
  EXPECT_THAT(cubejit_last_error(), HasSubstr("kernel W = 0"));
  EXPECT_EQ(std::memcmp(&before, &data.conv3DDxTiling, sizeof(before)), 0);  // not touched
}

TEST(TilingClasses, EveryBrokenRuleOfAnInputTilingIsTold) {
  Conv3DBpInputTiling t;
  setX112(t);
  t.SetGroup(3);
  t.SetStride(4, 64, 1);
  t.SetWeightType(TPosition::GM, ConvFormat::NCDHW, ConvDtype::FLOAT32);
  t.SetPadding(3, 0, 1, 1, 1, 1);
  AscendC::tiling::Conv3DBackpropInputTilingData data;
  EXPECT_EQ(t.GetTiling(data), -1);
  EXPECT_THAT(cubejit_last_error(),
              AllOf(HasSubstr("groups = 3 must divide cin = 256"), HasSubstr("groups = 3 must divide cout"),
                    HasSubstr("weight format = NCDHW must be FRACTAL_Z_3D"),
                    HasSubstr("gradOutput dtype = FLOAT16 must be that of weight, FLOAT32"),
                    HasSubstr("strideD = 4 must be at most kernel D = 3"), HasSubstr("strideH = 64 must be 1 to 63")));
  Conv3DBpInputTiling empty;
  EXPECT_EQ(empty.GetTiling(data), -1);
  EXPECT_THAT(cubejit_last_error(), AllOf(HasSubstr("cout = -1"), HasSubstr("gradOutput H = -1"), HasSubstr("N = -1")));
}

TEST(TilingClasses, PadsStridesAndShapesOfInputTilingsAreTheDocumentedOnes) {
  AscendC::tiling::Conv3DBackpropInputTilingData data;
  Conv3DBpInputTiling t;
  t.SetWeightShape(16, 16, 1, 1, 1);
  t.SetInputShape(1, 16, 4, 8, 8);
  t.SetGradOutputShape(1, 16, 4, 8, 8);
  EXPECT_EQ(t.GetTiling(data), 0) << cubejit_last_error();
  t.SetStride(256, 256, 256);
  EXPECT_EQ(t.GetTiling(data), -1);
  t.SetStride(1, 1, 1);
  t.SetPadding(256, 256, 0, 0, 0, 0);
  EXPECT_EQ(t.GetTiling(data), -1);
  EXPECT_THAT(cubejit_last_error(), HasSubstr("padFront = 256 must be 0 to 0"));
  t.SetPadding(0, 0, 0, 0, 0, 0);
  t.SetDilation(1000, 1000, 1000);  // a kernel of one tap is not dilated
  EXPECT_EQ(t.GetTiling(data), 0) << cubejit_last_error();
  t.SetDilation(1, 1, 1);
  t.SetBackpropPadding(0, -1, 0, 0);
  EXPECT_EQ(t.GetTiling(data), -1);
  t.SetBackpropPadding(0, 0, 0, 0);
  t.SetGradOutputShape(1, 16, 4, 8, 7);
  EXPECT_EQ(t.GetTiling(data), -1);
  EXPECT_THAT(cubejit_last_error(), HasSubstr("gradOutput W = 7 must be 8"));
}

TEST(TilingClasses, InitOutputFlagIsSetWhereBlocksReceiveNothing) {
  cubejit::Problem p;
  p.in = cubejit::Dhw{8, 8, 8}, p.out = cubejit::Dhw{8, 8, 8};
  EXPECT_EQ(cubejit::ascendc::initOutputFlagOf(p, false), 0);
  p.stride.h = 2, p.out.h = 4;
  EXPECT_EQ(cubejit::ascendc::initOutputFlagOf(p, false), 1);  // strideH > kH
  p.kernel.h = 2;
  EXPECT_EQ(cubejit::ascendc::initOutputFlagOf(p, false), 0);
  p.in.h = 9;
  EXPECT_EQ(cubejit::ascendc::initOutputFlagOf(p, false), 1);  // a row that no window reaches
  p.padAfter.h = 1, p.in.h = 8;
  EXPECT_EQ(cubejit::ascendc::initOutputFlagOf(p, false), 0);
  p.dilation.d = 2;
  EXPECT_EQ(cubejit::ascendc::initOutputFlagOf(p, false), 1);
}

TEST(TilingClasses, GroupsAreTiledByRealGroups) {
  Conv3DBpInputTiling dx;
  Conv3dBpFilterTiling dw;
  AscendC::tiling::Conv3DBackpropInputTilingData input;
  AscendC::tiling::Conv3DBackpropFilterTilingData filter;
  const auto set = [](auto& t) {
    t.SetWeightShape(40, 20, 1, 3, 3);
    t.SetInputShape(1, 20, 2, 8, 8);
    t.SetGradOutputShape(1, 40, 2, 8, 8);
    t.SetPadding(0, 0, 1, 1, 1, 1);
    t.SetGroup(10);
  };
  set(dx), set(dw);
  ASSERT_EQ(dx.GetTiling(input), 0) << cubejit_last_error();
  ASSERT_EQ(dw.GetTiling(filter), 0) << cubejit_last_error();
  // 2 and 4 channels a group: 8 groups share the 16 channels of a block, so there are 2 real ones.
  EXPECT_EQ(input.conv3DDxTiling.group, 2U);
  EXPECT_EQ(input.conv3DDxTiling.cin1G, 1U);
  EXPECT_EQ(input.conv3DDxTiling.cout1G, 2U);
  EXPECT_EQ(filter.dwTiling.group, 10U);
  const cubejit::Machine chip = *cubejit::machineByName("ascend910b2");
  EXPECT_THAT(cubejit::ascendc::checkTiling(input.conv3DDxTiling, chip), testing::IsEmpty());
  EXPECT_THAT(cubejit::ascendc::checkTiling(filter.dwTiling, chip), testing::IsEmpty());
  EXPECT_EQ(cubejit::ascendc::problemOf(filter.dwTiling).groups, 10);
  dx.SetGroup(65536);
  EXPECT_EQ(dx.GetTiling(input), -1);
  EXPECT_THAT(cubejit_last_error(), HasSubstr("groups = 65536 must be 1 to 65535"));
  dw.SetForChip(true);
  EXPECT_EQ(dw.GetTiling(filter), -1);
  EXPECT_THAT(cubejit_last_error(), HasSubstr("groups = 10 must be 1: the vendor's tilings have no other"));
}

// The conventions that facts about the vendor's structs and published tilings show.
TEST(TilingClasses, ForAChipAreLikeThePublishedOnes) {
  const cubejit::Machine chip = *cubejit::machineByName("ascend910b2");
  for (const ConvDtype dtype : {ConvDtype::FLOAT16, ConvDtype::BF16, ConvDtype::FLOAT32}) {
    for (const std::int64_t cin : {4, 64, 256}) {
      Conv3DBpInputTiling dx;
      Conv3dBpFilterTiling dw;
      const auto set = [&](auto& t) {
        t.SetWeightShape(64, cin, 3, 3, 3);
        t.SetInputShape(1, cin, 5, 32, 40);
        t.SetGradOutputShape(1, 64, 3, 32, 40);
        t.SetPadding(0, 0, 1, 1, 1, 1);
        t.SetWeightType(TPosition::GM, ConvFormat::FRACTAL_Z_3D, dtype);
        t.SetGradOutputType(TPosition::GM, ConvFormat::NDC1HWC0, dtype);
        t.SetInputType(TPosition::GM, ConvFormat::NDC1HWC0, dtype);
        t.SetForChip(true);
      };
      set(dx), set(dw);
      AscendC::tiling::Conv3DBackpropInputTilingData input;
      ASSERT_EQ(dx.GetTiling(input), 0) << cubejit_last_error();
      const auto& i = input.conv3DDxTiling;
      EXPECT_EQ(i.al0Pbuffer, 2U);
      EXPECT_EQ(i.bl0Pbuffer, 2U);
      EXPECT_EQ(i.cl0Pbuffer, 1U);
      EXPECT_EQ(i.stepM, 1U);
      EXPECT_EQ(i.stepN, 1U);
      EXPECT_EQ(i.iterateOrder, 1U);
      EXPECT_EQ(i.singleCoreCout1, i.cout1G);
      EXPECT_EQ(i.singleCoreCin, i.baseN);
      EXPECT_EQ(i.singleCoreCin1, (i.baseN + i.c0 - 1) / i.c0);
      EXPECT_THAT(cubejit::ascendc::checkTiling(i, chip), testing::IsEmpty());
      AscendC::tiling::Conv3DBackpropFilterTilingData filter;
      ASSERT_EQ(dw.GetTiling(filter), 0) << cubejit_last_error();
      const auto& f = filter.dwTiling;
      EXPECT_EQ(f.al0Pbuffer, 2U);
      EXPECT_EQ(f.bl0Pbuffer, 2U);
      EXPECT_EQ(f.cl0Pbuffer, 1U);
      EXPECT_EQ(f.iterateOrder, f.singleCoreCout > filter.basicBlockTiling.singleCoreN ? 1U : 0U);
      EXPECT_THAT(cubejit::ascendc::checkTiling(f, chip), testing::IsEmpty());
    }
  }
  fe::PlatFormInfos inference(*cubejit::machineByName("Ascend310P3"));
  Conv3DBpInputTiling other{platform_ascendc::PlatformAscendC(&inference)};
  setX112(other);
  other.SetForChip(true);
  AscendC::tiling::Conv3DBackpropInputTilingData data;
  EXPECT_EQ(other.GetTiling(data), -1);
  EXPECT_THAT(cubejit_last_error(), HasSubstr("ascend310p3 must be one of Atlas A2 and A3"));
}

TEST(TilingClasses, FilterTilingHasAllFieldsInBothForms) {
  Conv3dBpFilterTiling tiling;
  setX112(tiling);
  AscendC::tiling::Conv3DBackpropFilterTilingData plain;
  ASSERT_EQ(tiling.GetTiling(plain), 0) << cubejit_last_error();
  const auto& t = plain.dwTiling;
  EXPECT_EQ(t.batch, 1U);
  EXPECT_EQ(t.channelSize, 16U);
  EXPECT_EQ(t.m0, 16U);
  EXPECT_EQ(t.k0, 16U);
  EXPECT_EQ(t.n0, 16U);
  EXPECT_EQ(t.singleCoreDk, 1U);
  EXPECT_EQ(t.singleCoreBatch, 1U);
  EXPECT_EQ(plain.params.totalL1Size, 524288U);
  EXPECT_EQ(plain.basicBlockTiling.singleCoreM, t.singleCoreCout);
  EXPECT_EQ(plain.basicBlockTiling.singleCoreN, t.singleCoreCin * 9);
  EXPECT_EQ(plain.basicBlockTiling.singleCoreK, t.singleCoreHo * 128);
  EXPECT_GT(t.bl1Bound, 0U);
  optiling::Conv3DBackpropFilterTilingData data;
  ASSERT_EQ(tiling.GetTiling(data), 0);
  AscendC::tiling::Conv3DBackpropFilterTilingData saved;
  data.SaveToBuffer(&saved, sizeof(saved));
  EXPECT_EQ(std::memcmp(&saved.dwTiling, &plain.dwTiling, sizeof(plain.dwTiling)), 0);
  EXPECT_EQ(data.basicBlockTiling.get_singleCoreM(), plain.basicBlockTiling.singleCoreM);
  EXPECT_THAT(cubejit::ascendc::checkTiling(t, *cubejit::machineByName("ascend910b2")), testing::IsEmpty());
}

TEST(TilingClasses, FilterTilingDoesNotAskWhetherExtentsFollow) {
  Conv3dBpFilterTiling t;
  t.SetWeightShape(3, 64, 3, 3, 3);
  t.SetInputShape(16, 64, 22, 130, 130);
  t.SetGradOutputShape(16, 3, 20, 128, 128);
  t.SetStride(1, 2, 2);
  t.SetWeightType(TPosition::CO1, ConvFormat::FRACTAL_Z_3D, ConvDtype::FLOAT32);
  AscendC::tiling::Conv3DBackpropFilterTilingData data;
  EXPECT_EQ(t.GetTiling(data), 0) << cubejit_last_error();
  t.SetWeightShape(3, 64, 3, 3, 33);
  EXPECT_EQ(t.GetTiling(data), -1);
  EXPECT_THAT(cubejit_last_error(), HasSubstr("kernel W = 33 must be 1 to 32"));
  t.SetWeightShape(3, 64, 3, 3, 3);
  t.SetStride(1, 64, 2);
  t.SetDilation(1, 256, 1);
  t.SetPadding(0, 0, 256, 0, 0, 0);
  EXPECT_EQ(t.GetTiling(data), -1);
  EXPECT_THAT(cubejit_last_error(),
              AllOf(HasSubstr("strideH = 64"), HasSubstr("dilationH = 256"), HasSubstr("padUp = 256")));
}

TEST(TilingClasses, TypesGiveTheirBlocks) {
  Conv3DBpInputTiling t;
  setX112(t);
  t.SetWeightType(TPosition::GM, ConvFormat::FRACTAL_Z_3D, ConvDtype::FLOAT32);
  t.SetGradOutputType(TPosition::GM, ConvFormat::NDC1HWC0, ConvDtype::FLOAT32);
  AscendC::tiling::Conv3DBackpropInputTilingData data;
  ASSERT_EQ(t.GetTiling(data), 0) << cubejit_last_error();
  EXPECT_EQ(data.conv3DDxTiling.c0, 8U);
  EXPECT_EQ(data.conv3DDxTiling.c0Bits, 3U);
  EXPECT_EQ(data.conv3DDxTiling.hf32Flag, 0);
  t.SetHF32(true);
  ASSERT_EQ(t.GetTiling(data), 0);
  EXPECT_EQ(data.conv3DDxTiling.hf32Flag, 1);
  t.SetWeightType(TPosition::GM, ConvFormat::FRACTAL_Z_3D, ConvDtype::INT4);
  t.SetGradOutputType(TPosition::GM, ConvFormat::NDC1HWC0, ConvDtype::INT4);
  EXPECT_EQ(t.GetTiling(data), -1);
  EXPECT_THAT(cubejit_last_error(), HasSubstr("INT4 must be FLOAT16, BF16 or FLOAT32"));
}

TEST(TilingClasses, MessagesBelongToTheirThread) {
  cubejit::ascendc::setLastError("mine");
  std::thread other([] {
    EXPECT_STREQ(cubejit_last_error(), "");
    cubejit::ascendc::setLastError("other");
  });
  other.join();
  EXPECT_STREQ(cubejit_last_error(), "mine");
}

// A process' platform is chosen once: each question is a process of its own.
int coresWith(const char* environment, const char* name) {
  if (environment != nullptr) setenv("CUBEJIT_SOC", environment, 1);
  return static_cast<int>(platform_ascendc::PlatformAscendCManager::GetInstance(name)->GetCoreNum());
}

TEST(PlatformDeathTest, IsNeverNullAndOfTheChipThatIsNamed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  using ::testing::ExitedWithCode;
  EXPECT_EXIT(std::_Exit(coresWith(nullptr, nullptr)), ExitedWithCode(24), "");
  EXPECT_EXIT(std::_Exit(coresWith("Ascend310P3", nullptr)), ExitedWithCode(8), "");
  EXPECT_EXIT(std::_Exit(coresWith("950", nullptr)), ExitedWithCode(36), "");
  EXPECT_EXIT(std::_Exit(coresWith("host", nullptr)), ExitedWithCode(24), "");
  EXPECT_EXIT(std::_Exit(coresWith("Ascend310P3", "Ascend910B4")), ExitedWithCode(20), "");
}

TEST(PlatformDeathTest, OfAnUnknownChipIsOfNone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto told = [](const char* environment, const char* name) {
    const int cores = coresWith(environment, name);
    const std::string why = cubejit_last_error();
    Conv3DBpInputTiling tiling(*platform_ascendc::PlatformAscendCManager::GetInstance(name));
    optiling::Conv3DBackpropInputTilingData data;
    const bool refused = tiling.GetTiling(data) == -1;
    std::fprintf(stderr, "%s\n%s\n", why.c_str(), cubejit_last_error());
    unsetenv("CUBEJIT_SOC");  // the first chip that is found counts
    std::_Exit(refused && cores == 0 && coresWith(nullptr, nullptr) == 24 ? 0 : 1);
  };
  EXPECT_EXIT(told(nullptr, "Ascend310P9"), ::testing::ExitedWithCode(0),
              "'Ascend310P9'; near it are ascend310p1.*\nthe platform is of no chip");
  EXPECT_EXIT(told("Ascend310P9", nullptr), ::testing::ExitedWithCode(0),
              "CUBEJIT_SOC: .*near it are ascend310p1.*\nCUBEJIT_SOC: ");
}

TEST(TilingClasses, WithoutAPlatformAreForTheChipThatTheEnvironmentNames) {
  setenv("CUBEJIT_SOC", "Ascend310P3", 1);
  const OpenInput named;
  setenv("CUBEJIT_SOC", "Ascend310P9", 1);
  Conv3dBpFilterTiling unknown;
  setX112(unknown);
  AscendC::tiling::Conv3DBackpropFilterTilingData data;
  EXPECT_EQ(unknown.GetTiling(data), -1);
  EXPECT_THAT(cubejit_last_error(), AllOf(HasSubstr("CUBEJIT_SOC: "), HasSubstr("ascend310p3")));
  unsetenv("CUBEJIT_SOC");
  EXPECT_EQ(named.info().socVersion, SocVersion::ASCEND310P);
  EXPECT_EQ(named.info().l0CSize, 262144U);
  EXPECT_EQ(named.request().machine.cores, 8);
}

TEST(Platform, AChipAnswersLikeTheRealOne) {
  using platform_ascendc::CoreMemType;
  auto* platform = platform_ascendc::PlatformAscendCManager::GetInstance();
  EXPECT_EQ(platform_ascendc::PlatformAscendCManager::GetInstance("Ascend310P3"), platform);  // the first name counts
  EXPECT_EQ(platform->GetCoreNumAic(), 24U);
  EXPECT_EQ(platform->GetCoreNumAiv(), 48U);
  EXPECT_EQ(platform->GetSocVersion(), SocVersion::ASCEND910B);
  EXPECT_EQ(platform->GetCurNpuArch(), 2201U);
  EXPECT_EQ(platform->CalcTschBlockDim(48, 24, 48), 24U);
  EXPECT_EQ(platform->CalcTschBlockDim(20, 0, 48), 20U);
  uint64_t size = 0;
  platform->GetCoreMemSize(CoreMemType::UB, size);
  EXPECT_EQ(size, 196608U);
  platform->GetCoreMemSize(CoreMemType::L1, size);
  EXPECT_EQ(size, 524288U);
  platform->GetCoreMemBw(CoreMemType::L2, size);
  EXPECT_EQ(size, 110U);
  const auto versionOf = [](const char* name) { return platform_ascendc::socVersionOf(*cubejit::machineByName(name)); };
  EXPECT_EQ(versionOf("ascend910b"), SocVersion::ASCEND910);
  EXPECT_EQ(versionOf("ascend910_9391"), SocVersion::ASCEND910_93);
  EXPECT_EQ(versionOf("ascend950dt_95a2"), SocVersion::ASCEND910_95);
  EXPECT_EQ(versionOf("ascend350_354f"), SocVersion::ASCEND350);
  EXPECT_EQ(versionOf("ascend310"), SocVersion::ASCEND310);
  EXPECT_EQ(versionOf("toy"), SocVersion::RESERVED_VERSION);
}

}  // namespace
