// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the moves that interleave residue classes (see the header): a row is cut into pieces that a transpose turns at once.
#include "algorithms/spatial/lower/data_results.h"

#include <algorithm>

namespace cubejit {
namespace {

// `count` neighbours of `residues` residue classes that follow each other.
struct ResultPiece {
  std::int64_t firstResidue = 0, residues = 1, from = 0, count = 0;
  std::int64_t at = 0;  ///< pixel of the tensor's row where the first one goes
};

class Leaving {
 public:
  Leaving(ProgramBuilder& b, Epilogue& epilogue, const SpatialResults& r, int panel, int tensor,
          const std::vector<int>& classAxes, const std::vector<bool>& exists,
          const std::array<std::int64_t, 2>& channels)
      : b_(b),
        epilogue_(epilogue),
        r_(r),
        panel_(panel),
        tensor_(tensor),
        classAxes_(classAxes),
        exists_(exists),
        channels_(channels) {}

  void run(std::vector<Node>& body) {
    const bool last = r_.result->channelsLast;
    // Pixels without gaps between them are one row of the tensor; else residue classes leave one by one.
    const bool wholePixels =
        r_.blockRows * elementBytes(written()) == r_.result->wStride &&
        std::all_of(channels_.begin(), channels_.end(), [&](std::int64_t n) { return n == 0 || n == r_.blockRows; });
    for (const ResultPiece& piece : pieces(!last || wholePixels)) {
      if (!last)
        body.push_back(planes(piece));
      else
        body.push_back(pixels(piece));
    }
  }

 private:
  Element written() const { return elementOf(r_.result->dtype); }

  std::vector<ResultPiece> pieces(bool together) const {
    const std::vector<ResidueClass>& residues = *r_.residues;
    std::vector<ResultPiece> out;
    // A last pixel that only some classes have takes a call of its own, which short rows are not worth.
    const bool even = residues.front().count == residues.back().count || residues.back().count >= 2 * r_.lanes;
    if (!together || !even || static_cast<std::int64_t>(residues.size()) != r_.resultStep) {
      for (std::size_t p = 0; p < residues.size(); ++p)
        out.push_back(ResultPiece{static_cast<std::int64_t>(p), 1, 0, residues[p].count, residues[p].start});
      return out;
    }
    // The first classes may have one pixel more than the others.
    const std::int64_t common = residues.back().count;
    const std::int64_t longer =
        std::count_if(residues.begin(), residues.end(), [&](const ResidueClass& p) { return p.count > common; });
    out.push_back(ResultPiece{0, r_.resultStep, 0, common, 0});
    if (longer > 0) out.push_back(ResultPiece{0, longer, common, 1, common * r_.resultStep});
    return out;
  }

  std::vector<Node> eachRow(Call call, StoredChannels channels) {
    std::vector<Node> body = epilogue_.storing(std::move(call), channels);
    return r_.rowAxis < 0 ? std::move(body) : nest({r_.rowAxis}, std::move(body));
  }

  std::int64_t from(const ResultPiece& piece) const {
    return piece.firstResidue * r_.blockRows * r_.rowPitch + piece.from * 4;
  }

  Transpose transposed(std::int64_t rows, std::int64_t rowPitch, const ResultPiece& piece) const {
    return {.lanes = r_.lanes,
            .rows = rows,
            .cols = piece.count,
            .srcPitch = rowPitch,
            .dstPitch = r_.resultStep * r_.result->wStride,
            .to = written(),
            .label = "interleave"};
  }

  // Plain: a [residue][j] matrix of each channel becomes [j][residue], which is the tensor's row.
  Node planes(const ResultPiece& piece) {
    const int axis = b_.addAxis("channel", static_cast<int>(r_.blockRows));
    for (std::int64_t c = 0; c < r_.blockRows; ++c) {
      b_.addStep(axis,
                 {{panel_, from(piece) + c * r_.rowPitch},
                  {tensor_, piece.at * r_.result->wStride + c * r_.result->cStride},
                  epilogue_.toChannel(c)},
                 static_cast<int>(c));
    }
    Call call{"store_row", panel_, -1, tensor_, classAxes_, {}};
    call.classAxes.push_back(axis);
    const int kernel = b_.addKernel(transposed(piece.residues, r_.blockRows * r_.rowPitch, piece));
    for (const bool here : exists_) {
      for (const std::int64_t count : channels_) {
        for (std::int64_t c = 0; c < r_.blockRows; ++c)
          call.variants.push_back(Variant{here && c < count ? kernel : -1, -1, false});
      }
    }
    return loopNode(axis, eachRow(std::move(call), StoredChannels::kNone));
  }

  // Channels-last: [residue][channel][j] becomes [j][residue][channel].
  Node pixels(const ResultPiece& piece) {
    const int axis = b_.addAxis("piece");
    b_.addStep(axis, {{panel_, from(piece)}, {tensor_, piece.at * r_.result->wStride}});
    Call call{"store_row", panel_, -1, tensor_, classAxes_, {}};
    std::array<int, 2> kernels{-1, -1};
    for (std::size_t i = 0; i < 2; ++i) {
      if (channels_[i] == 0) continue;
      const std::int64_t rows = piece.residues > 1 ? piece.residues * r_.blockRows : channels_[i];
      kernels[i] = b_.addKernel(transposed(rows, r_.rowPitch, piece));
    }
    for (const bool here : exists_) {
      for (const int kernel : kernels) call.variants.push_back(Variant{here ? kernel : -1, -1, false});
    }
    return loopNode(axis, eachRow(std::move(call), StoredChannels::kColumns));
  }

  ProgramBuilder& b_;
  Epilogue& epilogue_;
  const SpatialResults& r_;
  const int panel_, tensor_;
  const std::vector<int>& classAxes_;
  const std::vector<bool>& exists_;
  const std::array<std::int64_t, 2>& channels_;
};

}  // namespace

void addSpatialResults(ProgramBuilder& b, Epilogue& epilogue, const SpatialResults& r, int panel, int tensor,
                       const std::vector<int>& classAxes, const std::vector<bool>& exists,
                       const std::array<std::int64_t, 2>& channels, std::vector<Node>& body) {
  Leaving(b, epilogue, r, panel, tensor, classAxes, exists, channels).run(body);
}

}  // namespace cubejit
