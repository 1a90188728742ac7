// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: is the component found, does a session work through it, is a missing or foreign one an error that says what to do,
// and does another LLVM in the process not matter?
#include "runtime/loader/llvm_component.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <llvm/Config/llvm-config.h>

#include <string>

#include "runtime/loader/backends.h"
#include "tests/support/operands.h"

namespace cubejit {
namespace {

Session sessionOf(const std::string& file = {}) {
  Options options;
  options.backend = BackendKind::kLlvm;
  options.llvmComponent = file;
  return Session(options);
}

TEST(LlvmComponent, IsFoundAndOfThisBuild) {
  const auto component = llvmComponent("");
  ASSERT_TRUE(component.ok()) << component.error().message;
  EXPECT_EQ((*component)->build, componentBuild());
  EXPECT_EQ(llvmComponent("").value(), *component);
}

TEST(LlvmComponent, GradientsEqualThoseOfTheUsualBackend) {
  const Problem p = squareProblem(2, 16, 20, 9);
  Session llvm = sessionOf(), usual;
  const auto one = llvm.compile(p, kAllGradients), two = usual.compile(p, kAllGradients);
  ASSERT_TRUE(one.ok()) << one.error().message;
  ASSERT_TRUE(two.ok()) << two.error().message;
  Operands a(p), b(p);
  ASSERT_TRUE(a.run(**one, 2).ok());
  ASSERT_TRUE(b.run(**two, 2).ok());
  EXPECT_EQ(a.dx, b.dx);
  EXPECT_EQ(a.dw, b.dw);
  EXPECT_EQ(a.db, b.db);
  for (const KernelView& kernel : (*one)->kernels()) {
    EXPECT_NE(kernel.entry, nullptr);
    ASSERT_GT(kernel.bytes.size(), 4U);
    EXPECT_EQ(static_cast<char>(kernel.bytes[1]), 'E') << "an ELF object";
  }
  EXPECT_EQ(llvm.compile(p, kAllGradients).value(), *one) << "kept by the session";
  EXPECT_EQ(llvm.statistics().hits, 1);
}

// A plan may choose the backend of its kernels: gradients of one executable by two backends.
TEST(LlvmComponent, APlanOfItsOwnBackend) {
  const Problem p = squareProblem(2, 16, 20, 9);
  Session session;
  TilingPlan plan = session.plan(p, Pass::kDw).value().plan;
  plan.backend = PlanBackend::kLlvm;
  const auto mixed = session.compile(CompileRequest{p, kAllGradients, {plan}}),
             usual = session.compile(p, kAllGradients);
  ASSERT_TRUE(mixed.ok()) << mixed.error().message;
  ASSERT_TRUE(usual.ok()) << usual.error().message;
  int objects = 0;
  for (const KernelView& kernel : (*mixed)->kernels()) {
    const bool object = kernel.bytes.size() > 4 && static_cast<char>(kernel.bytes[1]) == 'E';
    EXPECT_EQ(object, kernel.pass == Pass::kDw) << kernel.name;
    objects += object ? 1 : 0;
  }
  EXPECT_GT(objects, 0);
  Operands a(p), b(p);
  ASSERT_TRUE(a.run(**mixed, 2).ok());
  ASSERT_TRUE(b.run(**usual, 2).ok());
  EXPECT_EQ(a.dx, b.dx);
  EXPECT_EQ(a.dw, b.dw);
  EXPECT_EQ(a.db, b.db);
  Options nowhere;
  nowhere.llvmComponent = "/nowhere/libcubejit_llvm.so";
  EXPECT_EQ(Session(nowhere).compile(CompileRequest{p, kAllGradients, {plan}}).error().code, ErrorCode::kUnsupported);
}

TEST(LlvmComponent, AMissingOneIsAnErrorThatSaysWhatToDo) {
  Session session = sessionOf("/nowhere/libcubejit_llvm.so");
  const auto compiled = session.compile(squareProblem(1, 4, 4, 5), kAllGradients);
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.error().code, ErrorCode::kUnsupported);
  for (const char* word : {"/nowhere/libcubejit_llvm.so", "CUBEJIT_LLVM_COMPONENT", "CUBEJIT_LLVM=ON"})
    EXPECT_NE(compiled.error().message.find(word), std::string::npos) << compiled.error().message;
}

TEST(LlvmComponent, AnotherLibraryIsRefused) {
  const auto component = llvmComponent("libm.so.6");
  ASSERT_FALSE(component.ok());
  EXPECT_NE(component.error().message.find("not a cubejit component"), std::string::npos);
}

TEST(LlvmComponent, AnotherLlvmInTheProcessDoesNotMatter) {
  void* other = nullptr;
  for (int version = 13; version <= 40; ++version) {
    const std::string number = std::to_string(version);
    for (const std::string& name : {"libLLVM-" + number + ".so.1", "libLLVM.so." + number + ".1"}) {
      if (version != LLVM_VERSION_MAJOR && other == nullptr) other = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
    }
  }
  if (other == nullptr) GTEST_SKIP() << "no other LLVM is installed";
  Session session = sessionOf();
  const auto compiled = session.compile(squareProblem(1, 8, 8, 6), kAllGradients);
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  Operands operands(compiled.value()->problem());
  EXPECT_TRUE(operands.run(**compiled, 1).ok());
}

TEST(Backends, EachKindThatEmitsHasItsFunctions) {
  Options options;
  options.backend = kUsualBackend;
  const auto usual = codeBackend(options);
  ASSERT_TRUE(usual.ok());
  options.backend = BackendKind::kLlvm;
  const auto llvm = codeBackend(options);
  ASSERT_TRUE(llvm.ok());
  EXPECT_EQ(llvm->emit, llvmComponent("").value()->emitLlvm);
  EXPECT_FALSE(emitsCode(BackendKind::kInterpreter));
  EXPECT_FALSE(emitsCode(BackendKind::kTileInterpreter));
}

}  // namespace
}  // namespace cubejit
