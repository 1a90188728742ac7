// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of `cubejit kernel FILE.py`: is it the kernel that the file defines, are mistakes told at the file's lines, and is it said what keeps it from being one?
#include "tests/support/cli.h"

namespace cubejit {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kDouble =
    "import sys\n"
    "import cubejit\n"
    "print('printed by the file', sys.argv, __name__)\n"
    "@cubejit.define\n"
    "def double(k, N=5, by=(4, 2)):\n"
    "    'Twice.'\n"
    "    X, Y = k.input('X', 'f32', N), k.output('Y', 'f32', N)\n"
    "    with k.parallel('i', N, by=by) as i:\n"
    "        Y[i] = X[i] * 2\n";

class PythonKernel : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    if (python_.empty()) GTEST_SKIP() << "built without the Python package";
    write("double.py", kDouble);
  }
  Outcome kernel(const std::string& arguments) const { return run("kernel " + arguments, "", python_); }
  void wrong(const std::string& arguments, const std::vector<std::string>& words) const {
    refused(2, "kernel " + arguments, words, "", python_);
  }
  const std::string python_ = CUBEJIT_PYTHON_ENVIRONMENT;  // which leaves no caches beside the files
};

TEST_F(PythonKernel, IsTheKernelThatTheFileDefines) {
  const Outcome o = kernel("double.py --set N=9 --interpret --verify");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.err, AllOf(HasSubstr("printed by the file ['double.py'] cubejit_kernel_file\n"),
                           HasSubstr("N = 9\nby = 4\n"), HasSubstr("double: sound;")));
  EXPECT_THAT(o.out, HasSubstr("Y: 9 of f32, hash "));
  write("double.tile",
        "cubejit kernel 1\nkernel double\nparameter N = 5\nparameter by in 4 2\ninput X f32 [N]\noutput Y f32 [N]\n"
        "parallel i in N by by\n  Y[i] = X[i] * 2\n");
  EXPECT_EQ(o.out, run("kernel double.tile --set N=9 --interpret").out);
  EXPECT_EQ(kernel("double.py --emit tile").out, run("kernel double.tile --emit tile").out);
  EXPECT_EQ(kernel("./double.py:double --emit tile --set by=2").out,
            run("kernel double.tile --emit tile --set by=2").out);
}

TEST_F(PythonKernel, DumpsTimesAndTunes) {
  const Outcome dumped = kernel("double.py --dump out --emit tile");
  ASSERT_EQ(dumped.code, 0) << dumped.err;
  EXPECT_THAT(slurp(folder_ / dumped.out.substr(0, dumped.out.size() - 1) / "kernel.tile"),
              HasSubstr("cubejit kernel 1\n; Twice.\nkernel double\n"));
  const Outcome timed = kernel("double.py --time --tune --budget 100ms --db tune.db");
  if (timed.code == 3) GTEST_SKIP() << "nothing runs here";
  ASSERT_EQ(timed.code, 0) << timed.err;
  EXPECT_THAT(timed.out, AllOf(HasSubstr("times as fast with by="), HasSubstr("us in the middle of")));
}

TEST_F(PythonKernel, ExamplesAreSuchFiles) {
  const Outcome o = kernel(std::string(CUBEJIT_EXAMPLES) + "/kernels/gemm.py --set M=7,N=20,K=9 --interpret");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("C: 140 of f32"));
}

TEST_F(PythonKernel, MistakesNameTheFilesLines) {
  wrong("double.py --set by=3", {"double.py:4: line 5, column ", "by is 3; it may be 4, 2"});
  write("outside.py", std::string(kDouble) + "    with k.parallel('j', N) as j:\n        Y[j] = X[j + 1]\n");
  wrong("outside.py", {"outside.py:11: line 11: reads X outside"});
  write("raises.py", std::string(kDouble) + "        Y[i] = X[i, i]\n");
  wrong("raises.py", {"raises.py:10: InvalidProblem: X has 1 dimensions, here are 2 subscripts"});
  write("raises.py", "import cubejit\n\n1 / 0\n");
  wrong("raises.py", {"raises.py:3: ZeroDivisionError: division by zero"});
  write("raises.py", "import cubejit\n\ndef f(:\n");
  wrong("raises.py", {"raises.py:3: SyntaxError: "});
  write("raises.py", "import sys\nsys.exit('enough')\n");
  wrong("raises.py", {"raises.py:2: SystemExit: enough"});
}

TEST_F(PythonKernel, OneKernelIsMeant) {
  write("two.py",
        std::string(kDouble) + "@cubejit.define\ndef none(k):\n    k.output('Z', 'f32', 1)[0] = 1\nother = none\n");
  wrong("two.py", {"two.py defines 2 kernels: double, none; name one: two.py:double"});
  EXPECT_THAT(kernel("two.py:other --emit tile").out, HasSubstr("Z"));
  wrong("two.py:third", {"two.py defines no kernel third; there are double, none"});
  write("imports.py", "from double import double\n");
  wrong("imports.py", {"imports.py defines no kernel; put @cubejit.define above the function"});
  EXPECT_EQ(kernel("imports.py:double --emit tile").out, kernel("double.py --emit tile").out);
  wrong("missing.py", {"cannot read missing.py: No such file"});
}

TEST_F(PythonKernel, SaysWhichPythonIsMissing) {
  refused(2, "kernel double.py",
          {"/no/python cannot be run: No such file or directory; a kernel in Python needs one", "CUBEJIT_PYTHON"}, "",
          "CUBEJIT_PYTHON=/no/python");
  std::filesystem::create_directory(folder_ / "lonely");
  write("lonely/cubejit.py", "raise ImportError('lonely')\n");
  refused(2, "kernel double.py",
          {"cannot import cubejit: lonely; install cubejit for that Python, or put its folder into PYTHONPATH"}, "",
          python_ + " PYTHONPATH=lonely");
  write("dies.py", "import os\nos.kill(os.getpid(), 9)\n");
  refused(3, "kernel dies.py", {"ended with signal 9 before it said what kernel dies.py defines"}, "", python_);
  write("ends.py", "import os\nos._exit(4)\n");
  refused(3, "kernel ends.py", {"ended with code 4"}, "", python_);
}

}  // namespace
}  // namespace cubejit
