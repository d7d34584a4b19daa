// Talks to a Session as a client does, and keeps every event it gets.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/json.h"
#include "session/message.h"
#include "session/session.h"
#include "trace/trace.h"

namespace novascope::session {

inline std::string ReadAsset(const std::string& path) {
  std::ifstream stream(std::string(NOVASCOPE_SOURCE_DIR) + "/assets/" + path, std::ios::binary);
  INFO(path);
  REQUIRE(stream.good());
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// scope-micro's three files, read once.
struct ModelFiles {
  std::string config = ReadAsset("models/scope-micro/config.json");
  std::string tokenizer = ReadAsset("models/scope-micro/tokenizer.json");
  std::string weights = ReadAsset("models/scope-micro/model.safetensors");
};
inline const ModelFiles& ScopeMicro() {
  static const ModelFiles kFiles;
  return kFiles;
}

using Bytes = std::vector<uint8_t>;

class Driver {
 public:
  void Send(Json command, const std::string& payload = {}) {
    if (!command.contains("v")) command["v"] = kProtocolVersion;
    const auto* bytes = reinterpret_cast<const uint8_t*>(payload.data());
    session.Command(PackMessage(command, {bytes, payload.size()}));
    Drain();
  }
  void Load() {
    const ModelFiles& f = ScopeMicro();
    Send({{"cmd", "load"},
          {"config", f.config.size()},
          {"tokenizer", f.tokenizer.size()},
          {"weights", f.weights.size()}},
         f.config + f.tokenizer + f.weights);
    REQUIRE(Last("loaded").is_object());
  }
  // Loads, starts and runs until nothing is left to do.
  void Run(const Json& scenario, int units = 1000) {
    Load();
    Send({{"cmd", "run"}, {"scenario", scenario}});
    Finish(units);
  }
  void Finish(int units = 1000) {
    while (session.Step(units)) Drain();
    Drain();
  }
  void Drain() {
    Bytes bytes;
    while (session.Poll(&bytes)) {
      Result<Message> message = UnpackMessage(bytes);
      REQUIRE(message.ok());
      events.push_back(message.value().json);
      raw.push_back(bytes);
    }
  }

  // All events of a kind.
  std::vector<Json> All(const char* kind) const {
    std::vector<Json> found;
    for (const Json& event : events) {
      if (event["ev"] == kind) found.push_back(event);
    }
    return found;
  }
  // The last event of a kind, or null.
  Json Last(const char* kind) const {
    const std::vector<Json> found = All(kind);
    return found.empty() ? Json(nullptr) : found.back();
  }
  Json Outcome() const {
    const Json done = Last("done");
    REQUIRE(done.is_object());
    return done["result"];
  }
  Json Refusal() const {
    const Json event = Last("error");
    return event.is_null() ? event : event["error"];
  }
  std::vector<trace::StepTemplate> Templates() const {
    std::vector<trace::StepTemplate> templates;
    for (const Bytes& bytes : raw) {
      const Message message = UnpackMessage(bytes).value();
      if (message.json["ev"] != "template") continue;
      auto decoded = trace::DecodeTemplate(message.payload.data(), message.payload.size());
      REQUIRE(decoded.ok());
      templates.push_back(decoded.value());
    }
    return templates;
  }

  Session session;
  std::vector<Json> events;
  std::vector<Bytes> raw;
};

// A plan of one chip keeps these tests quick; the 64-chip plan has tests of its own.
inline Json SmallScenario() {
  return {{"v", 1},
          {"prompt", "Which chip holds the second pipeline stage?"},
          {"max_tokens", 6},
          {"plan", {{"tp", 4}}},
          {"prefill_chunk", 8}};
}

}  // namespace novascope::session
