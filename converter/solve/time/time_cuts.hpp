// Finds the points of a time problem that all paths pass through, and the transfers that must
// happen between two of them.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "converter/solve/time/time_problem.hpp"

namespace tenon::converter {

/// A cut is a task that lies on every path, or a storage that every path goes through and that is
/// complete before anything reads it: all tasks come before it or after it.
struct TimeCut {
  Index task = UINT32_MAX;     ///< or
  Index storage = UINT32_MAX;  ///< this
  int64_t bytes = 0;           ///< of fast memory that are taken then
};

/// Computes the largest time for which the engine can have worked on the transfers added so far if
/// it has moved at most `room` bytes of them: it takes those with the most time per byte first (a
/// fractional knapsack).
class FetchedBefore {
 public:
  explicit FetchedBefore(int64_t room) : room_(room) {}
  void Add(Picoseconds time, int64_t bytes);
  [[nodiscard]] Picoseconds time() const;

 private:
  struct Item {
    Picoseconds time = 0;
    int64_t bytes = 0;
    /// Orders the queue so that the item with the least time per byte is removed first.
    friend bool operator<(const Item& a, const Item& b) {
      return static_cast<double>(a.time) * static_cast<double>(b.bytes) >
             static_cast<double>(b.time) * static_cast<double>(a.bytes);
    }
  };
  int64_t room_;
  std::priority_queue<Item> items_;
  int64_t bytes_ = 0;
  Picoseconds time_ = 0;
};

class TimeCuts {
 public:
  explicit TimeCuts(const TimeProblem& problem);

  [[nodiscard]] const std::vector<TimeCut>& cuts() const { return cuts_; }
  /// By task: the number of cuts before it (not counting the cut that it is itself).
  [[nodiscard]] const std::vector<Index>& levels() const { return levels_; }
  /// By task, by storage: the cut that it is, or UINT32_MAX.
  [[nodiscard]] const std::vector<Index>& cut_of_task() const { return cut_of_task_; }
  [[nodiscard]] const std::vector<Index>& cut_of_storage() const { return cut_of_storage_; }

  /// Raises `earliest` (by cut, and one more for the end of everything) to what the transfer engine
  /// allows if cut `from` is not reached before `time`: bytes that are needed only after the cut,
  /// and do not fit in memory in addition to what the cut itself takes, are fetched later. `from` =
  /// cut count means the start, where nothing has been fetched.
  void Push(Index from, Picoseconds time, std::vector<Picoseconds>& earliest) const;

 private:
  struct Transfer {
    Picoseconds time = 0;
    int64_t bytes = 0;     ///< 0: cannot have been made earlier
    Index not_before = 0;  ///< level of the task that makes the bytes
  };
  void FindCuts();
  void FindLevels();
  void FindTransfers();
  [[nodiscard]] int64_t BytesOf(Index task) const;

  const TimeProblem& problem_;
  std::vector<TimeCut> cuts_;
  std::vector<Index> levels_, cut_of_task_, cut_of_storage_;
  std::vector<std::vector<Transfer>> needed_;  ///< by level at which they must have been made
};

}  // namespace tenon::converter
