// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing: gathers what device code of the convolution gradients relies on under the name it is included by. C++17.
#pragma once

#include "cubejit_ascendc/core.h"
#include "cubejit_ascendc/elements.h"
#include "cubejit_ascendc/fill.h"
#include "cubejit_ascendc/global_tensor.h"
#include "cubejit_ascendc/kernel_kind.h"
#include "cubejit_ascendc/kernel_text.h"
#include "cubejit_ascendc/kernel_tiling.h"
#include "cubejit_ascendc/names.h"
#include "cubejit_ascendc/pipe.h"
#include "cubejit_ascendc/qualifiers.h"
