// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides `pack` and `unpack`: a tensor between plain f32 (or its own type) and the type and layout the problem's flags give it,
// in NumPy or raw files. Leaves the conversion to the library's generated kernels.
#include <fmt/core.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>

#include "commands.h"
#include "cubejit/index_map.h"
#include "failure.h"
#include "json_line.h"
#include "memory_shape.h"
#include "npy.h"
#include "request.h"
#include "runtime/text/problem_text.h"
#include "runtime/text/text_file.h"
#include "runtime/text/whole_file.h"

namespace cubejit::cli {
namespace {

struct PackFlags {
  std::string tensor = "x", in, out, plainDtype = "f32";
};

bool isNumpy(const std::string& path) { return path.size() > 4 && path.substr(path.size() - 4) == ".npy"; }

Result<std::vector<char>> readTensor(const std::string& path, const Problem& p, TensorId t) {
  const DType type = formatOf(p, t).dtype;
  if (isNumpy(path)) {
    CUBEJIT_TRY(array, readNpy(path, memoryShape(p, t), memoryAxes(p, t), type));
    return std::move(array.bytes);
  }
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::error_code ignored;
  if (!file || std::filesystem::is_directory(path, ignored)) return cannotRead(path, errno, Stage::kProblem);
  const std::int64_t held = file.tellg(), needed = formatBytes(p, t);
  if (held != needed)
    return invalidInput(fmt::format("{}: holds {} bytes, {} as {} {} takes {}", printable(path), held, toString(t),
                                    toString(type), toString(formatOf(p, t).layout), needed));
  std::vector<char> bytes(static_cast<std::size_t>(held));
  file.seekg(0);
  if (!file.read(bytes.data(), held)) return cannotRead(path, errno, Stage::kProblem);
  return bytes;
}

Status writeTensor(const std::string& path, const Problem& p, TensorId t, std::vector<char> bytes) {
  if (isNumpy(path)) return writeNpy({NpyOutput{path, memoryShape(p, t), formatOf(p, t).dtype, std::move(bytes)}});
  return writeWholeFile(path, {bytes.data(), bytes.size()});
}

Status convert(const RequestFlags& flags, const PackFlags& own, bool packs) {
  RequestFlags wanted = flags;
  wanted.passes = "dx";
  CUBEJIT_TRY(request, resolve(wanted));
  CUBEJIT_TRY(plainType, parseDType(own.plainDtype));
  const Problem& packed = request.problems.front();
  CUBEJIT_TRY(tensor, parseTensor(own.tensor));
  Problem plain = packed;
  plain.formats[static_cast<std::size_t>(tensor)] = TensorFormat{plainType, Layout::kNcdhw, {}};
  const Problem &from = packs ? plain : packed, &to = packs ? packed : plain;
  CUBEJIT_TRY(source, readTensor(own.in, from, tensor));
  const Session session(request.options);
  CUBEJIT_TRY(repacking, session.repack(from, tensor, formatOf(to, tensor)));
  std::vector<char> target(repacking->targetBytes());
  CUBEJIT_RETURN_IF_ERROR(repacking->run(source.data(), target.data()));
  CUBEJIT_RETURN_IF_ERROR(writeTensor(own.out, to, tensor, std::move(target)));
  if (flags.json) {
    const TensorFormat format = formatOf(to, tensor);
    fmt::print("{}", jsonLine({{"schema", "cubejit.pack/1"},
                               {"tensor", own.tensor},
                               {"file", own.out},
                               {"dtype", toString(format.dtype)},
                               {"layout", toString(format.layout)},
                               {"shape", memoryShape(to, tensor)}}));
  }
  return Unit{};
}

void add(CLI::App& app, Action& action, bool packs) {
  CLI::App* command = app.add_subcommand(
      packs ? "pack" : "unpack", packs ? "Convert a plain tensor to the problem's --dtype and --layout"
                                       : "Convert a tensor of the problem's --dtype and --layout to a plain one");
  example(*command, (packs ? "pack " : "unpack ") + std::string(kExampleLayer) +
                        " --dtype f16 --layout w=fractal_z --tensor w " +
                        (packs ? "--in w.npy --out packed.npy" : "--in packed.npy --out w.npy"));
  auto flags = std::make_shared<RequestFlags>();
  auto own = std::make_shared<PackFlags>();
  addProblemFlags(*command, *flags, false);
  addRunFlags(*command, *flags);
  command->add_option("--tensor", own->tensor, "dy, x, w, y, dx, dw or db");
  command->add_option("--in", own->in, "FILE.npy, or a raw file of the tensor's memory")->required();
  command->add_option("--out", own->out, "FILE.npy, or a raw file of the tensor's memory")->required();
  command->add_option("--plain-dtype", own->plainDtype, "Type of the plain side");
  command->callback([&action, flags, own, packs] {
    action = [flags, own, packs](const std::string& typed) {
      const Status status = convert(*flags, *own, packs);
      return status.ok() ? 0 : report(status.error(), typed);
    };
  });
}

}  // namespace

void addPack(CLI::App& app, Action& action) {
  add(app, action, true);
  add(app, action, false);
}

}  // namespace cubejit::cli
