// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how .npy headers are read: strictly, so that a wrong file is an error and never a wrong number.
#include "npy.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cubejit/float16.h"
#include "runtime/text/printable.h"
#include "runtime/text/text_file.h"
#include "runtime/text/whole_file.h"

namespace cubejit::cli {
namespace {

Error bad(const std::string& path, const std::string& what) { return invalidInput(printable(path + ": " + what)); }

std::string shapeText(const std::vector<std::int64_t>& shape) {
  std::string out = "(";
  for (const std::int64_t n : shape) out += std::to_string(n) + ",";
  return out + ")";
}

// Where a key of the header's dictionary begins, in either of Python's quotes.
std::size_t keyIn(const std::string& header, const std::string& key, std::size_t from = 0) {
  return std::min(header.find("'" + key + "'", from), header.find('"' + key + '"', from));
}

// The text after 'key': in the header's dictionary, up to the next comma outside parentheses.
std::string valueOf(const std::string& header, const std::string& key) {
  const std::size_t at = header.find("'" + key + "':");
  if (at == std::string::npos) return {};
  std::size_t begin = at + key.size() + 3, end = begin;
  while (begin < header.size() && header[begin] == ' ') ++begin;
  int depth = 0;
  for (end = begin; end < header.size(); ++end) {
    if (header[end] == '(') ++depth;
    if (header[end] == ')') --depth;
    if ((header[end] == ',' && depth == 0) || header[end] == '}') break;
  }
  return header.substr(begin, end - begin);
}

bool parseShape(const std::string& text, std::vector<std::int64_t>& shape) {
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return false;
  const char *at = text.data() + 1, *end = text.data() + text.size() - 1;
  while (at < end) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(at, end, value);
    if (error != std::errc{} || value < 0) return false;
    shape.push_back(value);
    at = stop;
  }
  return true;
}

const char* typeName(DType type) {
  switch (type) {
    case DType::kF16: return "<f2";
    case DType::kBf16: return "<u2";
    case DType::kI8: return "|i1";
    case DType::kI32: return "<i4";
    default: return "<f4";
  }
}

std::string headerOf(const NpyOutput& output) {
  std::string header = std::string("{'descr': '") + typeName(output.type) +
                       "', 'fortran_order': False, 'shape': " + shapeText(output.shape) + ", }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  const char start[10] = {'\x93',
                          'N',
                          'U',
                          'M',
                          'P',
                          'Y',
                          1,
                          0,
                          static_cast<char>(header.size() & 255),
                          static_cast<char>(header.size() >> 8)};
  return std::string(start, 10) + header;
}

}  // namespace

Result<NpyArray> readNpy(const std::string& path, const std::vector<std::int64_t>& expected, const std::string& axes,
                         DType wanted) {
  std::ifstream file(path, std::ios::binary);
  std::error_code ignored;
  if (!file || std::filesystem::is_directory(path, ignored)) return cannotRead(path, errno, Stage::kProblem);
  char magic[8];
  if (!file.read(magic, 8) || std::memcmp(magic, "\x93NUMPY", 6) != 0) return bad(path, "is not a NumPy file");
  const int major = magic[6];
  if (major != 1 && major != 2)
    return bad(path, "has NumPy format " + std::to_string(major) + "; 1.0 and 2.0 are read");
  unsigned char lengthBytes[4] = {};
  if (!file.read(reinterpret_cast<char*>(lengthBytes), major == 1 ? 2 : 4))
    return bad(path, "is truncated in its header");
  const std::size_t length =
      lengthBytes[0] | lengthBytes[1] << 8 | lengthBytes[2] << 16 | static_cast<std::size_t>(lengthBytes[3]) << 24;
  if (length > 65536) return bad(path, "has a header of " + std::to_string(length) + " bytes");
  std::string header(length, ' ');
  if (!file.read(header.data(), static_cast<std::streamsize>(length))) return bad(path, "is truncated in its header");
  NpyArray array;
  for (const char* key : {"descr", "fortran_order", "shape"}) {
    const std::size_t first = keyIn(header, key);
    if (first != std::string::npos && keyIn(header, key, first + 1) != std::string::npos)
      return bad(path, std::string("has '") + key + "' twice in its header; write it anew with numpy.save");
  }
  const std::string type = valueOf(header, "descr"), order = valueOf(header, "fortran_order");
  const bool floats = type == "'<f4'", bits = wanted == DType::kBf16 && (type == "'|V2'" || type == "'<V2'");
  if ((!floats || isInteger(wanted)) && !bits && type != std::string("'") + typeName(wanted) + "'")
    return bad(path, "holds " + (type.empty() ? "no type" : type) + ", needed is '" + typeName(wanted) + "' (" +
                         toString(wanted) + ")" + (byteSize(wanted) == 2 ? " or '<f4' (f32)" : "") +
                         "; convert with numpy's astype");
  const std::int64_t size = floats ? 4 : byteSize(wanted);
  if (order != "False") return bad(path, "is in Fortran order; save numpy.ascontiguousarray of it");
  if (!parseShape(valueOf(header, "shape"), array.shape)) return bad(path, "has no readable shape");
  if (array.shape != expected)
    return bad(path, "has shape " + shapeText(array.shape) + ", the problem and layout need " + shapeText(expected) +
                         ", that is " + axes);
  std::int64_t count = 1;
  for (const std::int64_t n : array.shape) {
    if (__builtin_mul_overflow(count, n, &count) || count > INT64_MAX / 4)
      return bad(path, "has more elements than memory can hold");
  }
  const std::streamoff begin = file.tellg();
  file.seekg(0, std::ios::end);
  const std::streamoff held = file.tellg() - begin;
  if (held != count * size)
    return bad(path,
               "holds " + std::to_string(held) + " bytes of data, its shape needs " + std::to_string(count * size));
  file.seekg(begin);
  array.bytes.resize(static_cast<std::size_t>(count * size));
  if (!file.read(array.bytes.data(), count * size)) return bad(path, "is truncated");
  if (floats && byteSize(wanted) == 2) {
    for (std::int64_t i = 0; i < count; ++i) {
      float value = 0;
      std::memcpy(&value, array.bytes.data() + i * 4, 4);
      const std::uint16_t half = wanted == DType::kF16 ? floatToF16(value) : floatToBf16(value);
      std::memcpy(array.bytes.data() + i * 2, &half, 2);
    }
    array.bytes.resize(static_cast<std::size_t>(count * 2));
  }
  return array;
}

Status writeNpy(const std::vector<NpyOutput>& outputs) {
  std::vector<StagedFile> staged;
  for (const NpyOutput& output : outputs) {
    StagedFile& file = staged.emplace_back(output.path);
    CUBEJIT_RETURN_IF_ERROR(file.open());
    CUBEJIT_RETURN_IF_ERROR(file.fill({headerOf(output), {output.bytes.data(), output.bytes.size()}}));
  }
  for (StagedFile& file : staged) {
    CUBEJIT_RETURN_IF_ERROR(file.publish());
  }
  return Unit{};
}

}  // namespace cubejit::cli
