// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which runtime is meant: the first that is loaded by one of their names. Its entries are those that compilers call.
#include "python/core/openmp.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <cstring>
#include <string>

namespace cubejit::python {
namespace {

// GOMP_parallel(function, data, threads, flags): calls the function on every thread of a team of at most so many.
using Parallel = void (*)(void (*)(void*), void*, unsigned, unsigned);
using Number = int (*)();

struct Runtime {
  Parallel parallel = nullptr;
  Number thread = nullptr, threads = nullptr, inside = nullptr;
};

bool forked = false;  // the team stayed with the parent

int findRuntime(dl_phdr_info* info, std::size_t, void* found) {
  const char* path = info->dlpi_name;
  const char* slash = path == nullptr ? nullptr : std::strrchr(path, '/');
  const std::string name = slash == nullptr ? "" : slash + 1;
  for (const char* runtime : {"libgomp", "libiomp", "libomp"}) {
    if (name.rfind(runtime, 0) != 0) continue;
    *static_cast<std::string*>(found) = path;
    return 1;
  }
  return 0;
}

Runtime load() {
  Runtime r;
  std::string path;
  if (dl_iterate_phdr(findRuntime, &path) == 0) return r;
  void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);  // the count of users goes up: it stays
  if (library == nullptr) return r;
  r.thread = reinterpret_cast<Number>(dlsym(library, "omp_get_thread_num"));
  r.threads = reinterpret_cast<Number>(dlsym(library, "omp_get_num_threads"));
  r.inside = reinterpret_cast<Number>(dlsym(library, "omp_in_parallel"));
  pthread_atfork(nullptr, nullptr, [] { forked = true; });
  if (r.thread != nullptr && r.threads != nullptr && r.inside != nullptr)
    r.parallel = reinterpret_cast<Parallel>(dlsym(library, "GOMP_parallel"));
  return r;
}

const Runtime& runtime() {
  static const Runtime found = load();
  return found;
}

struct Work {
  int count;
  void (*body)(void* context, int index);
  void* context;
};

void share(void* data) {
  const Work& work = *static_cast<const Work*>(data);
  const int step = runtime().threads();
  for (int i = runtime().thread(); i < work.count; i += step) work.body(work.context, i);
}

void run(void*, int count, void (*body)(void* context, int index), void* context) {
  Work work{count, body, context};
  if (count > 1 && !forked && runtime().inside() == 0) {
    runtime().parallel(share, &work, static_cast<unsigned>(count), 0);
    return;
  }
  for (int i = 0; i < count; ++i) body(context, i);
}

}  // namespace

ParallelFor openmpThreads() { return runtime().parallel == nullptr ? ParallelFor{} : ParallelFor{run, nullptr}; }

}  // namespace cubejit::python
