// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which call of a process fails. Preloaded (LD_PRELOAD), it counts calls from main() on and lets one of them, or all from it on, end
// as if the system had refused. Asked by the environment:
//   CUBEJIT_FAULT        CALL NUMBER ERRNO once|on|short    the NUMBERth call of CALL fails; `short`: it writes half, and the next ones fail
//   CUBEJIT_FAULT_UNDER  folder: calls on files elsewhere are not counted
//   CUBEJIT_FAULT_IN     parent (the process itself), or child (what it starts)
//   CUBEJIT_FAULT_LOG    file of 64-bit counts, one a call in the order below, and whether the fault happened; all children share it
// Only what a program can meet is counted: files under the folder, anonymous and executable mappings, threads, processes.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum Call {
  OPEN,
  READ,
  WRITE,
  FSYNC,
  RENAME,
  TRUNCATE,
  LINK,
  UNLINK,
  MKDIR,
  CLOSE,
  MMAP,
  MPROTECT,
  THREAD,
  SPAWN,
  SOCKET,
  CALLS
};
static const char* const kNames[CALLS] = {"open",     "read",     "write",  "fsync", "rename",
                                          "truncate", "link",     "unlink", "mkdir", "close",
                                          "mmap",     "mprotect", "thread", "spawn", "socket"};

static atomic_long own[CALLS + 1], *counts = own;
static atomic_bool counting;
static enum Call wanted = CALLS;
static long number;
static int error;
static bool on, halves;
static char under[PATH_MAX];

// The call that this library stands before.
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

// With system calls of its own: the library must not meet itself. What is counted outlives a process that is killed.
static void countIn(const char* log) {
  const long file = syscall(SYS_openat, AT_FDCWD, log, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || syscall(SYS_ftruncate, file, sizeof own) != 0) return;
  const long map = syscall(SYS_mmap, NULL, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  syscall(SYS_close, file);
  if (map != -1) counts = (atomic_long*)map;
}

enum Verdict { PASS, HALF, FAIL };

static enum Verdict judge(enum Call call) {
  if (!atomic_load(&counting)) return PASS;
  const long now = atomic_fetch_add(&counts[call], 1) + 1;
  if (call != wanted || now < number || (now > number && !on)) return PASS;
  atomic_store(&counts[CALLS], 1);
  return halves && now == number ? HALF : FAIL;
}

static bool fails(enum Call call) {
  if (judge(call) == PASS) return false;
  errno = error;
  return true;
}

static bool isUnder(const char* path) {
  char whole[2 * PATH_MAX] = "";
  if (path[0] != '/') {
    if (syscall(SYS_getcwd, whole, PATH_MAX) < 0) return false;
    strcat(whole, "/");
  }
  strncat(whole, path, PATH_MAX - 1);
  const size_t length = strlen(under);
  return length > 0 && strncmp(whole, under, length) == 0 && (whole[length] == '/' || whole[length] == 0);
}

static bool fileIsUnder(int file) {
  const int kept = errno;
  char link[64], path[PATH_MAX] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const bool known = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1) > 0;
  errno = kept;
  return known && isUnder(path);
}

static void readWish(void) {
  const char *wish = getenv("CUBEJIT_FAULT"), *folder = getenv("CUBEJIT_FAULT_UNDER"), *in = getenv("CUBEJIT_FAULT_IN"),
             *file = getenv("CUBEJIT_FAULT_LOG");
  if (in != NULL && strcmp(in, "child") == 0) {
    setenv("CUBEJIT_FAULT_IN", "parent", 1);  // of the child, that is
    return;
  }
  if (folder != NULL) snprintf(under, sizeof under, "%s", folder);
  if (file != NULL) countIn(file);
  char name[16] = "", how[16] = "";
  if (wish != NULL && sscanf(wish, "%15s %ld %d %15s", name, &number, &error, how) == 4) {
    for (int c = 0; c < CALLS; ++c) {
      if (strcmp(name, kNames[c]) == 0) wanted = (enum Call)c;
    }
    halves = strcmp(how, "short") == 0;
    on = halves || strcmp(how, "on") == 0;
  }
  unsetenv("LD_PRELOAD");
  atomic_store(&counting, true);
}

static int (*realMain)(int, char**, char**);
static int countedMain(int argc, char** argv, char** environment) {
  readWish();
  const int code = realMain(argc, argv, environment);
  atomic_store(&counting, false);  // what destructors do is past any report
  return code;
}

int __libc_start_main(int (*start)(int, char**, char**), int argc, char** argv, void (*init)(void), void (*fini)(void),
                      void (*loader)(void), void* stack) {
  realMain = start;
  int (*next)(int (*)(int, char**, char**), int, char**, void (*)(void), void (*)(void), void (*)(void), void*) =
      dlsym(RTLD_NEXT, "__libc_start_main");
  return next(countedMain, argc, argv, init, fini, loader, stack);
}

#define OPENED(name)                                                \
  int name(const char* path, int flags, ...) {                      \
    va_list rest;                                                   \
    va_start(rest, flags);                                          \
    const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0; \
    va_end(rest);                                                   \
    if (isUnder(path) && fails(OPEN)) return -1;                    \
    return NEXT(name)(path, flags, mode);                           \
  }
OPENED(open)
OPENED(open64)
#define OPENED_AT(name)                                             \
  int name(int folder, const char* path, int flags, ...) {          \
    va_list rest;                                                   \
    va_start(rest, flags);                                          \
    const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0; \
    va_end(rest);                                                   \
    if (isUnder(path) && fails(OPEN)) return -1;                    \
    return NEXT(name)(folder, path, flags, mode);                   \
  }
OPENED_AT(openat)
OPENED_AT(openat64)
FILE* fopen(const char* path, const char* mode) {
  return isUnder(path) && fails(OPEN) ? NULL : NEXT(fopen)(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  return isUnder(path) && fails(OPEN) ? NULL : NEXT(fopen64)(path, mode);
}

ssize_t read(int file, void* to, size_t bytes) {
  return fileIsUnder(file) && fails(READ) ? -1 : NEXT(read)(file, to, bytes);
}
ssize_t pread(int file, void* to, size_t bytes, off_t at) {
  return fileIsUnder(file) && fails(READ) ? -1 : NEXT(pread)(file, to, bytes, at);
}
ssize_t pread64(int file, void* to, size_t bytes, off64_t at) {
  return fileIsUnder(file) && fails(READ) ? -1 : NEXT(pread64)(file, to, bytes, at);
}

static size_t allowed(int file, size_t bytes) {
  const enum Verdict verdict = fileIsUnder(file) ? judge(WRITE) : PASS;
  if (verdict == PASS) return bytes;
  errno = error;
  return verdict == HALF ? bytes / 2 : 0;
}
ssize_t write(int file, const void* from, size_t bytes) {
  const size_t some = allowed(file, bytes);
  return some == 0 && bytes > 0 ? -1 : NEXT(write)(file, from, some);
}
ssize_t pwrite(int file, const void* from, size_t bytes, off_t at) {
  const size_t some = allowed(file, bytes);
  return some == 0 && bytes > 0 ? -1 : NEXT(pwrite)(file, from, some, at);
}
ssize_t pwrite64(int file, const void* from, size_t bytes, off64_t at) {
  const size_t some = allowed(file, bytes);
  return some == 0 && bytes > 0 ? -1 : NEXT(pwrite64)(file, from, some, at);
}
ssize_t writev(int file, const struct iovec* parts, int count) {
  const size_t some = allowed(file, 2);  // all of it, the first part, or nothing
  if (some == 0) return -1;
  return NEXT(writev)(file, parts, some == 2 ? count : 1);
}

int fsync(int file) { return fileIsUnder(file) && fails(FSYNC) ? -1 : NEXT(fsync)(file); }
int fdatasync(int file) { return fileIsUnder(file) && fails(FSYNC) ? -1 : NEXT(fdatasync)(file); }
int ftruncate(int file, off_t to) { return fileIsUnder(file) && fails(TRUNCATE) ? -1 : NEXT(ftruncate)(file, to); }
int ftruncate64(int file, off64_t to) {
  return fileIsUnder(file) && fails(TRUNCATE) ? -1 : NEXT(ftruncate64)(file, to);
}
int truncate(const char* path, off_t to) { return isUnder(path) && fails(TRUNCATE) ? -1 : NEXT(truncate)(path, to); }
int truncate64(const char* path, off64_t to) {
  return isUnder(path) && fails(TRUNCATE) ? -1 : NEXT(truncate64)(path, to);
}
int rename(const char* from, const char* to) { return isUnder(to) && fails(RENAME) ? -1 : NEXT(rename)(from, to); }
int renameat(int from, const char* name, int to, const char* path) {
  return isUnder(path) && fails(RENAME) ? -1 : NEXT(renameat)(from, name, to, path);
}
int renameat2(int from, const char* name, int to, const char* path, unsigned flags) {
  return isUnder(path) && fails(RENAME) ? -1 : NEXT(renameat2)(from, name, to, path, flags);
}
int link(const char* from, const char* to) { return isUnder(to) && fails(LINK) ? -1 : NEXT(link)(from, to); }
int unlink(const char* path) { return isUnder(path) && fails(UNLINK) ? -1 : NEXT(unlink)(path); }
int mkdir(const char* path, mode_t mode) { return isUnder(path) && fails(MKDIR) ? -1 : NEXT(mkdir)(path, mode); }
// The file is closed either way, as on Linux.
int close(int file) {
  const bool failing = fileIsUnder(file) && fails(CLOSE);
  const int done = NEXT(close)(file);
  if (failing) errno = error;
  return failing ? -1 : done;
}

static bool counts_map(int protection, int flags, int file) {
  return (flags & MAP_ANONYMOUS) != 0 || (protection & PROT_EXEC) != 0 || fileIsUnder(file);
}
void* mmap(void* at, size_t bytes, int protection, int flags, int file, off_t from) {
  if (counts_map(protection, flags, file) && fails(MMAP)) return MAP_FAILED;
  return NEXT(mmap)(at, bytes, protection, flags, file, from);
}
void* mmap64(void* at, size_t bytes, int protection, int flags, int file, off64_t from) {
  if (counts_map(protection, flags, file) && fails(MMAP)) return MAP_FAILED;
  return NEXT(mmap64)(at, bytes, protection, flags, file, from);
}
int mprotect(void* at, size_t bytes, int protection) {
  return fails(MPROTECT) ? -1 : NEXT(mprotect)(at, bytes, protection);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* with) {
  return fails(THREAD) ? error : NEXT(pthread_create)(thread, attributes, body, with);
}
pid_t fork(void) { return fails(SPAWN) ? -1 : NEXT(fork)(); }
FILE* popen(const char* command, const char* mode) { return fails(SPAWN) ? NULL : NEXT(popen)(command, mode); }
int posix_spawn(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const words[], char* const environment[]) {
  return fails(SPAWN) ? error : NEXT(posix_spawn)(child, path, actions, attributes, words, environment);
}
int posix_spawnp(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const words[], char* const environment[]) {
  return fails(SPAWN) ? error : NEXT(posix_spawnp)(child, path, actions, attributes, words, environment);
}
int socketpair(int domain, int type, int protocol, int ends[2]) {
  return fails(SOCKET) ? -1 : NEXT(socketpair)(domain, type, protocol, ends);
}
