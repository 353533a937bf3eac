#include "backends/fpga/codegen/fit_chip.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "backends/fpga/codegen/bands.hpp"

namespace tenon::fpga {
namespace {

constexpr int kBands[] = {2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};

class Fitter {
 public:
  Fitter(const LayerProgram& program, const CodeTarget& target)
      : program_(program), target_(target), can_(CanBeBanded(program)) {}

  FittedProgram Run() {
    FittedProgram whole = {program_, PlaceMaps(program_, target_, can_)};
    std::vector<bool> banded(program_.maps.size(), false);
    MapPlaces places = whole.places;
    while (places.spilled > 0 && AddWithoutRoom(places, banded)) {
      if (auto fitted = FewestBands(banded, places)) return std::move(*fitted);
    }
    return whole;
  }

 private:
  /// False if there is nothing more that can go by bands.
  bool AddWithoutRoom(const MapPlaces& places, std::vector<bool>& banded) const {
    bool added = false;
    for (size_t m = 0; m < banded.size(); ++m) {
      if (places.word[m] != kNoRoom) continue;
      if (!can_[m]) return false;
      added = added || !banded[m];
      banded[m] = true;
    }
    return added;
  }

  /// None with the places of the narrowest bands.
  [[nodiscard]] std::optional<FittedProgram> FewestBands(const std::vector<bool>& banded,
                                                         MapPlaces& places) const {
    for (const int bands : kBands) {
      std::optional<LayerProgram> program = InBands(program_, banded, bands);
      if (!program) return std::nullopt;
      std::vector<bool> can = can_;
      can.resize(program->maps.size(), false);
      places = PlaceMaps(*program, target_, can);
      if (places.spilled == 0) return FittedProgram{std::move(*program), std::move(places)};
    }
    return std::nullopt;
  }

  const LayerProgram& program_;
  const CodeTarget& target_;
  const std::vector<bool> can_;
};

}  // namespace

FittedProgram FitChip(const LayerProgram& program, const CodeTarget& target) {
  return Fitter(program, target).Run();
}

}  // namespace tenon::fpga
