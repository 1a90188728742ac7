// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which loops and statements are phases; leaves statements to lang/statements.
#include "codegen/lang/lower.h"

#include "codegen/lang/check.h"
#include "codegen/lang/empty.h"
#include "codegen/lang/layouts.h"
#include "codegen/lang/statements.h"
#include "codegen/tile/verify.h"

namespace cubejit::lang {
namespace {

class Lowering {
 public:
  Lowering(const Source& kernel, const HostIsa& isa)
      : nest_(laidOut(kernel, isa), isa.lanes()), statements_(nest_, isa) {}

  Result<TileProgram> run(const std::vector<Item>& items) {
    for (const Item& item : items) {
      nest_.beginPhase(item.index >= 0 ? nest_.index(item.index).name
                                       : nest_.tensor(item.statement.target.tensor).name);
      lower(item);
      if (nest_.failure()) return *nest_.failure();
    }
    TileProgram program = nest_.take();
    if (const Status sound = verify(program); !sound.ok()) return sound.error();
    return program;
  }

 private:
  void lower(const Item& item) {
    if (nest_.failure()) return;
    if (item.index < 0) return statements_.lower(item.statement);
    nest_.enter(item.index);
    for (const Item& inner : item.body) lower(inner);
    nest_.leave();
  }

  Nest nest_;
  Statements statements_;
};

}  // namespace

Result<TileProgram> lower(const Source& kernel, const HostIsa& isa) {
  CUBEJIT_RETURN_IF_ERROR(check(kernel));
  const Source happens = withoutEmpty(kernel);
  return Lowering(happens, isa).run(happens.body);
}

}  // namespace cubejit::lang
