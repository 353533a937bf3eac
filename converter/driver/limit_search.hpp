// Finds the smallest limit that works, where nothing but trying tells. Limits are tried on a fixed
// ladder, whatever was asked for: "some limit of the ladder up to here works" holds for every
// larger limit too, so what is accepted is monotone even where single attempts are not.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "converter/driver/fit.hpp"

namespace tenon::converter {

class LimitSearch {
 public:
  /// Makes a program whose arena has at most so many bytes; none if it finds none. Must not depend
  /// on earlier calls.
  using Attempt = std::function<Result<std::optional<Fitted>>(int64_t bytes)>;

  /// `least`: no program needs less. `most`: the limit of the last attempt.
  LimitSearch(Attempt attempt, int64_t least, int64_t most);

  /// Returns a program from one of the last limits of the ladder up to `bytes`; none if it finds
  /// none there: the smallest may be smaller yet.
  [[nodiscard]] Result<std::optional<Fitted>> AtMost(int64_t bytes);

  /// Returns the program of the first limit of the ladder that works, improved between that and the
  /// one before. None: no limit works.
  [[nodiscard]] Result<std::optional<Fitted>> Smallest();

 private:
  [[nodiscard]] static int64_t Rung(int index);
  [[nodiscard]] static int RungAtMost(int64_t bytes);
  Result<bool> Works(int index);
  Result<std::optional<Fitted>> Refine(int64_t fails, Fitted works);

  Attempt attempt_;
  int64_t least_;
  int64_t most_;
  std::map<int, std::optional<Fitted>> tried_;  ///< by rung
};

}  // namespace tenon::converter
