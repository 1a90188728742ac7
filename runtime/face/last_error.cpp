// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a thread's texts end with it. A thread_local with a destructor is registered where it is first touched, and glibc aborts
// where there is no memory for that; of a key's destructor only the first pthread_setspecific() may need some, and says so.
#include "runtime/face/last_error.h"

#include <pthread.h>

#include <new>

namespace cubejit {
namespace {

struct Texts {
  std::string lastError;
  ReturnedTexts returned;
};

struct Storage {
  alignas(Texts) unsigned char bytes[sizeof(Texts)];
  bool begun;
};

Texts& textsIn(Storage& storage) { return *std::launder(reinterpret_cast<Texts*>(storage.bytes)); }

void end(void* thread) {
  auto& storage = *static_cast<Storage*>(thread);
  textsIn(storage).~Texts();
  storage.begun = false;
}

// Deleted before the library may be unloaded.
struct Key {
  Key() : there(pthread_key_create(&key, end) == 0) {}
  ~Key() {
    if (there) pthread_key_delete(key);
  }
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;
  pthread_key_t key{};
  const bool there;
};
const Key kKey;

Texts& textsOfThread() noexcept {
  static thread_local Storage storage;
  if (storage.begun) return textsIn(storage);
  ::new (storage.bytes) Texts;
  storage.begun = true;
  if (kKey.there) static_cast<void>(pthread_setspecific(kKey.key, &storage));  // failed: what they hold is not freed
  return textsIn(storage);
}

}  // namespace

std::string& lastError() noexcept { return textsOfThread().lastError; }
ReturnedTexts& returnedTexts() noexcept { return textsOfThread().returned; }

}  // namespace cubejit
