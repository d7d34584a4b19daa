// The core module's exports: the session protocol over plain addresses, for JavaScript. A handle is
// the number of a session in the registry below; an unknown handle does nothing.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "session/session.h"

#ifdef __EMSCRIPTEN__
#include <emscripten/emscripten.h>
#define NS_EXPORT extern "C" EMSCRIPTEN_KEEPALIVE
#else
#define NS_EXPORT extern "C"
#endif

namespace {

using novascope::session::Session;

struct Entry {
  std::unique_ptr<Session> session;
  std::vector<uint8_t> message;  // the last one taken
};

// JavaScript cannot hold an object, so the module holds them: the one table of this kind.
std::vector<Entry>& Registry() {
  static std::vector<Entry> registry;
  return registry;
}

// Null where the handle is not one of ours.
Entry* Find(int handle) {
  std::vector<Entry>& registry = Registry();
  if (handle < 1 || static_cast<size_t>(handle) > registry.size()) return nullptr;
  Entry* entry = &registry[static_cast<size_t>(handle) - 1];
  return entry->session == nullptr ? nullptr : entry;
}

}  // namespace

// A new session's handle, 1 or above, never given out twice.
NS_EXPORT int ns_session_create() {
  Registry().emplace_back().session = std::make_unique<Session>();
  return static_cast<int>(Registry().size());
}

NS_EXPORT void ns_session_destroy(int handle) {
  if (Entry* entry = Find(handle)) *entry = {};
}

// Memory for a command's bytes; 0 where there is none.
NS_EXPORT uint8_t* ns_alloc(uint32_t size) {
  return static_cast<uint8_t*>(std::malloc(size > 0 ? size : 1));
}

NS_EXPORT void ns_free(uint8_t* address) { std::free(address); }

NS_EXPORT void ns_session_command(int handle, const uint8_t* bytes, uint32_t size) {
  Entry* entry = Find(handle);
  if (entry != nullptr && bytes != nullptr) entry->session->Command(std::span(bytes, size));
}

// Does up to `units` units of work; 1 where more is waiting.
NS_EXPORT int ns_session_step(int handle, int units) {
  Entry* entry = Find(handle);
  return entry != nullptr && entry->session->Step(units) ? 1 : 0;
}

// Takes the next event and returns its size, or 0. Its bytes stay at ns_session_message until the
// next.
NS_EXPORT uint32_t ns_session_poll(int handle) {
  Entry* entry = Find(handle);
  if (entry == nullptr || !entry->session->Poll(&entry->message)) return 0;
  return static_cast<uint32_t>(entry->message.size());
}

NS_EXPORT const uint8_t* ns_session_message(int handle) {
  Entry* entry = Find(handle);
  return entry == nullptr ? nullptr : entry->message.data();
}
