#include "ui/panels.h"

namespace novascope::ui {

namespace {

constexpr Panel kRows[kPanels] = {
    {PanelId::kTop, "top", "Novascope", DrawTop},
    {PanelId::kProvenance, "provenance", "What is computed, modelled and published", DrawProvenance},
    {PanelId::kPrompt, "prompt", "Prompt", DrawPrompt},
    {PanelId::kAnswer, "answer", "Answer", DrawAnswer},
    {PanelId::kScenario, "scenario", "Scenario", DrawScenario},
    {PanelId::kWhy, "why", "Why this step takes what it takes", DrawWhy},
    {PanelId::kMap, "map", "The machine", DrawMap},
    {PanelId::kTimeline, "timeline", "Timeline", DrawTimeline},
    {PanelId::kHbm, "hbm", "HBM of a chip", DrawHbm},
    {PanelId::kCost, "cost", "Cost per million tokens", DrawCost},
    {PanelId::kFigures, "figures", "Headline figures", DrawFigures},
    {PanelId::kTransport, "transport", "Playhead", DrawTransport},
};

}  // namespace

std::span<const Panel> Panels() { return kRows; }

}  // namespace novascope::ui
