// Finds the smallest limit that works, where nothing but trying tells. Limits are tried in an order
// that depends on earlier answers alone, never on what was asked for: "something on this path needs
// at most so many bytes" holds for every larger limit too, so what is accepted is monotone even
// where single attempts are not.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "converter/driver/fit.hpp"

namespace tenon::converter {

class LimitSearch {
 public:
  /// Makes a program whose arena has at most so many bytes; none if it finds none. Must not depend
  /// on earlier calls.
  using Attempt = std::function<Result<std::optional<Fitted>>(int64_t bytes)>;

  /// `least`: no program needs less. `most`: the limit of the last attempt, if all others fail.
  LimitSearch(Attempt attempt, int64_t least, int64_t most);

  /// Follows the path as far as a program of at most `bytes`. None: the smallest needs more.
  [[nodiscard]] Result<std::optional<Fitted>> AtMost(int64_t bytes);

  /// Follows the path to its end and returns the smallest program. None: no limit works.
  [[nodiscard]] Result<std::optional<Fitted>> Smallest();

 private:
  enum class Phase { kDescend, kRefine, kEnded };

  [[nodiscard]] static int64_t Below(int64_t bytes);
  Result<bool> Step();
  Result<bool> Descend();
  Result<bool> Refine();

  Attempt attempt_;
  int64_t least_;
  int64_t most_;
  Phase phase_ = Phase::kDescend;
  int64_t next_;                ///< limit of the next attempt of the descent
  int failures_ = 0;            ///< in a row
  int64_t fails_ = 0;           ///< the largest limit known to fail below `best_`
  std::optional<Fitted> best_;  ///< the smallest so far
};

}  // namespace tenon::converter
