// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a gradient's operands are described to the class templates: ConvType and the configurations made of it. C++17.
#pragma once

#include <cstdint>

#include "kernel_operator.h"

namespace ConvBackpropApi {

/// One operand: where it is, how it lies in memory, what its elements are: Type, which one page of Conv3DBackpropInput calls T.
template <AscendC::TPosition POSITION, ConvCommonApi::ConvFormat FORMAT, typename TYPE>
struct ConvType {
  constexpr static AscendC::TPosition pos = POSITION;
  constexpr static ConvCommonApi::ConvFormat format = FORMAT;
  using Type = TYPE;
  using T = TYPE;
};

/// How a chip's load unit fills L0B. Results do not depend on it.
enum class B2Condition : uint8_t { BASEK_LT_HKWK = 0, BASEK_GE_HKWK = 1, HKWK_EQ_ONE = 2 };

struct Conv3dConfig {
  B2Condition loadB2Condition = B2Condition::BASEK_LT_HKWK;
  bool enableKernelSplit = false;
};
inline constexpr Conv3dConfig CONV3D_CFG_DEFAULT{B2Condition::BASEK_GE_HKWK, false};

/// What a cube sums products of T in.
template <typename T>
struct GetDstType {
  using Type = T;
};
template <>
struct GetDstType<half> {
  using Type = float;
};
template <>
struct GetDstType<bfloat16_t> {
  using Type = float;
};
template <>
struct GetDstType<int8_t> {
  using Type = int32_t;
};

/// Four operands of one gradient: A and C are multiplied, B says a size, D is the result.
template <class A, class B, class C, class D>
struct ConvBpContext {
  using xType = A;
  using cType = C;
  using dType = D;
  using SrcT = typename A::Type;
  using SrcAT = typename A::Type;
  using SrcBT = typename C::Type;
  using DstT = typename D::Type;
  using L0cT = typename GetDstType<SrcT>::Type;
  constexpr static auto formatA = A::format;
  constexpr static auto formatB = B::format;
  constexpr static auto formatC = C::format;
  constexpr static auto formatD = D::format;
  constexpr static auto posA = A::pos;
  constexpr static auto posB = B::pos;
  constexpr static auto posC = C::pos;
  constexpr static auto posD = D::pos;

  static_assert(posA == AscendC::TPosition::GM && posB == AscendC::TPosition::GM && posC == AscendC::TPosition::GM &&
                    posD == AscendC::TPosition::GM,
                "every operand must be at TPosition::GM");
  static_assert(cubejit::ascendc::kIsCubeElement<SrcAT>, "operands must be half, bfloat16_t or float");
  static_assert(std::is_same_v<SrcAT, SrcBT>, "gradOutput must have the type of the other operand");
  static_assert(std::is_same_v<typename B::Type, int32_t> && formatB == ConvCommonApi::ConvFormat::ND,
                "the size operand must be int32_t in ConvFormat::ND");
  static_assert(formatC == ConvCommonApi::ConvFormat::NDC1HWC0, "gradOutput must be ConvFormat::NDC1HWC0");
};

}  // namespace ConvBackpropApi
