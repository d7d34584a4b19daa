// The door under bad weather: whatever bytes come, the answer is an error event or nothing changes.
#include <limits>

#include "base/rng.h"
#include "driver.h"

namespace novascope::session {
namespace {

// Sends raw bytes and returns the one error they cause.
Json Complaint(Driver* driver, const Bytes& bytes) {
  const size_t before = driver->events.size();
  driver->session.Command(bytes);
  driver->Drain();
  REQUIRE(driver->events.size() == before + 1);
  const Json event = driver->events.back();
  REQUIRE(event["ev"] == "error");
  for (const char* key : {"code", "field", "value", "message", "fix"}) {
    REQUIRE(event["error"][key].is_string());
  }
  CHECK_FALSE(event["error"]["message"].get<std::string>().empty());
  CHECK_FALSE(event["error"]["fix"].get<std::string>().empty());
  CHECK(event["error"]["value"].get<std::string>().size() <= 80);
  return event["error"];
}
Json Complaint(Driver* driver, const Json& command, const std::string& payload = {}) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(payload.data());
  return Complaint(driver, PackMessage(command, {bytes, payload.size()}));
}

TEST_CASE("cut messages are refused", "[session][protocol]") {
  const Bytes whole = PackMessage({{"v", 1}, {"cmd", "hello"}});
  Driver driver;
  for (size_t size = 0; size < whole.size(); ++size) {
    Complaint(&driver, Bytes(whole.begin(), whole.begin() + static_cast<int64_t>(size)));
  }
  driver.session.Command(whole);
  driver.Drain();
  CHECK(driver.events.back()["ev"] == "hello");
}

TEST_CASE("garbage is refused", "[session][protocol]") {
  Driver driver;
  for (uint64_t i = 0; i < 2000; ++i) {
    Bytes bytes(RandomBits(1, i, 0) % 64);
    for (size_t j = 0; j < bytes.size(); ++j) {
      bytes[j] = static_cast<uint8_t>(RandomBits(2, i, j));
    }
    // Half of them with a length that fits, so that the JSON is looked at.
    if (i % 2 == 0 && bytes.size() >= 4) {
      bytes[0] = static_cast<uint8_t>(bytes.size() - 4);
      bytes[1] = bytes[2] = bytes[3] = 0;
    }
    Complaint(&driver, bytes);
  }
  Bytes damaged = PackMessage({{"v", 1}, {"cmd", "run"}, {"scenario", SmallScenario()}});
  for (size_t i = 4; i < damaged.size(); ++i) {
    for (const uint8_t flip : {0x01, 0x20, 0x80}) {
      damaged[i] ^= flip;
      driver.session.Command(damaged);
      driver.Drain();
      CHECK(driver.events.back()["ev"] ==
            "error");  // no model is loaded, so even a lucky one fails
      damaged[i] ^= flip;
    }
  }
}

TEST_CASE("commands must name a version and a command that are known", "[session][protocol]") {
  Driver driver;
  CHECK(Complaint(&driver, Json{{"cmd", "hello"}})["field"] == "v");
  CHECK(Complaint(&driver, Json{{"v", 2}, {"cmd", "hello"}})["value"] == "2");
  CHECK(Complaint(&driver, Json{{"v", "1"}, {"cmd", "hello"}})["field"] == "v");
  CHECK(Complaint(&driver, Json{{"v", 1}})["field"] == "cmd");
  CHECK(Complaint(&driver, Json{{"v", 1}, {"cmd", 7}})["field"] == "cmd");
  CHECK(Complaint(&driver, Json{{"v", 1}, {"cmd", "fly"}})["value"] == "fly");
  CHECK(Complaint(&driver, Json{{"v", 1}, {"cmd", "run"}})["field"] == "scenario");
  CHECK(Complaint(&driver, Json{{"v", 1}, {"cmd", "run"}, {"scenario", 1}})["field"] == "scenario");
  CHECK(Complaint(&driver, Json{{"v", 1}, {"cmd", "step"}})["field"] == "cmd");
  CHECK(Complaint(&driver, Json{{"v", 1}, {"cmd", "resume"}})["field"] == "cmd");
}

TEST_CASE("absurd sizes in load are refused before anything is read", "[session][protocol]") {
  Driver driver;
  const auto load = [&](const Json& config, const Json& tokenizer, const Json& weights) {
    return Complaint(&driver,
                     Json{{"v", 1},
                          {"cmd", "load"},
                          {"config", config},
                          {"tokenizer", tokenizer},
                          {"weights", weights}},
                     "0123456789");
  };
  CHECK(load(11, 0, 0)["field"] == "config");
  CHECK(load(5, std::numeric_limits<uint64_t>::max(), 5)["field"] == "tokenizer");
  CHECK(load(5, 5, uint64_t{1} << 63)["field"] == "weights");
  CHECK(load(-1, 5, 5)["field"] == "config");
  CHECK(load(2.5, 5, 5)["field"] == "config");
  CHECK(load("5", 5, 5)["field"] == "config");
  CHECK(load(nullptr, 5, 5)["field"] == "config");
  CHECK(load(1, 1, 1)["field"] == "weights");  // bytes left over
  CHECK(Complaint(&driver, Json{{"v", 1}, {"cmd", "load"}})["field"] == "config");
  CHECK(driver.All("loaded").empty());
}

TEST_CASE("damaged model files are refused and leave the session as it was",
          "[session][protocol]") {
  const ModelFiles& f = ScopeMicro();
  Driver driver;
  const auto load = [&](const std::string& config, const std::string& tokenizer,
                        const std::string& weights, const char* id = "scope-micro") {
    return Complaint(&driver,
                     Json{{"v", 1},
                          {"cmd", "load"},
                          {"id", id},
                          {"config", config.size()},
                          {"tokenizer", tokenizer.size()},
                          {"weights", weights.size()}},
                     config + tokenizer + weights);
  };
  CHECK(load("", f.tokenizer, f.weights)["code"] == "bad_file");
  CHECK(load("{}", f.tokenizer, f.weights)["code"] == "bad_file");
  CHECK(load(f.config, "{", f.weights)["code"] == "bad_file");
  CHECK(load(f.config, f.tokenizer, "")["code"] == "bad_file");
  for (const size_t cut : {size_t{4}, size_t{9}, size_t{2000}, f.weights.size() - 1}) {
    CHECK(load(f.config, f.tokenizer, f.weights.substr(0, cut))["code"] == "bad_file");
  }
  std::string other = f.config;
  other.replace(other.find("\"num_hidden_layers\": 4"), 22, "\"num_hidden_layers\": 8");
  CHECK(load(other, f.tokenizer, f.weights)["field"] == "config.json");
  CHECK(load(other, f.tokenizer, f.weights, "mine")["code"] == "bad_file");  // layers are missing
  CHECK(load(f.config, f.tokenizer, f.weights, "llama-3.1-8b")["field"] == "config.json");
  CHECK(load(f.config, f.tokenizer, f.weights, "")["field"] == "model");
  CHECK(driver.All("state").empty());
  driver.Load();
  CHECK(driver.Last("state")["state"] == "ready");
}

TEST_CASE("hello lists every table with labels and sources", "[session][protocol]") {
  Driver driver;
  driver.Send({{"cmd", "hello"}});
  const Json hello = driver.Last("hello");
  CHECK(hello["v"] == kProtocolVersion);
  CHECK(hello["version"].get<std::string>().find('.') != std::string::npos);
  for (const char* table : {"kernels", "models", "systems", "formats", "collectives"}) {
    INFO(table);
    REQUIRE(hello[table].size() > 0);
    for (const Json& row : hello[table]) {
      CHECK_FALSE(row["id"].get<std::string>().empty());
      CHECK_FALSE(row["label"].get<std::string>().empty());
    }
  }
  CHECK(hello["models"][0]["id"] == "scope-micro");
  for (const char* kind : {"tokens", "hours"}) REQUIRE(hello["prices"][kind].size() > 0);
  REQUIRE(hello["sources"].size() > 30);
  for (const Json& row : hello["sources"]) {
    INFO(row.dump());
    CHECK_FALSE(row["source"].get<std::string>().empty());
    CHECK_FALSE(row["label"].get<std::string>().empty());
  }
}

}  // namespace
}  // namespace novascope::session
