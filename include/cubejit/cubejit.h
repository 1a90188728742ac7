/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Decides the library's C face (C99): opaque handles, status codes, structs that begin with their size.
 * Leaves the meaning of every field to the C++ headers of the same names (problem.h, options.h, tensors.h, cubejit.hpp).
 *
 * Every function may be called from any thread; a handle may be used by many threads at once, but destroyed by one, last.
 * Nothing throws, prints or exits. A function that returns a status leaves its outputs untouched unless it returns CUBEJIT_OK.
 */
#ifndef CUBEJIT_CUBEJIT_H
#define CUBEJIT_CUBEJIT_H

#include <stddef.h>
#include <stdint.h>

#include "cubejit/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cubejit_status {
  CUBEJIT_OK = 0,
  CUBEJIT_INVALID_PROBLEM = 1,  /* the caller's input breaks a rule; cubejit_last_error() names every rule broken */
  CUBEJIT_UNSUPPORTED = 2,      /* legal, but not available for this type, layout or ISA */
  CUBEJIT_NO_FEASIBLE_PLAN = 3, /* no tiling satisfies the machine's limits */
  CUBEJIT_LIMIT_EXCEEDED = 4,   /* a resource ran out: memory, executable pages, registers */
  CUBEJIT_IO = 5,
  CUBEJIT_INTERNAL = 6 /* a bug in cubejit */
} cubejit_status;

/* Passes, by their results; a set of them is their bitwise or. cubejit_compile() also takes CUBEJIT_KEEP_WEIGHTS among them: w will be packed
 * by cubejit_pack_weights(), once for many runs. */
enum { CUBEJIT_DX = 1, CUBEJIT_DW = 2, CUBEJIT_DB = 4, CUBEJIT_KEEP_WEIGHTS = 8, CUBEJIT_Y = 16 };
/* Element types (dtype.h) and memory orders (layout.h). */
enum { CUBEJIT_F32 = 0, CUBEJIT_F16 = 1, CUBEJIT_BF16 = 2, CUBEJIT_HF32 = 3, CUBEJIT_HF32_LOW = 4 };
enum { CUBEJIT_NCDHW = 0, CUBEJIT_NDHWC = 1, CUBEJIT_NDC1HWC0 = 2, CUBEJIT_FRACTAL_Z_3D = 3 };
/* What sums may be computed by: MathMode in problem.h. */
enum { CUBEJIT_MATH_STRICT = 0, CUBEJIT_MATH_RELAXED = 1, CUBEJIT_MATH_BF16 = 2 };
/* Tensors, in the order of cubejit_problem::formats; the format of y is cubejit_problem::y_format. */
enum {
  CUBEJIT_TENSOR_DY = 0,
  CUBEJIT_TENSOR_X = 1,
  CUBEJIT_TENSOR_W = 2,
  CUBEJIT_TENSOR_DX = 3,
  CUBEJIT_TENSOR_DW = 4,
  CUBEJIT_TENSOR_DB = 5,
  CUBEJIT_TENSOR_Y = 6
};
enum {
  CUBEJIT_ISA_BEST = 0,
  CUBEJIT_ISA_AVX2 = 1,
  CUBEJIT_ISA_AVX512 = 2,
  CUBEJIT_ISA_AVX512_BF16 = 3,
  CUBEJIT_ISA_NEON = 4,
  CUBEJIT_ISA_SVE256 = 5,
  CUBEJIT_ISA_AVX512_AMX = 6,
  CUBEJIT_ISA_AVX512_AMX_FP16 = 7
};
enum {
  CUBEJIT_BACKEND_XBYAK = 0,
  CUBEJIT_BACKEND_INTERPRETER = 1,
  CUBEJIT_BACKEND_TILE_INTERPRETER = 2,
  CUBEJIT_BACKEND_LLVM = 3
};

typedef struct cubejit_session cubejit_session;
typedef struct cubejit_executable cubejit_executable;

/* How one tensor lies in memory: the fields of TensorFormat (problem.h), if `given`. */
typedef struct cubejit_format {
  /* 0: as the problem's dtype and layout say; 1: as the fields below say; 2: so, and strides of 0 are meant */
  int32_t given;
  int32_t dtype, layout;
  int64_t strides[5]; /* elements, along n, c, d, h, w or o, i, d, h, w; inputs only; all 0 = dense, if `given` is 1 */
  int64_t c0;         /* channels of a block; 0 = what fills 32 bytes */
} cubejit_format;

/* A convolution. Axes are depth, height, width; 1D and 2D ones keep the leading axes at 1 (paddings at 0). Start from
 * cubejit_default_problem(). `out` is the extent of the forward result and must be what the other fields imply. */
typedef struct cubejit_problem {
  size_t struct_size;
  int32_t rank, transposed, dtype, layout;
  int64_t batch, groups, cin, cout;
  int64_t in[3], kernel[3], out[3], stride[3], dilation[3]; /* dilation 1 = none */
  int64_t pad_before[3], pad_after[3];
  cubejit_format formats[6]; /* by CUBEJIT_TENSOR_...: exceptions from dtype and layout */
  int32_t math;              /* CUBEJIT_MATH_... */
  /* Since 0.3; a caller's struct may end before these. */
  int32_t reserved; /* 0 */
  cubejit_format y_format;
  const char* post_ops; /* of y: "bias,add,relu", see post_ops.h; null: none. It is read by the call alone */
} cubejit_problem;

/* Calls body(context, i) for every i in [0, count), on any threads, one after the other if need be; returns when all are done. */
typedef void (*cubejit_parallel_for)(void* user, int count, void (*body)(void* context, int index), void* context);

/* Start from cubejit_default_options(). */
typedef struct cubejit_options {
  size_t struct_size;
  int32_t isa, backend;
  int32_t threads;     /* 0: min(CPUs in the affinity mask, cgroup quota) */
  int32_t pin_threads; /* 1: bind the i-th thread to the i-th CPU; for measurements */
  uint64_t cache_capacity;
  cubejit_parallel_for parallel_for; /* null: oneTBB */
  void* parallel_for_user;
  /* Since 0.3; a caller's struct may end before these. */
  const char*
      machine; /* an NPU to emulate, by name, or a file with one as JSON (as `cubejit targets --soc NAME` prints it); null: this host */
  int32_t
      elide_copies; /* 1: of an NPU's programs what only copies between its buffers is left out; the same bits, counts and cycles */
  int32_t reserved;   /* 0 */
  uint64_t mem_limit; /* most bytes of workspace of a run; 0: no limit (Options::memLimit) */
} cubejit_options;

/* Tensors of the problem's types and layouts; only those the passes need are looked at. Start from cubejit_default_tensors(). */
typedef struct cubejit_tensors {
  size_t struct_size;
  const void *dy, *x, *w;
  void *dx, *dw, *db;
  const void* packed_w; /* what cubejit_pack_weights() filled, read in place of w; or null */
  /* Since 0.3; a caller's struct may end before these. */
  void* y;
  const void *b, *z; /* of post-ops of y */
} cubejit_tensors;

typedef struct cubejit_plan_report {
  size_t struct_size;
  double predicted_cycles;  /* core cycles of the slowest core */
  uint64_t workspace_bytes; /* with the session's threads */
  const char* bound;        /* what limits it: compute, l2, l3, dram, move */
  const char* plan;         /* field=value, separated by spaces */
} cubejit_plan_report;

typedef struct cubejit_statistics {
  size_t struct_size;
  int64_t hits, misses, evictions;
  uint64_t entries, code_bytes;
} cubejit_statistics;

/* One generated kernel; the pointers live as long as the executable's handle. */
typedef struct cubejit_kernel {
  size_t struct_size;
  const char* name;
  int32_t pass;      /* the pass: CUBEJIT_DX, CUBEJIT_DW, CUBEJIT_DB or CUBEJIT_Y */
  const void* entry; /* null if the backend interprets */
  const void* bytes; /* as emitted: machine code (xbyak), an ELF object (LLVM) */
  uint64_t byte_count;
  const char* vector_program; /* text */
} cubejit_kernel;

static inline cubejit_problem cubejit_default_problem(void) {
  cubejit_problem p = {sizeof(cubejit_problem),
                       3,
                       0,
                       CUBEJIT_F32,
                       CUBEJIT_NDHWC,
                       1,
                       1,
                       1,
                       1,
                       {1, 1, 1},
                       {1, 1, 1},
                       {1, 1, 1},
                       {1, 1, 1},
                       {1, 1, 1},
                       {0, 0, 0},
                       {0, 0, 0},
                       {{0, 0, 0, {0, 0, 0, 0, 0}, 0},
                        {0, 0, 0, {0, 0, 0, 0, 0}, 0},
                        {0, 0, 0, {0, 0, 0, 0, 0}, 0},
                        {0, 0, 0, {0, 0, 0, 0, 0}, 0},
                        {0, 0, 0, {0, 0, 0, 0, 0}, 0},
                        {0, 0, 0, {0, 0, 0, 0, 0}, 0}},
                       0,
                       0,
                       {0, 0, 0, {0, 0, 0, 0, 0}, 0},
                       0};
  return p;
}
static inline cubejit_options cubejit_default_options(void) {
  cubejit_options o = {sizeof(cubejit_options), CUBEJIT_ISA_BEST, CUBEJIT_BACKEND_XBYAK, 0, 0, 1024, 0, 0, 0, 0, 0, 0};
  return o;
}
static inline cubejit_tensors cubejit_default_tensors(void) {
  cubejit_tensors t = {sizeof(cubejit_tensors), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  return t;
}

CUBEJIT_API const char* cubejit_version(void);
/* What went wrong in the last call that failed on this thread, one violated rule per line; valid until the next failure. */
CUBEJIT_API const char* cubejit_last_error(void);

/* `options` may be null: then the environment says (CUBEJIT_NUM_THREADS ...), and plans tuned on this machine are used; with options neither
 * does, and only dumps, profilers and the log follow the environment. The session keeps what it compiled; one per process is enough. */
CUBEJIT_API cubejit_status cubejit_session_create(const cubejit_options* options, cubejit_session** session);
CUBEJIT_API void cubejit_session_destroy(cubejit_session* session);
CUBEJIT_API cubejit_status cubejit_session_statistics(const cubejit_session* session, cubejit_statistics* statistics);

/* Plans one pass without generating code. The report's texts are valid until this thread's next call of cubejit_plan. */
CUBEJIT_API cubejit_status cubejit_plan(const cubejit_session* session, const cubejit_problem* problem, int pass,
                                        cubejit_plan_report* report);

/* Generates code for a set of passes, or finds it in the session. The executable may outlive the session. */
CUBEJIT_API cubejit_status cubejit_compile(cubejit_session* session, const cubejit_problem* problem, int passes,
                                           cubejit_executable** executable);
CUBEJIT_API void cubejit_executable_destroy(cubejit_executable* executable);

/* Bytes of workspace a run on this many threads needs (0 threads: the session's choice); 0 for a null handle. What cubejit_run() refuses, a negative
 * number, needs what 0 does. */
CUBEJIT_API size_t cubejit_workspace_bytes(const cubejit_executable* executable, int threads);
/* The same of a run that is given cubejit_tensors::packed_w, whose weights have memory of their own. */
CUBEJIT_API size_t cubejit_workspace_bytes_beside_packed(const cubejit_executable* executable, int threads);
/* Computes the passes. `workspace` is scratch, aligned to 64 bytes; each concurrent run needs its own. 0 threads: the session's choice; a negative
 * number is CUBEJIT_INVALID_PROBLEM.
 * Denormals are flushed in all its threads as the calling thread has it, rounding is to nearest (float_mode.h). */
CUBEJIT_API cubejit_status cubejit_run(const cubejit_executable* executable, const cubejit_tensors* tensors,
                                       void* workspace, size_t workspace_bytes, int threads);

/* What a run of the pass does on the NPU it was compiled for: estimated cycles, bytes over each path,
 * work and time of each core, as JSON ("cubejit.soc_run/1", as `cubejit run --soc --json` prints it). It is the same for every run, so none is
 * needed. The text is valid until this thread's next call of cubejit_emulation_report. CUBEJIT_UNSUPPORTED: compiled for this host. */
CUBEJIT_API cubejit_status cubejit_emulation_report(const cubejit_executable* executable, int pass, const char** json);

/* Bytes of the memory that packed weights take; 0 unless dx or y was compiled with CUBEJIT_KEEP_WEIGHTS (some plans pack beforehand anyway). */
CUBEJIT_API size_t cubejit_packed_weights_bytes(const cubejit_executable* executable);
/* Packs w into `packed`, aligned to 64 bytes, for cubejit_tensors::packed_w. Say again when w has changed. `threads` as cubejit_run() has them. */
CUBEJIT_API cubejit_status cubejit_pack_weights(const cubejit_executable* executable, const void* w, void* packed,
                                                size_t packed_bytes, int threads);

CUBEJIT_API size_t cubejit_kernel_count(const cubejit_executable* executable);
/* `kernel->struct_size` must be set. */
CUBEJIT_API cubejit_status cubejit_get_kernel(const cubejit_executable* executable, size_t index,
                                              cubejit_kernel* kernel);

#ifdef __cplusplus
}
#endif

#endif
