// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides keys: a composition depends on how its parts lie to each other, not on where they are.
#include "codegen/tile/gather_pool.h"

namespace cubejit {
std::size_t GatherPool::Hash::operator()(const Key& key) const {
  std::uint64_t hash = key.size();
  for (const std::int64_t word : key) {
    hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29;
  }
  return static_cast<std::size_t>(hash);
}

int GatherPool::add(Gather gather) {
  Entry entry;
  entry.reads = gather.reads();
  entry.readHull = hullRead(gather);
  entry.writtenHull = hullWritten(gather);
  entry.gather = std::move(gather);
  entries_.push_back(std::move(entry));
  return static_cast<int>(entries_.size()) - 1;
}

int GatherPool::of(const TileProgram& program, const Variant& variant) {
  const auto [it, fresh] = ofMove_.try_emplace({variant.kernel, variant.list}, -1);
  if (!fresh) return it->second;
  auto gather = gatherOf(program.kernels[static_cast<std::size_t>(variant.kernel)],
                         variant.list < 0 ? nullptr : &program.lists[static_cast<std::size_t>(variant.list)]);
  if (gather) it->second = add(std::move(*gather));
  return it->second;
}

const std::vector<ByteRange>& GatherPool::read(int gather) {
  const auto [it, fresh] = read_.try_emplace(gather);
  if (fresh) it->second = bytesRead(at(gather).gather);
  return it->second;
}

const std::vector<ByteRange>& GatherPool::written(int gather) {
  const auto [it, fresh] = written_.try_emplace(gather);
  if (fresh) it->second = bytesWritten(at(gather).gather);
  return it->second;
}

int GatherPool::composed(int reader, const std::vector<Writer>& writers) {
  key_.assign(1, reader);
  for (const Writer& w : writers) key_.insert(key_.end(), {w.gather, w.to, w.from});
  const auto [it, fresh] = composed_.try_emplace(key_, -1);
  if (!fresh) return it->second;
  std::vector<GatherWriter> parts;
  for (const Writer& w : writers) parts.push_back({&at(w.gather).gather, w.to, w.from});
  auto gather = compose(at(reader).gather, parts);
  if (gather) it->second = add(std::move(*gather));
  return it->second;
}

int GatherPool::needs(int gather, bool written) {
  const auto [it, fresh] = firstState_.try_emplace({gather, written}, static_cast<int>(needed_.size()));
  if (fresh) needed_.push_back(written ? this->written(gather) : read(gather));
  return it->second;
}

int GatherPool::after(int state, int writer, std::int64_t shift, bool& hit) {
  key_.assign({state, writer, shift});
  const auto [it, fresh] = steps_.try_emplace(key_);
  if (fresh) {
    const std::vector<ByteRange>& before = needed_[static_cast<std::size_t>(state)];
    std::vector<ByteRange> rest = without(before, written(writer), shift);
    it->second = {state, rest != before};
    if (it->second.hit) {
      it->second.state = static_cast<int>(needed_.size());
      needed_.push_back(std::move(rest));
    }
  }
  hit = it->second.hit;
  return it->second.state;
}

}  // namespace cubejit
