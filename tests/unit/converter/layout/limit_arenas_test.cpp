#include "converter/layout/limit_arenas.hpp"

#include <doctest/doctest.h>

#include <random>

namespace tenon::converter {
namespace {

PlannedStorage Storage(int64_t offset, int64_t bytes, int64_t first, int64_t last) {
  PlannedStorage storage;
  storage.offset = offset;
  storage.bytes = bytes;
  storage.first_step = first;
  storage.last_step = last;
  return storage;
}

ArenaPlan PlanOf(std::vector<PlannedStorage> storages) {
  ArenaPlan plan;
  plan.storages = std::move(storages);
  for (const PlannedStorage& storage : plan.storages) {
    plan.bytes = std::max(plan.bytes, storage.offset + storage.bytes);
  }
  return plan;
}

bool Overlap(int64_t a, int64_t a_end, int64_t b, int64_t b_end) { return a < b_end && b < a_end; }

/// Whether two storages that are alive together share bytes, or one is outside its arena.
bool IsSound(const ArenaPlan& plan) {
  for (size_t i = 0; i < plan.storages.size(); ++i) {
    const PlannedStorage& a = plan.storages[i];
    if (a.offset % kStorageAlignment != 0 || a.offset < 0) return false;
    if (a.offset + a.bytes > plan.arenas[static_cast<size_t>(a.arena)].bytes) return false;
    for (size_t j = 0; j < i; ++j) {
      const PlannedStorage& b = plan.storages[j];
      if (a.arena != b.arena || a.last_step < b.first_step || b.last_step < a.first_step) continue;
      if (Overlap(a.offset, a.offset + a.bytes, b.offset, b.offset + b.bytes)) return false;
    }
  }
  return true;
}

TEST_CASE("LimitArenas: an arena within the limit stays the only one") {
  ArenaPlan plan = PlanOf({Storage(0, 128, 0, 1), Storage(128, 128, 0, 1)});
  REQUIRE(LimitArenas(256, plan).ok());
  CHECK(plan.arenas.empty());
  REQUIRE(LimitArenas(0, plan).ok());
  CHECK(plan.arenas.empty());
}

TEST_CASE("LimitArenas: a larger one is cut between storages and takes no more bytes") {
  ArenaPlan plan = PlanOf({Storage(0, 128, 0, 1), Storage(128, 128, 0, 1), Storage(256, 64, 0, 1)});
  REQUIRE(LimitArenas(255, plan).ok());  // counts as 192
  CHECK(plan.arenas.size() == 2);
  CHECK(plan.bytes == 320);
  CHECK(IsSound(plan));
}

TEST_CASE("LimitArenas: storages that every cut goes through get an arena of their own") {
  // At 128 there is always one: 64..192 in step 0, 0..192 in step 1.
  ArenaPlan plan = PlanOf({Storage(0, 64, 0, 0), Storage(64, 128, 0, 0), Storage(0, 192, 1, 1),
                           Storage(192, 64, 0, 1)});
  REQUIRE(LimitArenas(192, plan).ok());
  CHECK(IsSound(plan));
  for (const PlannedArena& arena : plan.arenas) CHECK(arena.bytes <= 192);
}

TEST_CASE("LimitArenas: what an op takes over in place stays at its input's bytes") {
  ArenaPlan plan = PlanOf({Storage(64, 192, 0, 1), Storage(64, 64, 2, 3), Storage(0, 64, 0, 3),
                           Storage(256, 128, 0, 3)});
  REQUIRE(LimitArenas(192, plan).ok());
  CHECK(plan.storages[0].arena == plan.storages[1].arena);
  CHECK(plan.storages[0].offset == plan.storages[1].offset);
  CHECK(IsSound(plan));
}

TEST_CASE("LimitArenas: a storage or a ring that is larger is refused with its bytes") {
  ArenaPlan plan = PlanOf({Storage(0, 64, 0, 1), Storage(64, 512, 0, 1)});
  const Status refused = LimitArenas(256, plan);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().kind == ErrorKind::kDoesNotFit);
  CHECK(refused.error().message.find("512 bytes in one piece, the device gives 256") !=
        std::string::npos);
  ArenaPlan ring = PlanOf({Storage(0, 128, 0, 1)});
  ring.arenas = {{"", 128, 128, true, 3}};
  CHECK_FALSE(LimitArenas(256, ring).ok());
}

TEST_CASE("LimitArenas: pieces that are smaller than storages are aligned to hold none") {
  ArenaPlan plan = PlanOf({Storage(0, 64, 0, 1), Storage(64, 128, 0, 1)});
  const Status refused = LimitArenas(63, plan);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("64 bytes in one piece, the device gives 63") !=
        std::string::npos);
}

TEST_CASE("LimitArenas: random plans stay sound whatever the limit") {
  std::mt19937 random(1);
  const auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  size_t divided = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<PlannedStorage> storages;
    for (int i = 0; i < 30; ++i) {
      const int64_t first = draw(0, 20);
      PlannedStorage storage = Storage(0, draw(1, 8) * 64 - draw(0, 63), first, first + draw(0, 6));
      for (bool moved = true; moved;) {  // the lowest place
        moved = false;
        for (const PlannedStorage& other : storages) {
          if (storage.last_step < other.first_step || other.last_step < storage.first_step)
            continue;
          if (!Overlap(storage.offset, storage.offset + storage.bytes, other.offset,
                       other.offset + other.bytes)) {
            continue;
          }
          storage.offset = PaddedBytes(other.offset + other.bytes);
          moved = true;
        }
      }
      storages.push_back(storage);
    }
    ArenaPlan plan = PlanOf(storages);
    const int64_t limit = draw(8, 24) * 64;
    const Status status = LimitArenas(limit, plan);
    CAPTURE(round);
    if (!status.ok()) {
      CHECK(status.error().kind == ErrorKind::kDoesNotFit);
      continue;
    }
    if (plan.arenas.empty()) continue;
    ++divided;
    CHECK(IsSound(plan));
    int64_t sum = 0;
    for (const PlannedArena& arena : plan.arenas) {
      CHECK(arena.bytes <= limit);
      sum += arena.bytes;
    }
    CHECK(plan.bytes == sum);
  }
  CHECK(divided > 250);
}

}  // namespace
}  // namespace tenon::converter
