// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of any file that is to be a NumPy array of a shape and type: it is refused, or holds as many bytes as that takes, and what is written of
// it reads back as the same. An input's first bytes are type and shape, the others the file.
#include "tools/cli/npy.h"

#include "tests/fuzz/target.h"

using namespace cubejit;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes bytes(data, size);
  constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBf16, DType::kHf32};
  const DType type = kTypes[bytes.take<std::uint8_t>() % 4];
  std::vector<std::int64_t> shape(bytes.take<std::uint8_t>() % 6);
  std::int64_t count = 1;
  for (std::int64_t& extent : shape) count *= extent = bytes.take<std::uint8_t>();
  static const fuzz::ScratchFile file("npy");
  file.write(bytes.rest());
  const auto array = cli::readNpy(file.path(), shape, "N,C,D,H,W", type);
  if (!array.ok()) return 0;
  fuzz::hold(array->shape == shape, "an array that is read has the shape asked for");
  fuzz::hold(array->bytes.size() == static_cast<std::size_t>(count * byteSize(type)), "and as many bytes");
  fuzz::hold(cli::writeNpy({{file.path(), array->shape, type, array->bytes}}).ok(), "it is written");
  const auto again = cli::readNpy(file.path(), shape, "N,C,D,H,W", type);
  fuzz::hold(again.ok() && again->bytes == array->bytes, "and reads back as the same");
  return 0;
}
