#include "ui/timeline_view.h"

#include <algorithm>

namespace novascope::ui {

namespace {

// Joins spans that touch or overlap. Input sorted by start.
void Merge(std::vector<Span>* spans) {
  size_t kept = 0;
  for (const Span& span : *spans) {
    if (kept > 0 && span.start_ps <= (*spans)[kept - 1].end_ps) {
      (*spans)[kept - 1].end_ps = std::max((*spans)[kept - 1].end_ps, span.end_ps);
    } else {
      (*spans)[kept++] = span;
    }
  }
  spans->resize(kept);
}

bool Before(const Span& a, const Span& b) {
  return a.start_ps != b.start_ps ? a.start_ps < b.start_ps : a.slice < b.slice;
}

// Cuts the step into spans by who owns the class' time: compute, else HBM, else network, else wait.
void SweepOwners(const std::array<std::vector<Span>, 6>& tracks, int64_t duration_ps,
                 std::array<std::vector<Span>, trace::kOwners>* owners) {
  struct Edge {
    int64_t at_ps;
    int owner, change;
  };
  std::vector<Edge> edges;
  constexpr int kOwnerOf[6] = {0, 0, 0, 1, 2, -1};  // by TrackKind
  for (size_t kind = 0; kind < tracks.size(); ++kind) {
    if (kOwnerOf[kind] < 0) continue;
    for (const Span& span : tracks[kind]) {
      edges.push_back({span.start_ps, kOwnerOf[kind], 1});
      edges.push_back({span.end_ps, kOwnerOf[kind], -1});
    }
  }
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at_ps < b.at_ps; });
  int running[3] = {0, 0, 0};
  int64_t from_ps = 0;
  const auto close = [&](int64_t to_ps) {
    if (to_ps <= from_ps) return;
    const int owner = running[0] > 0 ? 0 : running[1] > 0 ? 1 : running[2] > 0 ? 2 : 3;
    (*owners)[static_cast<size_t>(owner)].push_back({from_ps, to_ps, -1});
    from_ps = to_ps;
  };
  for (const Edge& edge : edges) {
    close(std::min(edge.at_ps, duration_ps));
    running[edge.owner] += edge.change;
  }
  close(duration_ps);
  for (std::vector<Span>& spans : *owners) Merge(&spans);
}

// Busy times by link kind. Patterns are merged once and then placed run by run, because a step repeats
// the same few exchanges in every layer.
void AddLinks(const trace::StepTemplate& step_template, const std::vector<Machine::Link>& links,
              TemplateView* view) {
  struct Merged {
    std::array<std::vector<Span>, 4> spans;
    Span longest;  // of those that the map draws
  };
  std::vector<Merged> merged(step_template.link_slices.patterns.size());
  for (size_t i = 0; i < merged.size(); ++i) {
    for (const trace::LinkSlice& slice : step_template.link_slices.patterns[i].slices) {
      if (slice.link >= links.size()) continue;
      const Span span{slice.start_ps, slice.start_ps + slice.duration_ps, -1};
      merged[i].spans[links[slice.link].kind].push_back(span);
      const bool drawn = links[slice.link].kind != 0;
      if (drawn && span.end_ps - span.start_ps > merged[i].longest.end_ps - merged[i].longest.start_ps) {
        merged[i].longest = span;
      }
    }
    for (std::vector<Span>& spans : merged[i].spans) {
      std::sort(spans.begin(), spans.end(), Before);
      Merge(&spans);
    }
  }
  int64_t nearest_ps = step_template.duration_ps;
  const int64_t middle_ps = step_template.duration_ps / 2;
  view->telling_ps = step_template.duration_ps / 2;
  for (const trace::LinkRun& run : step_template.link_slices.runs) {
    const Merged& pattern = merged[static_cast<size_t>(run.pattern)];
    for (size_t kind = 0; kind < pattern.spans.size(); ++kind) {
      for (const Span& span : pattern.spans[kind]) {
        view->links[kind].push_back({run.start_ps + span.start_ps, run.start_ps + span.end_ps, -1});
      }
    }
    const Span& longest = pattern.longest;
    const int64_t moment_ps = run.start_ps + (longest.start_ps + longest.end_ps) / 2;
    const int64_t away_ps = moment_ps > middle_ps ? moment_ps - middle_ps : middle_ps - moment_ps;
    if (longest.end_ps > longest.start_ps && away_ps < nearest_ps) {
      nearest_ps = away_ps;
      view->telling_ps = moment_ps;
    }
  }
  for (std::vector<Span>& spans : view->links) {
    std::sort(spans.begin(), spans.end(), Before);
    Merge(&spans);
  }
}

}  // namespace

TemplateView MakeTemplateView(const trace::StepTemplate& step_template,
                              const std::vector<Machine::Link>& links) {
  TemplateView view;
  view.tracks.resize(step_template.classes.size());
  view.owners.resize(step_template.classes.size());
  for (size_t i = 0; i < step_template.slices.size(); ++i) {
    const trace::Slice& slice = step_template.slices[i];
    view.layers = std::max(view.layers, slice.layer + 1);
    if (slice.track < 0 || static_cast<size_t>(slice.track) >= step_template.tracks.size()) continue;
    const trace::Track& track = step_template.tracks[static_cast<size_t>(slice.track)];
    if (track.rank_class < 0 || static_cast<size_t>(track.rank_class) >= view.tracks.size()) continue;
    view.tracks[static_cast<size_t>(track.rank_class)][static_cast<size_t>(track.kind)].push_back(
        {slice.start_ps, slice.start_ps + slice.duration_ps, static_cast<int32_t>(i)});
  }
  AddLinks(step_template, links, &view);
  for (size_t i = 0; i < view.tracks.size(); ++i) {
    for (std::vector<Span>& spans : view.tracks[i]) std::sort(spans.begin(), spans.end(), Before);
    SweepOwners(view.tracks[i], step_template.duration_ps, &view.owners[i]);
  }
  return view;
}

void UpdateTemplateViews(AppState& app) {
  TimelineState& timeline = app.timeline;
  if (timeline.views_serial != app.run.serial) {
    timeline.views.clear();
    timeline.views_serial = app.run.serial;
  }
  while (timeline.views.size() < app.trace.templates().size()) {
    timeline.views.push_back(MakeTemplateView(app.trace.templates()[timeline.views.size()], app.run.machine.links));
  }
}

}  // namespace novascope::ui
