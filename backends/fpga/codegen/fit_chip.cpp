#include "backends/fpga/codegen/fit_chip.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "backends/fpga/codegen/bands.hpp"
#include "backends/fpga/codegen/place_scratch.hpp"

namespace tenon::fpga {
namespace {

constexpr int kBands[] = {2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};

class Fitter {
 public:
  Fitter(const LayerProgram& program, const CodeTarget& target)
      : program_(program), target_(target) {}

  FittedProgram Run() {
    FittedProgram whole = {program_, PlaceMaps(program_, target_, CanBeBanded(program_)), 0};
    if (whole.places.spilled == 0) return whole;
    for (;;) {
      can_ = CanBeBanded(program_);
      together_ = BandedTogether(program_);
      std::vector<int> stuck;
      if (auto fitted = InFewestBands(stuck)) {
        fitted->scratch_bytes = PlaceScratch(fitted->program);
        return std::move(*fitted);
      }
      if (!PutIntoScratch(stuck)) return whole;
    }
  }

 private:
  /// None with the maps, `stuck`, that have no room and cannot go by bands.
  std::optional<FittedProgram> InFewestBands(std::vector<int>& stuck) const {
    std::vector<bool> banded(program_.maps.size(), false);
    MapPlaces places = PlaceMaps(program_, target_, can_);
    while (AddWithoutRoom(places, banded, stuck)) {
      if (auto fitted = FewestBands(banded, places)) return fitted;
    }
    return std::nullopt;
  }

  /// False if there is nothing more that can go by bands.
  bool AddWithoutRoom(const MapPlaces& places, std::vector<bool>& banded,
                      std::vector<int>& stuck) const {
    std::vector<bool> wanted = banded;
    for (size_t m = 0; m < banded.size(); ++m) {
      if (places.word[m] == kNoRoom) wanted[m] = true;
    }
    AddPartners(wanted);
    for (size_t m = 0; m < wanted.size(); ++m) {
      if (wanted[m] && !can_[m]) stuck.push_back(static_cast<int>(m));
    }
    if (!stuck.empty() || wanted == banded) return false;
    banded = std::move(wanted);
    return true;
  }

  void AddPartners(std::vector<bool>& wanted) const {
    for (bool added = true; added;) {
      added = false;
      for (const auto& [sum, other] : together_) {
        const auto a = static_cast<size_t>(sum);
        const auto b = static_cast<size_t>(other);
        if (wanted[a] == wanted[b]) continue;
        wanted[a] = wanted[b] = added = true;
      }
    }
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
      if (places.spilled == 0) return FittedProgram{std::move(*program), std::move(places), 0};
    }
    return std::nullopt;
  }

  /// Maps that several layers read can go by bands if all of them find it in memory. False if there
  /// is none that this helps.
  bool PutIntoScratch(const std::vector<int>& stuck) {
    bool any = false;
    for (const int m : stuck) {
      FeatureMap& map = program_.maps[static_cast<size_t>(m)];
      if (map.is_read || map.is_written) continue;
      const FeatureMap before = map;
      map.is_written = true;
      map.block = kScratchBlock;
      map.offset = scratch_maps_++;
      map.memory_row = 0;
      map.flip = 0;
      const bool helps = CanBeBanded(program_)[static_cast<size_t>(m)];
      if (!helps) map = before;
      any = any || helps;
    }
    return any;
  }

  LayerProgram program_;
  int64_t scratch_maps_ = 0;  ///< tell the maps apart until they are placed
  const CodeTarget& target_;
  std::vector<bool> can_;                      ///< by map: go by bands
  std::vector<std::pair<int, int>> together_;  ///< maps of which both do or neither
};

}  // namespace

FittedProgram FitChip(const LayerProgram& program, const CodeTarget& target) {
  return Fitter(program, target).Run();
}

}  // namespace tenon::fpga
