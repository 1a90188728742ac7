/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Decides the runtime's functions: the device, memory, streams, switches. Leaves operators to aclnnop/.
 * There is one device, number 0, and its memory is the process's own. All functions may be called from many threads at once.
 */
#ifndef CUBEJIT_ACL_ACL_RT_H
#define CUBEJIT_ACL_ACL_RT_H

#include "acl/acl_base_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/** 200002 if `deviceId` is not 0. */
ACL_FUNC_VISIBILITY aclError aclrtSetDevice(int32_t deviceId);
/** Waits for all streams. 200002 if `deviceId` is not 0. */
ACL_FUNC_VISIBILITY aclError aclrtResetDevice(int32_t deviceId);
/** Always 0. 100000 if `deviceId` is null. */
ACL_FUNC_VISIBILITY aclError aclrtGetDevice(int32_t* deviceId);
/** Always 1. 100000 if `count` is null. */
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceCount(uint32_t* count);
/** ACL_HOST: the caller runs on the host. 100000 if `runMode` is null. */
ACL_FUNC_VISIBILITY aclError aclrtGetRunMode(aclrtRunMode* runMode);
/** Name of the part whose rules hold, as CUBEJIT_SOC or cubejit_acl_set_soc() gave it; "host" if none did. */
ACL_FUNC_VISIBILITY const char* aclrtGetSocName(void);

/** A context has switches of its own (aclrtCtxSetSysParamOpt), nothing else: streams, memory and handles are the process's. It becomes
 *  the calling thread's. Threads that have chosen none, or whose context was destroyed, have the device's own.
 *  100000: null, destroyed or foreign; 200002: no such device. */
ACL_FUNC_VISIBILITY aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId);
ACL_FUNC_VISIBILITY aclError aclrtDestroyContext(aclrtContext context);
ACL_FUNC_VISIBILITY aclError aclrtSetCurrentContext(aclrtContext context);
ACL_FUNC_VISIBILITY aclError aclrtGetCurrentContext(aclrtContext* context);

/** `size` bytes, aligned to 512, contents undefined. 100000: `devPtr` null, size 0 or unknown policy; 200000: no memory. */
ACL_FUNC_VISIBILITY aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy);
/** 100000 if the address is not that of an allocation, or has been freed: then nothing happens. */
ACL_FUNC_VISIBILITY aclError aclrtFree(void* devPtr);
/** As aclrtMalloc and aclrtFree; there is one kind of memory. */
ACL_FUNC_VISIBILITY aclError aclrtMallocHost(void** hostPtr, size_t size);
ACL_FUNC_VISIBILITY aclError aclrtFreeHost(void* hostPtr);
/** Copies now; work queued on streams is not waited for. 100000: a null address, `count` above `destMax` or above what is left of
 *  an allocation of aclrtMalloc's, unknown kind: then nothing is written. */
ACL_FUNC_VISIBILITY aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count,
                                         aclrtMemcpyKind kind);
/** Sets `count` bytes now; errors as aclrtMemcpy. */
ACL_FUNC_VISIBILITY aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count);

/** The same two when the stream has done what was queued before. Arguments are judged at once; also 200005: no such stream. */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count,
                                              aclrtMemcpyKind kind, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count,
                                              aclrtStream stream);

/** A queue with a thread of its own: work on one stream runs in order, work on different streams side by side.
 *  100000: `stream` is null; 500003: the system gives no thread. */
ACL_FUNC_VISIBILITY aclError aclrtCreateStream(aclrtStream* stream);
/** Finishes what is queued, then ends the thread. 200005 if the stream is not one, or has been destroyed. */
ACL_FUNC_VISIBILITY aclError aclrtDestroyStream(aclrtStream stream);
/** Returns when everything queued before the call is done. 500003 if some of it failed since the last call: aclGetRecentErrMsg()
 *  says what; 200005 as above. */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStream(aclrtStream stream);
/** The same for all streams. */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeDevice(void);

/** Switches of the process, and of the thread's context. Results here are bit-identical from run to run whatever they say; the rules
 *  that depend on ACL_OPT_DETERMINISTIC are kept. 100000: unknown switch, value out of range, null. */
ACL_FUNC_VISIBILITY aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value);
ACL_FUNC_VISIBILITY aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value);
ACL_FUNC_VISIBILITY aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value);
ACL_FUNC_VISIBILITY aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value);

#ifdef __cplusplus
}
#endif

#endif
