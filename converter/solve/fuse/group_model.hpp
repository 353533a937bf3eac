// Says what starting ops together means on a unit: whether it can hold them, and how long they
// take.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::converter {

/// Ops that are started at once, ascending, each once.
using OpSet = std::vector<int32_t>;

/// The resource model of a unit (docs/methods.md, F5). Times are in seconds.
class GroupModel {
 public:
  GroupModel() = default;
  GroupModel(const GroupModel&) = delete;
  GroupModel& operator=(const GroupModel&) = delete;
  virtual ~GroupModel() = default;

  /// Returns the time from one start of the set to the end of all its ops. Of one op: what it takes
  /// started alone.
  [[nodiscard]] virtual double Time(const OpSet& ops) const = 0;
  /// Returns why the unit cannot hold these ops at once; empty if it can. Never a reason against
  /// one op. What is refused stays so when ops are added.
  [[nodiscard]] virtual std::string WhyNot(const OpSet& ops) const = 0;
};

}  // namespace tenon::converter
