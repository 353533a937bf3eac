#include "converter/solve/fuse/wide_device.hpp"

#include <algorithm>
#include <map>

namespace tenon::converter {
namespace {

using WideOps = std::vector<WideOp>;

/// The least time over the ways to merge the ops of the classes from `begin` on, with `done` as it
/// is. Up to kMostByPartition ops of a class are merged in every way that there is, more only all
/// or not at all.
class MergeSearch {
 public:
  static constexpr size_t kMostByPartition = 5;

  MergeSearch(const WideDevice& device, const std::vector<WideOps>& classes)
      : device_(device), classes_(classes) {}

  double Search(WideOps done, size_t begin) {
    if (begin == classes_.size()) {
      best_ = std::min(best_, WideTime(device_, done));
      return best_;
    }
    const WideOps& members = classes_[begin];
    if (members.size() > kMostByPartition) {
      WideOps apart = done;
      apart.insert(apart.end(), members.begin(), members.end());
      Search(std::move(apart), begin + 1);
      done.push_back(MergeWideOps(members));
      return Search(std::move(done), begin + 1);
    }
    std::vector<WideOps> parts;
    Partition(done, begin, 0, parts);
    return best_;
  }

 private:
  void Partition(const WideOps& done, size_t begin, size_t member, std::vector<WideOps>& parts) {
    const WideOps& members = classes_[begin];
    if (member == members.size()) {
      WideOps ops = done;
      for (const WideOps& part : parts) ops.push_back(MergeWideOps(part));
      Search(std::move(ops), begin + 1);
      return;
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i].push_back(members[member]);
      Partition(done, begin, member + 1, parts);
      parts[i].pop_back();
    }
    parts.push_back({members[member]});
    Partition(done, begin, member + 1, parts);
    parts.pop_back();
  }

  const WideDevice& device_;
  const std::vector<WideOps>& classes_;
  double best_ = 1e300;
};

}  // namespace

double WideTime(const WideDevice& device, const WideOps& ops) {
  double longest = 0;
  double lane_seconds = 0;
  double bytes = 0;
  for (const WideOp& op : ops) {
    const auto groups = static_cast<double>(
        std::max<int64_t>(1, (op.elements + device.group_elements - 1) / device.group_elements));
    const double seconds =
        std::max(op.flops / groups / device.lane_flops, op.bytes / groups / device.lane_bandwidth);
    longest = std::max(longest, seconds);
    lane_seconds += groups * seconds;
    bytes += op.bytes;
  }
  return device.start_seconds +
         std::max({longest, lane_seconds / device.lanes, bytes / device.bandwidth});
}

WideOp MergeWideOps(const WideOps& ops) {
  WideOp merged = ops[0];
  for (size_t i = 1; i < ops.size(); ++i) {
    merged.elements += ops[i].elements;
    merged.flops += ops[i].flops;
    merged.bytes += ops[i].bytes - ops[i].shared_bytes;
  }
  return merged;
}

double WideModel::Time(const OpSet& ops) const {
  WideOps alone;
  std::map<int32_t, WideOps> by_class;
  for (const int32_t op : ops) {
    const WideOp& wide = ops_[static_cast<size_t>(op)];
    if (may_merge_ && wide.merge_class >= 0) {
      by_class[wide.merge_class].push_back(wide);
    } else {
      alone.push_back(wide);
    }
  }
  std::vector<WideOps> classes;
  for (auto& [number, members] : by_class) {
    if (members.size() == 1) {
      alone.push_back(members[0]);
    } else {
      classes.push_back(std::move(members));
    }
  }
  if (classes.empty()) return WideTime(device_, alone);
  return MergeSearch(device_, classes).Search(std::move(alone), 0);
}

}  // namespace tenon::converter
