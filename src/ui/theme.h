// Colours, type and spacing. A colour means a kind of thing and nothing else: compute and weights blue,
// memory and KV violet, scratch amber, network yellow, waiting and limits coral, good green, code and idle
// grey. A 4-pixel grid: 12 between panels, 16 inside.
#pragma once

#include <cstdint>
#include <glm/glm.hpp>
#include <string>

#include "imgui.h"

namespace novascope::ui {

using Color = ImU32;

constexpr Color Hex(uint32_t rgb, uint32_t alpha = 255) {
  return ((rgb >> 16) & 255u) | (((rgb >> 8) & 255u) << 8) | ((rgb & 255u) << 16) | (alpha << 24);
}
constexpr Color WithAlpha(Color color, float alpha) {
  return (color & 0x00ffffffu) | (static_cast<uint32_t>(alpha * 255.0f + 0.5f) << 24);
}
// a where t is 0, b where it is 1.
Color Mix(Color a, Color b, float t);
glm::vec3 ToVec3(Color color);

inline constexpr Color kBackground = Hex(0x0e1116);
inline constexpr Color kPanel = Hex(0x151a21);
inline constexpr Color kWell = Hex(0x0e1116);     // fields, bars' backgrounds
inline constexpr Color kLine = Hex(0x252c36);
inline constexpr Color kHover = Hex(0x1d242d);
inline constexpr Color kText = Hex(0xe6e9ee);
inline constexpr Color kSecondary = Hex(0x8b95a3);
inline constexpr Color kCompute = Hex(0x5cc8ff);
inline constexpr Color kMemory = Hex(0xb48cff);
inline constexpr Color kScratch = Hex(0xf2b15c);
inline constexpr Color kNetwork = Hex(0xffd166);
inline constexpr Color kWaiting = Hex(0xff7a59);
inline constexpr Color kGood = Hex(0x6fd08c);
inline constexpr Color kIdle = Hex(0x6b7787);
inline constexpr Color kAction = kCompute;         // what can be pressed

inline constexpr float kGap = 12, kPad = 16;
inline constexpr float kPanelRadius = 6, kFieldRadius = 4;

// Colour of a picosecond's owner, by trace::Owner.
Color OwnerColor(int owner);
const char* OwnerLabel(int owner);
// Colour of an HBM category, by its name in the protocol.
Color CategoryColor(const std::string& category);

enum class Face { kSans, kSansBold, kMono };
// Text sizes as a reader of CSS would name them.
inline constexpr float kNote = 11.5f, kBody = 13, kTitle = 14, kHead = 16, kFigure = 22, kBigFigure = 30;

struct Fonts {
  ImFont* sans = nullptr;
  ImFont* sans_bold = nullptr;
  ImFont* mono = nullptr;
};

struct FontFile {
  const void* data = nullptr;
  int size = 0;
};
// Adds the faces to the current context's atlas. The bytes must outlive the context.
Fonts LoadFonts(FontFile sans, FontFile sans_bold, FontFile mono);

// Dear ImGui's own style, for the few widgets of its that show (tooltips, popups, scrollbars).
void ApplyStyle();

}  // namespace novascope::ui
