// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further: lang/signature finds the parameters.
#include <memory>
#include <string>
#include <utility>

#include "codegen/lang/signature.h"
#include "cubejit/kernel.h"
#include "runtime/face/kernel_settings.h"
#include "tiling/no_throw.h"

namespace cubejit {
namespace {

std::vector<std::string> namesOf(const lang::Signature& signature, bool outputs) {
  std::vector<std::string> names;
  for (const lang::Signature::Tensor& t : signature.tensors) {
    if (t.output == outputs) names.push_back(t.name);
  }
  return names;
}

}  // namespace

Result<KernelSignature> KernelSignature::of(const std::string& text) {
  return withoutThrowing(Stage::kTile, [&]() -> Result<KernelSignature> {
    CUBEJIT_TRY(declared, lang::signatureOf(text));
    KernelSignature signature;
    signature.signature_ = std::make_shared<const lang::Signature>(std::move(declared));
    return signature;
  });
}

const std::string& KernelSignature::name() const { return signature_->name; }
std::vector<std::string> KernelSignature::inputs() const { return namesOf(*signature_, false); }
std::vector<std::string> KernelSignature::outputs() const { return namesOf(*signature_, true); }
std::vector<std::string> KernelSignature::parameters() const {
  std::vector<std::string> names;
  for (const lang::Signature::Parameter& p : signature_->parameters) names.push_back(p.name);
  return names;
}

Result<KernelParameters> KernelSignature::parametersFor(const std::vector<KernelArgument>& arrays,
                                                        const KernelParameters& given) const {
  return withoutThrowing(Stage::kRun, [&]() -> Result<KernelParameters> {
    std::vector<lang::Shape> shapes;
    for (const KernelArgument& a : arrays) shapes.push_back({a.name, elementOf(a.type), a.extents});
    CUBEJIT_TRY(found, lang::settingsFor(*signature_, settingsOf(given), shapes));
    return parametersOf(found);
  });
}

}  // namespace cubejit
