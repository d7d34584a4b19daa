#include "trace/export.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/json.h"

namespace novascope::trace {
namespace {

constexpr const char* kTrackNames[] = {"tensor", "vector", "scalar", "dma", "collective", "wait"};
constexpr int kCounterProcess = 0;
constexpr int kLinkProcess = 1;
constexpr int kFirstClassProcess = 2;

std::string Quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Picoseconds as microseconds, exact.
std::string Micros(int64_t ps) {
  std::string fraction = std::to_string(ps % 1'000'000);
  fraction.insert(0, 6 - fraction.size(), '0');
  return std::to_string(ps / 1'000'000) + "." + fraction;
}

class ChromeWriter {
 public:
  void Name(const char* what, int process, int thread, const std::string& name) {
    Begin();
    out_ += "{\"ph\":\"M\",\"name\":\"" + std::string(what) +
            "\",\"pid\":" + std::to_string(process) + ",\"tid\":" + std::to_string(thread) +
            ",\"args\":{\"name\":" + Quoted(name) + "}}";
  }
  void Complete(int process, int thread, const std::string& quoted_name, int64_t start_ps,
                int64_t duration_ps, uint64_t bytes, int layer) {
    Begin();
    out_ += "{\"ph\":\"X\",\"name\":" + quoted_name + ",\"pid\":" + std::to_string(process) +
            ",\"tid\":" + std::to_string(thread) + ",\"ts\":" + Micros(start_ps) +
            ",\"dur\":" + Micros(duration_ps) + ",\"args\":{";
    if (layer >= 0) out_ += "\"layer\":" + std::to_string(layer) + (bytes > 0 ? "," : "");
    if (bytes > 0) out_ += "\"bytes\":" + std::to_string(bytes);
    out_ += "}}";
  }
  void Counter(const char* name, int64_t at_ps, uint64_t value) {
    Begin();
    out_ += "{\"ph\":\"C\",\"name\":\"" + std::string(name) +
            "\",\"pid\":" + std::to_string(kCounterProcess) + ",\"tid\":0,\"ts\":" + Micros(at_ps) +
            ",\"args\":{\"bytes\":" + std::to_string(value) + "}}";
  }
  std::string Finish(uint64_t left_out) {
    return "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"steps_left_out\":" +
           std::to_string(left_out) + "},\"traceEvents\":[" + out_ + "\n]}\n";
  }

 private:
  void Begin() { out_ += out_.empty() ? "\n" : ",\n"; }
  std::string out_;
};

std::vector<std::string> QuotedNames(const StepTemplate& t) {
  std::vector<std::string> names;
  for (const std::string& name : t.names) names.push_back(Quoted(name));
  return names;
}

// Cumulative HBM bytes after each DMA slice of a step, as counter points.
void HbmCounter(const StepTemplate& t, int64_t start_ps, uint64_t before, ChromeWriter* out) {
  std::vector<std::pair<int64_t, uint64_t>> ends;
  for (const Slice& slice : t.slices) {
    const Track& track = t.tracks[static_cast<size_t>(slice.track)];
    if (track.kind != TrackKind::kDma) continue;
    const size_t cores = t.classes[static_cast<size_t>(track.rank_class)].cores.size();
    ends.push_back({slice.start_ps + slice.duration_ps, slice.bytes * cores});
  }
  std::sort(ends.begin(), ends.end());
  out->Counter("hbm bytes", start_ps, before);
  for (size_t i = 0; i < ends.size(); ++i) {
    before += ends[i].second;
    if (i + 1 < ends.size() && ends[i + 1].first == ends[i].first) continue;
    out->Counter("hbm bytes", start_ps + ends[i].first, before);
  }
}

void NameProcesses(const Trace& trace, ChromeWriter* out) {
  out->Name("process_name", kCounterProcess, 0, "machine");
  out->Name("process_name", kLinkProcess, 0, "links");
  std::set<std::pair<int, int>> named;
  for (const StepTemplate& t : trace.templates()) {
    for (const Track& track : t.tracks) {
      const RankClass& c = t.classes[static_cast<size_t>(track.rank_class)];
      const int process = kFirstClassProcess + track.rank_class;
      const int thread = static_cast<int>(track.kind);
      if (!named.insert({process, thread}).second) continue;
      if (named.insert({process, -1}).second) {
        out->Name(
            "process_name", process, 0,
            "stage " + std::to_string(c.stage) + ", " + std::to_string(c.cores.size()) + " cores");
      }
      out->Name("thread_name", process, thread, kTrackNames[thread]);
    }
    for (const LinkSlice& slice : t.link_slices) {
      if (!named.insert({kLinkProcess, slice.link}).second) continue;
      out->Name("thread_name", kLinkProcess, slice.link, "link " + std::to_string(slice.link));
    }
  }
}

}  // namespace

std::string ToChromeTrace(const Trace& trace, const ExportOptions& options) {
  ChromeWriter out;
  NameProcesses(trace, &out);
  const auto total = static_cast<int64_t>(trace.steps().size());
  const int64_t first = std::clamp<int64_t>(options.first_step, 0, total);
  const int64_t end = std::min(total, first + std::max(0, options.step_count));
  std::vector<std::vector<std::string>> names;
  for (const StepTemplate& t : trace.templates()) names.push_back(QuotedNames(t));
  for (int64_t i = first; i < end; ++i) {
    const Step& step = trace.steps()[static_cast<size_t>(i)];
    const auto id = static_cast<size_t>(step.step_template);
    const StepTemplate& t = trace.templates()[id];
    for (const Slice& slice : t.slices) {
      const Track& track = t.tracks[static_cast<size_t>(slice.track)];
      out.Complete(kFirstClassProcess + track.rank_class, static_cast<int>(track.kind),
                   names[id][static_cast<size_t>(slice.name)], step.start_ps + slice.start_ps,
                   slice.duration_ps, slice.bytes, slice.layer);
    }
    for (const LinkSlice& slice : t.link_slices) {
      if (!options.links) break;
      out.Complete(kLinkProcess, slice.link, names[id][static_cast<size_t>(slice.name)],
                   step.start_ps + slice.start_ps, slice.duration_ps, slice.bytes, slice.layer);
    }
    HbmCounter(t, step.start_ps, trace.At(step.start_ps, 1).hbm_bytes, &out);
  }
  return out.Finish(static_cast<uint64_t>(total - (end - first)) + trace.dropped_steps());
}

}  // namespace novascope::trace
