#include "platform/web/web.h"

#include <emscripten.h>

#include "base/json.h"
#include "platform/platform.h"

extern "C" {
void platform_attach();
void platform_request_frame();
void platform_send(const uint8_t* data, int size);
void platform_cursor(const char* css);
void platform_font(const void* data, int size);
void platform_fields(const char* json);
}

namespace novascope::platform {

void AttachInput() { platform_attach(); }

void ShareMonospaceFont(const void* data, int size) { platform_font(data, size); }

void ShowTextFields(std::span<const TextField> fields) {
  Json rows = Json::array();
  for (const TextField& field : fields) {
    rows.push_back({{"id", field.id},
                    {"label", field.label},
                    {"value", field.value},
                    {"box", {field.box.x, field.box.y, field.box.w, field.box.h}},
                    {"clip", {field.clip.x, field.clip.y, field.clip.w, field.clip.h}},
                    {"multiline", field.multiline},
                    {"numeric", field.numeric},
                    {"covered", field.covered},
                    {"bad", field.bad}});
  }
  platform_fields(rows.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
}

void SetCursor(Cursor cursor) {
  constexpr const char* kCss[] = {"default", "pointer", "text", "grab", "ew-resize"};
  platform_cursor(kCss[static_cast<int>(cursor)]);
}

void RequestFrame() { platform_request_frame(); }

void SendCommand(std::span<const uint8_t> message) {
  platform_send(message.data(), static_cast<int>(message.size()));
}

double NowMs() { return emscripten_get_now(); }

}  // namespace novascope::platform
