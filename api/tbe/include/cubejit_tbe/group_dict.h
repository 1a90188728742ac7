// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how grouped weights are cut into real groups: the documented formula of the DSL's group_dict.
// Leaves the layout they make to cubejit/index_map.h. Names are the DSL's own.
#pragma once

#include <cstdint>

#include "cubejit/export.h"
#include "cubejit/result.h"

namespace cubejit::tbe {

/// Channels of a block along either side of a fractal of float16: tbe_platform.C0_SIZE.
inline constexpr std::int64_t kC0Size = 16;

/// How the groups of a convolution share real groups, each of whole blocks of channels.
struct GroupDict {
  std::int64_t real_g = 1;      ///< real groups
  std::int64_t mag_factor = 1;  ///< groups in a real group
  std::int64_t cin1_g = 1;      ///< blocks of input channels in a real group
  std::int64_t cout_g = 16;     ///< output channels of a real group, a multiple of 16
  std::int64_t cin_ori = 1;     ///< input channels of the whole convolution
  std::int64_t cout_ori = 1;    ///< output channels of the whole convolution
};
constexpr bool operator==(const GroupDict& a, const GroupDict& b) {
  return a.real_g == b.real_g && a.mag_factor == b.mag_factor && a.cin1_g == b.cin1_g && a.cout_g == b.cout_g &&
         a.cin_ori == b.cin_ori && a.cout_ori == b.cout_ori;
}

/// Calls v(fieldName, field&) for every field.
template <class G, class Visitor>
void describeGroupDict(G& g, Visitor&& v) {
  v("real_g", g.real_g);
  v("mag_factor", g.mag_factor);
  v("cin1_g", g.cin1_g);
  v("cout_g", g.cout_g);
  v("cin_ori", g.cin_ori);
  v("cout_ori", g.cout_ori);
}

/// A GroupDict as conv2d_backprop_input spells it: channels of one group, blocks of real groups.
struct ExtendDict {
  std::int64_t groups = 1;            ///< of the convolution
  std::int64_t g_extend = 1;          ///< real groups
  std::int64_t multiple_extend = 1;   ///< groups in a real group
  std::int64_t dx_c1_extend = 1;      ///< blocks of input channels in a real group
  std::int64_t dy_c1_extend = 1;      ///< blocks of output channels in a real group
  std::int64_t dx_c_ori = 1;          ///< input channels of a group
  std::int64_t dy_c_ori = 1;          ///< output channels of a group
  std::int64_t filter_batch_ori = 1;  ///< output channels of a group
  std::int64_t filter_c_ori = 1;      ///< input channels of a group
};

/// Calls v(fieldName, field&) for every field.
template <class G, class Visitor>
void describeExtendDict(G& g, Visitor&& v) {
  v("groups", g.groups);
  v("g_extend", g.g_extend);
  v("multiple_extend", g.multiple_extend);
  v("dx_c1_extend", g.dx_c1_extend);
  v("dy_c1_extend", g.dy_c1_extend);
  v("dx_c_ori", g.dx_c_ori);
  v("dy_c_ori", g.dy_c_ori);
  v("filter_batch_ori", g.filter_batch_ori);
  v("filter_c_ori", g.filter_c_ori);
}

/// The same groups in the other spelling. Precondition: `groups` divides the channels.
constexpr ExtendDict extendDict(const GroupDict& g, std::int64_t groups) {
  return {groups,
          g.real_g,
          g.mag_factor,
          g.cin1_g,
          g.cout_g / kC0Size,
          g.cin_ori / groups,
          g.cout_ori / groups,
          g.cout_ori / groups,
          g.cin_ori / groups};
}

/// The formula:
///   mag_factor0 = lcm(fmap_c / groups, cin0) / (fmap_c / groups),  mag_factor1 the same of cout and cout0,
///   mag_factor = min(lcm(mag_factor0, mag_factor1), groups),  real_g = ceil(groups / mag_factor),
///   cin1_g = ceil(mag_factor * fmap_c / groups / cin0),  cout_g = ceil(mag_factor * cout / groups / cout0) * cout0.
/// Fails with kInvalidProblem, naming every broken rule: values below 1 or above 1,000,000, channels that are not divisible by groups.
CUBEJIT_API Result<GroupDict> groupDict(std::int64_t fmap_c, std::int64_t cout, std::int64_t groups,
                                        std::int64_t cout0 = kC0Size, std::int64_t cin0 = kC0Size);

}  // namespace cubejit::tbe
