// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what JSON values are made of: nlohmann's type, with memory that lasts until a value is gone. Its destructor allocates, and one
// that was just becoming a container is broken if it cannot: where malloc() gives nothing, both have a reserve.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cubejit {

/// From the heap, or where that has nothing left from a reserve of the process. Throws std::bad_alloc when that is used up as well.
void* jsonMemory(std::size_t bytes);
void freeJsonMemory(void* memory) noexcept;

template <class T>
struct JsonAllocator {
  using value_type = T;
  JsonAllocator() = default;
  template <class U>
  JsonAllocator(const JsonAllocator<U>&) noexcept {}  // NOLINT: implicit, as allocators are
  T* allocate(std::size_t count) { return static_cast<T*>(jsonMemory(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t) noexcept { freeJsonMemory(memory); }
  template <class U>
  bool operator==(const JsonAllocator<U>&) const {
    return true;
  }
};

/// Members stay in the order they were given.
using Json = nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, std::int64_t, std::uint64_t,
                                  double, JsonAllocator>;

/// In one line; text that is not UTF-8 gets replacement characters.
inline std::string oneLine(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace cubejit

/// The destructor's own list is a plain std::vector of values, which can only be reached through its allocator.
template <>
class std::allocator<cubejit::Json> : public cubejit::JsonAllocator<cubejit::Json> {
 public:
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using propagate_on_container_move_assignment = std::true_type;
  using is_always_equal = std::true_type;
  allocator() = default;
  template <class U>
  allocator(const allocator<U>&) noexcept {}  // NOLINT: implicit, as allocators are
};
