#include "ui/theme.h"

#include <algorithm>

namespace novascope::ui {

namespace {

struct OwnerRow {
  const char* label;
  Color color;
};
constexpr OwnerRow kOwnerRows[] = {
    {"compute", kCompute}, {"HBM", kMemory}, {"network", kNetwork}, {"wait", kWaiting}, {"idle", kIdle}};

struct CategoryRow {
  const char* name;
  Color color;
};
constexpr CategoryRow kCategoryRows[] = {
    {"weights", kCompute}, {"kv", kMemory},          {"scratch", kScratch},
    {"io", kGood},         {"collectives", kNetwork}, {"code", kIdle}};

ImVec4 Vec(Color color) { return ImGui::ColorConvertU32ToFloat4(color); }

}  // namespace

Color Mix(Color a, Color b, float t) {
  t = std::clamp(t, 0.0f, 1.0f);
  Color result = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    const float from = static_cast<float>((a >> shift) & 255u), to = static_cast<float>((b >> shift) & 255u);
    result |= static_cast<Color>(from + (to - from) * t + 0.5f) << shift;
  }
  return result;
}

glm::vec3 ToVec3(Color color) {
  const ImVec4 v = Vec(color);
  return {v.x, v.y, v.z};
}

Color OwnerColor(int owner) { return kOwnerRows[std::clamp(owner, 0, 4)].color; }
const char* OwnerLabel(int owner) { return kOwnerRows[std::clamp(owner, 0, 4)].label; }

Color CategoryColor(const std::string& category) {
  for (const CategoryRow& row : kCategoryRows) {
    if (category == row.name) return row.color;
  }
  return kIdle;
}

Fonts LoadFonts(FontFile sans, FontFile sans_bold, FontFile mono) {
  ImFontAtlas* atlas = ImGui::GetIO().Fonts;
  const auto add = [&](FontFile file) {
    ImFontConfig config;
    config.FontDataOwnedByAtlas = false;
    config.PixelSnapH = false;
    return atlas->AddFontFromMemoryTTF(const_cast<void*>(file.data), file.size, 16.0f, &config);
  };
  return {add(sans), add(sans_bold), add(mono)};
}

void ApplyStyle() {
  ImGuiStyle& style = ImGui::GetStyle();
  style.WindowPadding = {12, 10};
  style.WindowRounding = style.PopupRounding = kPanelRadius;
  style.ChildRounding = kPanelRadius;
  style.FrameRounding = kFieldRadius;
  style.WindowBorderSize = style.PopupBorderSize = 1;
  style.ScrollbarSize = 8;
  style.ScrollbarRounding = 4;
  style.ItemSpacing = {8, 4};
  style.HoverDelayShort = 0.1f;
  style.AntiAliasedLinesUseTex = true;
  ImVec4* colors = style.Colors;
  colors[ImGuiCol_Text] = Vec(kText);
  colors[ImGuiCol_WindowBg] = Vec(kBackground);
  colors[ImGuiCol_ChildBg] = {0, 0, 0, 0};
  colors[ImGuiCol_PopupBg] = Vec(Hex(0x1a2029));
  colors[ImGuiCol_Border] = Vec(Hex(0x343d4a));
  colors[ImGuiCol_ScrollbarBg] = {0, 0, 0, 0};
  colors[ImGuiCol_ScrollbarGrab] = Vec(Hex(0x343d4a));
  colors[ImGuiCol_ScrollbarGrabHovered] = Vec(kIdle);
  colors[ImGuiCol_ScrollbarGrabActive] = Vec(kSecondary);
}

}  // namespace novascope::ui
