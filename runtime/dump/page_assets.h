// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing: the texts of runtime/dump/page/, which the build turns into strings.
#pragma once

namespace cubejit {

extern const char* const kPageHtml;
extern const char* const kPageStyle;
extern const char* const kPageScript;
extern const char* const kPageConvolution;
extern const char* const kPageKernel;
extern const char* const kPageKernelStyle;
extern const char* const kPagePictures;

}  // namespace cubejit
