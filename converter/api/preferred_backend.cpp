#include "converter/api/preferred_backend.hpp"

#include <algorithm>

#include "converter/map/backends.hpp"

namespace tenon::converter {

Board Preferring(Board board, const std::string& backend) {
  board.priorities.clear();
  for (const std::string& other : BackendsOfUnits(board)) {
    board.priorities.push_back({other, "*", other == backend ? 1 : 2});
  }
  return board;
}

std::vector<std::string> BackendsToMeasure(const Board& board) {
  const std::vector<BackendCaps> known = BuiltInBackends();
  std::vector<std::string> backends = BackendsOfUnits(board);
  const auto is_unknown = [&](const std::string& backend) {
    return FindBackend(known, backend) == nullptr;
  };
  backends.erase(std::remove_if(backends.begin(), backends.end(), is_unknown), backends.end());
  return backends;
}

}  // namespace tenon::converter
