// Traces in the format of Chrome's and Perfetto's viewers.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tenon::tool {

struct TraceEvent {
  std::string track;     ///< a unit, worker or stage: one row of the viewer
  std::string name;      ///< of the op
  std::string category;  ///< its backend
  double start_us = 0;   ///< from the trace's beginning
  double us = 0;
  std::vector<std::pair<std::string, std::string>> details = {};
};

/// The track of an op: the worker that it is planned for, or its backend where the plan has one
/// worker without a name. Predicted and measured traces both name their tracks by it.
[[nodiscard]] std::string TrackName(const std::string& worker, const std::string& backend);

/// Formats complete events ("ph": "X") with one thread per track, in order of first appearance.
/// `process`: what the viewer shows above the tracks.
[[nodiscard]] std::string TraceJson(const std::vector<TraceEvent>& events,
                                    const std::string& process);

}  // namespace tenon::tool
