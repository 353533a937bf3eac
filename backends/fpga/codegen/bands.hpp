// Runs layers band by band through maps that have no room on the chip: some rows of the last map of
// a chain of layers are computed through all of it, then the next rows, so that of the maps between
// only a band's rows are on chip, with the rows that windows reach beyond (a halo, computed again).
// Maps that others read and write are loaded and stored by bands too.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "backends/fpga/codegen/layers.hpp"

namespace tenon::fpga {

/// By map: true if layers can go through it by bands. One that stays on chip has one reader, which
/// is no sum over more than a window.
[[nodiscard]] std::vector<bool> CanBeBanded(const LayerProgram& program);

/// Sums of several groups of channels and what they add: the lanes take both with one distance from
/// group to group, so either both are in bands or neither is.
[[nodiscard]] std::vector<std::pair<int, int>> BandedTogether(const LayerProgram& program);

/// The program with `banded` maps (by map, all of which can be) cut into at most `bands` bands.
/// Layers of one op follow each other or alternate with those of its chain. None where rows of a
/// band would see nothing but padding.
[[nodiscard]] std::optional<LayerProgram> InBands(const LayerProgram& program,
                                                  const std::vector<bool>& banded, int bands);

}  // namespace tenon::fpga
