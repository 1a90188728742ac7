// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how plans are tried in a process of their own, so that one that crashes or hangs costs that process only.
// Leaves what the process does to serve_lab.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cubejit/result.h"
#include "runtime/host/file_descriptor.h"
#include "runtime/tuning/json_lab.h"

namespace cubejit {

struct WorkerHow {
  std::vector<std::string> command;  ///< program and arguments; it calls serveLab on its standard input and output
  double timeoutSeconds = 30;        ///< for one answer; a worker that takes longer is killed
};

class ChildLab : public Lab {
 public:
  static Result<std::unique_ptr<ChildLab>> open(const LabTask& task, const std::string& turnFile, const WorkerHow& how);
  /// Ends the worker.
  ~ChildLab() override;

  LabReply load(int number, const TilingPlan& plan) override;
  LabReply verify(int number) override;
  LabReply sample(const std::vector<int>& numbers, int rounds) override;
  void drop(int number) override;
  LabReply renew() override;

 private:
  ChildLab(const LabTask& task, std::string turnFile, WorkerHow how);
  Status start();
  void stop();
  LabReply ask(const LabQuestion& question);
  LabReply exchange(const LabQuestion& question);
  /// After a worker was lost: a new one, with every plan loaded that is still wanted, except `lost`.
  Status recover(int lost);

  LabTask task_;
  std::string turnFile_;
  WorkerHow how_;
  FileDescriptor socket_;  ///< to the child and from it
  long child_ = -1;
  std::string unread_;
  std::map<int, TilingPlan> wanted_;
};

}  // namespace cubejit
