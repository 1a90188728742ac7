// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: is the tightest quota found, in both versions of the hierarchy and at every level?
#include "runtime/host/cgroup.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace cubejit {
namespace {

class Cgroup : public ::testing::Test {
 protected:
  void SetUp() override {
    mount_ = std::filesystem::path(::testing::TempDir()) / "cgroup_test";
    std::filesystem::remove_all(mount_);
  }
  void TearDown() override { std::filesystem::remove_all(mount_); }
  void write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((mount_ / file).parent_path());
    std::ofstream(mount_ / file) << text;
  }
  double cpus(const std::string& membership) { return cgroupCpus(membership, mount_.string()); }

 private:
  std::filesystem::path mount_;
};

TEST_F(Cgroup, NoFilesNoLimit) { EXPECT_EQ(cpus("0::/user.slice\n"), 0); }

TEST_F(Cgroup, MaxIsNoLimit) {
  write("a/cpu.max", "max 100000\n");
  EXPECT_EQ(cpus("0::/a\n"), 0);
}

TEST_F(Cgroup, OwnGroupVersion2) {
  write("a/b/cpu.max", "150000 100000\n");
  EXPECT_DOUBLE_EQ(cpus("0::/a/b\n"), 1.5);
}

TEST_F(Cgroup, AnAncestorMayBeTighter) {
  write("a/cpu.max", "50000 100000\n");
  write("a/b/cpu.max", "150000 100000\n");
  EXPECT_DOUBLE_EQ(cpus("0::/a/b\n"), 0.5);
  EXPECT_DOUBLE_EQ(cpus("0::/a\n"), 0.5);
}

TEST_F(Cgroup, InAContainerTheMountIsTheGroup) {
  write("cpu.max", "300000 100000\n");
  EXPECT_DOUBLE_EQ(cpus("0::/\n"), 3);
  EXPECT_DOUBLE_EQ(cpus("0::/docker/0123\n"), 3);
}

TEST_F(Cgroup, Version1) {
  write("cpu,cpuacct/job/cpu.cfs_quota_us", "250000\n");
  write("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(cpus("5:memory:/else\n4:cpu,cpuacct:/job\n"), 2.5);
  EXPECT_EQ(cpus("4:cpuset:/job\n"), 0);
  write("cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(cpus("4:cpu,cpuacct:/job\n"), 0);
}

TEST_F(Cgroup, NonsenseIsNoLimit) {
  write("a/cpu.max", "many few\n");
  EXPECT_EQ(cpus("0::/a\n"), 0);
  EXPECT_EQ(cpus("rubbish\n::\n"), 0);
}

}  // namespace
}  // namespace cubejit
