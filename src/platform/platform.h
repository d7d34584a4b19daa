// What the user interface asks of the place it runs in. One implementation per place: web.cc in the
// browser; tests bring their own. Input is not here: the place calls the application (app/), which
// feeds Dear ImGui. Positions are CSS pixels from the top left of the canvas.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace novascope::platform {

struct Box {
  float x = 0, y = 0, w = 0, h = 0;
};

// A text field on the screen. The browser lays a DOM input over `box`, which brings input methods, the
// clipboard, a phone's keyboard and screen readers; what is typed comes back through the application.
struct TextField {
  std::string id;       // stable
  std::string label;    // for screen readers
  std::string value;
  Box box, clip;        // the part outside `clip` is hidden
  bool multiline = false;
  bool numeric = false;
  bool covered = false;  // something is drawn over it: the field must not show
  bool bad = false;      // its value was refused
};

enum class Cursor : uint8_t { kArrow, kHand, kText, kGrab, kResize };

// Shows exactly these fields, in this order.
void ShowTextFields(std::span<const TextField> fields);
void SetCursor(Cursor cursor);
// Asks for one call of the application's frame function.
void RequestFrame();
// Hands a packed command to the core.
void SendCommand(std::span<const uint8_t> message);
// Milliseconds of the wall clock; only for frame pacing and measured rates.
double NowMs();

}  // namespace novascope::platform
