// The page's front end in the browser: GLFW makes the window and its WebGL2 context, Dear ImGui draws the
// panels, and the page's shell calls the functions below. One AppState per module instance; two instances
// in one page share nothing.
#include <GLFW/glfw3.h>
#include <emscripten.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "gfx/gl.h"
#include "imgui.h"
#include "imgui_impl_opengl3.h"
#include "platform/web/web.h"
#include "ui/activity.h"
#include "ui/commands.h"
#include "ui/feed.h"
#include "ui/font_files.h"
#include "ui/page.h"
#include "ui/playback.h"

namespace novascope::app {
namespace {

constexpr double kAnimationMs = 1000.0 / 30;  // the 3D view is drawn at most so often
constexpr float kTouchSlopPx = 8;             // a finger that moves less is a tap

struct Touch {
  bool down = false, scrolling = false;
  float x = 0, y = 0;
};

struct App {
  ui::AppState state;
  GLFWwindow* window = nullptr;
  bool renderer = false;
  double advanced_ms = 0;
  Touch touch;
  std::string answer;  // of app_snapshot, until the next one
};

// The one object of a module instance.
std::unique_ptr<App> g_app;

void Wake(int frames = 3) {
  g_app->state.view.frames_wanted = std::max(g_app->state.view.frames_wanted, frames);
  platform::RequestFrame();
}

void SendOutbox() {
  auto& outbox = g_app->state.outbox;
  while (!outbox.empty()) {
    const std::vector<uint8_t> message = std::move(outbox.front());
    outbox.pop_front();
    platform::SendCommand(message);
  }
}

void InitRenderer() {
  ImGui_ImplOpenGL3_Init("#version 300 es");
  g_app->renderer = true;
  ui::MapState& map = g_app->state.map;
  map.renderer_failed = !map.renderer.Init(&map.renderer_error);
}

void Draw() {
  ui::AppState& state = g_app->state;
  ui::View& view = state.view;
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = {view.width, view.height};
  io.DisplayFramebufferScale = {view.dpr, view.dpr};
  io.DeltaTime = static_cast<float>(std::clamp((view.now_ms - view.drawn_ms) / 1000, 0.001, 0.1));
  ImGui_ImplOpenGL3_NewFrame();
  ImGui::NewFrame();
  ui::DrawPage(state);
  ImGui::Render();
  const int width = static_cast<int>(std::lround(view.width * view.dpr));
  const int height = static_cast<int>(std::lround(view.height * view.dpr));
  glViewport(0, 0, width, height);
  glDisable(GL_SCISSOR_TEST);
  const ImVec4 background = ImGui::ColorConvertU32ToFloat4(ui::kBackground);
  glClearColor(background.x, background.y, background.z, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  glfwSwapBuffers(g_app->window);
  platform::ShowTextFields(state.text_fields);
  switch (ImGui::GetMouseCursor()) {
    case ImGuiMouseCursor_Hand: platform::SetCursor(platform::Cursor::kHand); break;
    case ImGuiMouseCursor_TextInput: platform::SetCursor(platform::Cursor::kText); break;
    case ImGuiMouseCursor_ResizeAll: platform::SetCursor(platform::Cursor::kGrab); break;
    case ImGuiMouseCursor_ResizeEW: platform::SetCursor(platform::Cursor::kResize); break;
    default: platform::SetCursor(platform::Cursor::kArrow); break;
  }
  view.drawn_ms = view.now_ms;
  ++view.frames_drawn;
}

// A finger that moves over anything but a slider scrolls the page; the press it began with is forgotten.
bool ScrollByTouch(float x, float y) {
  Touch& touch = g_app->touch;
  ui::View& view = g_app->state.view;
  if (!touch.down || view.scroll_grabbed || view.content_height <= 0) return false;
  if (!touch.scrolling && std::fabs(y - touch.y) < kTouchSlopPx) return false;
  if (!touch.scrolling) ImGui::GetIO().AddMousePosEvent(-1e6f, -1e6f);
  touch.scrolling = true;
  view.scroll_y += touch.y - y;
  touch.x = x;
  touch.y = y;
  return true;
}

}  // namespace
}  // namespace novascope::app

using novascope::app::g_app;
using novascope::app::Wake;

extern "C" {

// Makes the window, the context and the fonts. Returns 0 where WebGL2 cannot be had.
EMSCRIPTEN_KEEPALIVE int app_init(double dpr) {
  using namespace novascope;
  g_app = std::make_unique<app::App>();
  ui::View& view = g_app->state.view;
  view.dpr = static_cast<float>(dpr);
  if (!glfwInit()) return 0;
  glfwWindowHint(GLFW_SAMPLES, 0);
  glfwWindowHint(GLFW_DEPTH_BITS, 0);
  glfwWindowHint(GLFW_STENCIL_BITS, 0);
  glfwWindowHint(GLFW_ALPHA_BITS, 0);
  g_app->window = glfwCreateWindow(static_cast<int>(view.width), static_cast<int>(view.height), "Novascope",
                                   nullptr, nullptr);
  if (!g_app->window) return 0;
  glfwMakeContextCurrent(g_app->window);
  ImGui::CreateContext();
  ImGui::GetIO().IniFilename = nullptr;
  ImGui::GetIO().ConfigFlags |= ImGuiConfigFlags_NoKeyboard;
  ui::ApplyStyle();
  view.fonts = ui::LoadFonts(ui::SansFont(), ui::SansBoldFont(), ui::MonoFont());
  app::InitRenderer();
  platform::AttachInput();
  platform::ShareMonospaceFont(ui::MonoFont().data, ui::MonoFont().size);
  g_app->state.form.prompt = "Why is decode memory-bound?";
  g_app->state.form.chat = true;
  return 1;
}

EMSCRIPTEN_KEEPALIVE void app_resize(double css_width, double css_height, double dpr) {
  novascope::ui::View& view = g_app->state.view;
  view.width = static_cast<float>(css_width);
  view.height = static_cast<float>(css_height);
  view.dpr = static_cast<float>(dpr);
  Wake();
}

// One event of the core, packed; also the shell's own "wall" and "progress".
EMSCRIPTEN_KEEPALIVE void app_message(const uint8_t* data, int size) {
  novascope::ui::TakeEvent(g_app->state, {data, static_cast<size_t>(size)});
  novascope::platform::RequestFrame();
}

// Draws if something changed. Returns 1 where another frame is wanted.
EMSCRIPTEN_KEEPALIVE int app_frame(double time_ms) {
  using namespace novascope;
  ui::AppState& state = g_app->state;
  ui::View& view = state.view;
  view.now_ms = time_ms;
  // The playhead moves in steps of a 30 Hz frame; input is drawn at once.
  bool moving = state.playback.playing || state.playback.live;
  if (moving && (view.frames_wanted > 0 || time_ms - view.drawn_ms >= app::kAnimationMs - 2)) {
    moving = ui::AdvancePlayback(state, time_ms - g_app->advanced_ms);
    g_app->advanced_ms = time_ms;
    if (moving) view.frames_wanted = std::max(view.frames_wanted, 1);
  }
  if (!moving) g_app->advanced_ms = time_ms;
  view.moving = moving;
  app::SendOutbox();
  if (view.frames_wanted > 0 && view.width > 0 && view.height > 0) {
    --view.frames_wanted;
    app::Draw();
    app::SendOutbox();
  }
  return view.frames_wanted > 0 || moving;
}

EMSCRIPTEN_KEEPALIVE const char* app_snapshot() {
  using novascope::Json;
  g_app->answer = novascope::ui::PageSnapshot(g_app->state).dump(-1, ' ', false, Json::error_handler_t::replace);
  return g_app->answer.c_str();
}

// Returns 0 where the text is not JSON or names no command.
EMSCRIPTEN_KEEPALIVE int app_command(const char* json) {
  const auto parsed = novascope::ParseJson(json, "command");
  const bool good = parsed.ok() && novascope::ui::ShellCommand(g_app->state, parsed.value());
  novascope::app::SendOutbox();
  Wake();
  return good;
}

// kind: 0 moved, 1 pressed, 2 released, 3 left, 4 taken away.
EMSCRIPTEN_KEEPALIVE void app_pointer(int kind, double x, double y, int button, int touch) {
  ImGuiIO& io = ImGui::GetIO();
  const float px = static_cast<float>(x), py = static_cast<float>(y);
  novascope::app::Touch& finger = g_app->touch;
  Wake();
  if (kind == 0 && touch && novascope::app::ScrollByTouch(px, py)) return;
  if (kind == 3 || kind == 4) {
    if (kind == 4) io.AddMouseButtonEvent(0, false);
    io.AddMousePosEvent(-1e6f, -1e6f);
    finger = {};
    return;
  }
  if (!finger.scrolling) io.AddMousePosEvent(px, py);
  if (kind == 1) {
    finger = {touch != 0, false, px, py};
    io.AddMouseButtonEvent(std::clamp(button, 0, 2), true);
  } else if (kind == 2) {
    io.AddMouseButtonEvent(std::clamp(button, 0, 2), false);
    // A finger hovers over nothing once it is lifted.
    if (touch && finger.scrolling) io.AddMousePosEvent(-1e6f, -1e6f);
    finger = {};
  }
}

EMSCRIPTEN_KEEPALIVE void app_wheel(double x, double y, double dx, double dy, int ctrl) {
  ImGuiIO& io = ImGui::GetIO();
  io.AddMousePosEvent(static_cast<float>(x), static_cast<float>(y));
  io.AddKeyEvent(ImGuiMod_Ctrl, ctrl != 0);
  io.AddMouseWheelEvent(static_cast<float>(-dx / 100), static_cast<float>(-dy / 100));
  Wake();
}

// A key while the canvas has the focus. Returns 1 where it was used.
EMSCRIPTEN_KEEPALIVE int app_key(const char* key, int down, int ctrl) {
  ImGui::GetIO().AddKeyEvent(ImGuiMod_Ctrl, ctrl != 0);
  if (!down) return 0;
  const std::string name = key;
  if (name == "Escape" && ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup)) {
    g_app->state.popup.close = true;
    Wake();
    return 1;
  }
  if (ctrl && name != "Enter") return 0;
  const bool used = novascope::ui::PageKey(g_app->state, name, ctrl != 0);
  if (used) Wake();
  return used;
}

// Text typed into a DOM field.
EMSCRIPTEN_KEEPALIVE void app_text(const char* id, const char* value) {
  g_app->state.edits.push_back({id, value});
  Wake();
}

EMSCRIPTEN_KEEPALIVE void app_focus(int focused) {
  if (!focused) ImGui::GetIO().AddFocusEvent(false);
  if (focused) ImGui::GetIO().AddFocusEvent(true);
  Wake();
}

EMSCRIPTEN_KEEPALIVE void app_reduced_motion(int reduced) {
  g_app->state.view.reduced_motion = reduced != 0;
  Wake();
}

// Something outside changed; draw again.
EMSCRIPTEN_KEEPALIVE void app_wake() { Wake(); }

}  // extern "C"
