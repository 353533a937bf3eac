#include "converter/solve/fuse/branch_groups.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "converter/solve/sort_and_unique.hpp"

namespace tenon::converter {
namespace {

using Branches = std::vector<size_t>;

/// Lists the largest sets of candidates between no two of which there is a path: the maximal
/// cliques of the graph of independent pairs (Bron and Kerbosch 1973, with pivots).
class IndependentSets {
 public:
  IndependentSets(const BranchTable& table, const Branches& candidates) : table_(table) {
    Branches none;
    Branches chosen;
    const bool are_few = candidates.size() <= kMostGroupsPerPlace / 2;
    if (are_few) Extend(chosen, candidates, none);
    if (!are_few || sets_.size() >= kMostGroupsPerPlace) CoverAll(candidates);
    for (Branches& set : sets_) std::sort(set.begin(), set.end());
    SortAndUnique(sets_);
  }
  std::vector<Branches>& sets() { return sets_; }

 private:
  [[nodiscard]] Branches IndependentOf(size_t branch, const Branches& others) const {
    Branches kept;
    for (const size_t other : others) {
      if (other != branch && !table_.AreDependent(branch, other)) kept.push_back(other);
    }
    return kept;
  }

  void Extend(Branches& chosen, Branches open, Branches closed) {
    if (sets_.size() >= kMostGroupsPerPlace) return;
    if (open.empty()) {
      if (closed.empty() && chosen.size() >= 2) sets_.push_back(chosen);
      return;
    }
    // Every largest set has the pivot or a branch that depends on it.
    size_t pivot = open[0];
    size_t most = 0;
    for (const Branches* list : {&open, &closed}) {
      for (const size_t candidate : *list) {
        const size_t count = IndependentOf(candidate, open).size();
        if (count > most) std::tie(most, pivot) = std::pair(count, candidate);
      }
    }
    for (const size_t branch : Branches(open)) {
      if (branch != pivot && !table_.AreDependent(branch, pivot)) continue;
      chosen.push_back(branch);
      Extend(chosen, IndependentOf(branch, open), IndependentOf(branch, closed));
      chosen.pop_back();
      open.erase(std::find(open.begin(), open.end(), branch));
      closed.push_back(branch);
    }
  }

  /// Adds a set for every branch that can be in one and is in none.
  void CoverAll(const Branches& candidates) {
    Branches covered;
    for (const Branches& set : sets_) covered.insert(covered.end(), set.begin(), set.end());
    SortAndUnique(covered);
    for (const size_t branch : candidates) {
      if (std::binary_search(covered.begin(), covered.end(), branch)) continue;
      Branches set = {branch};
      for (const size_t other : candidates) {
        const auto dependent = [&](size_t member) {
          return member == other || table_.AreDependent(member, other);
        };
        if (std::none_of(set.begin(), set.end(), dependent)) set.push_back(other);
      }
      if (set.size() >= 2) sets_.push_back(std::move(set));
    }
  }

  const BranchTable& table_;
  std::vector<Branches> sets_;
};

void AddGroups(const BranchTable& table, Branches candidates, const BranchGroup& place,
               std::vector<BranchGroup>& groups) {
  SortAndUnique(candidates);
  std::erase_if(candidates, [&](size_t branch) { return table.fusible(branch).empty(); });
  if (candidates.size() < 2) return;
  IndependentSets independent(table, candidates);
  for (const Branches& set : independent.sets()) {
    BranchGroup group = place;
    for (const size_t branch : set) group.branches.push_back(table.fusible(branch));
    groups.push_back(std::move(group));
  }
}

/// Branches that begin at one of the ops, and those that end there.
Branches BeginningAt(const BranchTable& table, const std::vector<int32_t>& ops) {
  Branches found;
  for (const int32_t op : ops) {
    const size_t branch = table.branch_of(op);
    if (table.head(branch) == op) found.push_back(branch);
  }
  return found;
}

Branches EndingAt(const BranchTable& table, const std::vector<int32_t>& ops) {
  Branches found;
  for (const int32_t op : ops) {
    const size_t branch = table.branch_of(op);
    if (table.tail(branch) == op) found.push_back(branch);
  }
  return found;
}

}  // namespace

const char* GroupKindName(GroupKind kind) {
  switch (kind) {
    case GroupKind::kClassic:
      return "classic";
    case GroupKind::kCommonParent:
      return "common parent";
    case GroupKind::kCommonChild:
      return "common child";
    case GroupKind::kNoParent:
      return "no parent";
    case GroupKind::kNoChild:
      return "no child";
    case GroupKind::kLeftOver:
      return "left over";
  }
  return "";
}

BranchTable::BranchTable(const BranchGraph& graph, const std::vector<bool>& fusible)
    : graph_(graph),
      successors_(SuccessorsOf(graph)),
      paths_(graph),
      whole_(FindBranches(graph)),
      fusible_(whole_.size()),
      of_op_(graph.size()) {
  for (size_t branch = 0; branch < whole_.size(); ++branch) {
    for (const int32_t op : whole_[branch]) {
      of_op_[static_cast<size_t>(op)] = branch;
      if (fusible[static_cast<size_t>(op)]) fusible_[branch].push_back(op);
    }
  }
}

bool BranchTable::AreDependent(size_t a, size_t b) const {
  return paths_.HasPath(tail(a), head(b)) || paths_.HasPath(tail(b), head(a));
}

std::vector<BranchGroup> FindClassicGroups(const BranchTable& table) {
  std::map<std::pair<int32_t, int32_t>, Branches> between;
  for (size_t branch = 0; branch < table.size(); ++branch) {
    if (table.fusible(branch).size() < 2) continue;
    const auto& parents = table.graph().predecessors[static_cast<size_t>(table.head(branch))];
    const auto& children = table.successors()[static_cast<size_t>(table.tail(branch))];
    for (const int32_t parent : parents) {
      for (const int32_t child : children) between[{parent, child}].push_back(branch);
    }
  }
  std::vector<BranchGroup> groups;
  for (auto& [ends, branches] : between) {
    AddGroups(table, branches, {GroupKind::kClassic, ends.first, ends.second, {}}, groups);
  }
  return groups;
}

std::vector<BranchGroup> FindCommonParentGroups(const BranchTable& table) {
  std::vector<BranchGroup> groups;
  for (size_t op = 0; op < table.graph().size(); ++op) {
    const std::vector<int32_t>& children = table.successors()[op];
    if (children.size() < 2) continue;
    const BranchGroup place = {GroupKind::kCommonParent, static_cast<int32_t>(op), -1, {}};
    AddGroups(table, BeginningAt(table, children), place, groups);
  }
  return groups;
}

std::vector<BranchGroup> FindCommonChildGroups(const BranchTable& table) {
  std::vector<BranchGroup> groups;
  for (size_t op = 0; op < table.graph().size(); ++op) {
    const std::vector<int32_t>& parents = table.graph().predecessors[op];
    if (parents.size() < 2) continue;
    const BranchGroup place = {GroupKind::kCommonChild, -1, static_cast<int32_t>(op), {}};
    AddGroups(table, EndingAt(table, parents), place, groups);
  }
  return groups;
}

std::vector<BranchGroup> FindNoParentGroups(const BranchTable& table) {
  Branches candidates;
  for (size_t branch = 0; branch < table.size(); ++branch) {
    const auto head = static_cast<size_t>(table.head(branch));
    if (table.graph().predecessors[head].empty()) candidates.push_back(branch);
  }
  std::vector<BranchGroup> groups;
  AddGroups(table, std::move(candidates), {GroupKind::kNoParent, -1, -1, {}}, groups);
  return groups;
}

std::vector<BranchGroup> FindNoChildGroups(const BranchTable& table) {
  Branches candidates;
  for (size_t branch = 0; branch < table.size(); ++branch) {
    const auto tail = static_cast<size_t>(table.tail(branch));
    if (table.successors()[tail].empty()) candidates.push_back(branch);
  }
  std::vector<BranchGroup> groups;
  AddGroups(table, std::move(candidates), {GroupKind::kNoChild, -1, -1, {}}, groups);
  return groups;
}

std::vector<BranchGroup> FindLeftOverGroups(const BranchTable& table,
                                            const std::vector<BranchGroup>& groups) {
  std::vector<bool> grouped(table.size(), false);
  for (const BranchGroup& group : groups) {
    for (const std::vector<int32_t>& ops : group.branches) grouped[table.branch_of(ops[0])] = true;
  }
  Branches candidates;
  for (size_t branch = 0; branch < table.size(); ++branch) {
    if (!grouped[branch]) candidates.push_back(branch);
  }
  std::vector<BranchGroup> found;
  AddGroups(table, std::move(candidates), {GroupKind::kLeftOver, -1, -1, {}}, found);
  return found;
}

std::vector<BranchGroup> FindGroups(const BranchTable& table) {
  std::vector<BranchGroup> groups;
  for (auto* find : {FindClassicGroups, FindCommonParentGroups, FindCommonChildGroups,
                     FindNoParentGroups, FindNoChildGroups}) {
    std::vector<BranchGroup> found = find(table);
    groups.insert(groups.end(), found.begin(), found.end());
  }
  std::vector<BranchGroup> left = FindLeftOverGroups(table, groups);
  groups.insert(groups.end(), left.begin(), left.end());
  return groups;
}

}  // namespace tenon::converter
