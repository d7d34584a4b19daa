#include "trace/trace.h"

#include <catch2/catch_test_macros.hpp>
#include <set>
#include <string>

#include "base/json.h"
#include "base/rng.h"
#include "trace/export.h"

namespace novascope::trace {
namespace {

// Two classes of two cores each, one DMA and one tensor slice, two link slices, 100 ps long; the
// second link is busy from 60 to 95.
StepTemplate Example() {
  StepTemplate t;
  t.key = 0x1122334455667788;
  t.label = "decode, 32 positions";
  t.duration_ps = 100;
  t.names = {"qkv", "all \"reduce\""};
  t.classes.push_back({.stage = 0, .cores = {0, 1}, .split = {}});
  t.classes.back().split.ps = {40, 30, 20, 10, 0};
  t.classes.push_back({.stage = 1, .cores = {4, 9}, .split = {}});
  t.classes.back().split.ps = {0, 0, 0, 100, 0};
  t.tracks = {{TrackKind::kTensor, 0}, {TrackKind::kDma, 1}, {TrackKind::kWait, 1}};
  t.slices.push_back({.start_ps = 0, .duration_ps = 40, .name = 0, .track = 0, .layer = 3});
  t.slices.push_back({.start_ps = 0, .duration_ps = 100, .name = 1, .track = 2});
  t.slices.push_back({.start_ps = 50, .duration_ps = 30, .name = 0, .track = 1, .bytes = 10});
  LinkPattern small{.slices = {{.start_ps = 0, .duration_ps = 20, .bytes = 7, .link = 2}},
                    .span_ps = 20,
                    .bytes = 7};
  LinkPattern large{.slices = {{.start_ps = 5, .duration_ps = 35, .bytes = 100, .link = 1}},
                    .span_ps = 40,
                    .bytes = 100};
  t.link_slices.patterns = {small, large};
  t.link_slices.runs = {{.start_ps = 10, .pattern = 0, .name = 1, .layer = 3},
                        {.start_ps = 55, .pattern = 1, .name = 1}};
  t.critical_class = 0;
  t.critical_split.ps = {40, 30, 20, 10, 0};
  t.hbm_bytes = 20;
  t.link_bytes = {0, 107, 0, 0};
  t.bytes_by_link = {0, 100, 7};
  return t;
}

Trace TwoSteps() {
  Trace trace;
  const int id = trace.AddTemplate(Example());
  trace.AddStep({.start_ps = 1000, .step_template = id});
  trace.AddStep({.start_ps = 1200, .step_template = id});
  return trace;
}

TEST_CASE("the playhead finds its step", "[trace]") {
  const Trace trace = TwoSteps();
  CHECK(trace.StepAt(0) == -1);
  CHECK(trace.StepAt(999) == -1);
  CHECK(trace.StepAt(1000) == 0);
  CHECK(trace.StepAt(1099) == 0);
  CHECK(trace.StepAt(1100) == -1);
  CHECK(trace.StepAt(1200) == 1);
  CHECK(trace.StepAt(1300) == -1);
  CHECK(trace.end_ps() == 1300);
  CHECK(trace.FindTemplate(0x1122334455667788) == 0);
  CHECK(trace.FindTemplate(1) == -1);
}

TEST_CASE("a snapshot shows busy links, active chips and bytes so far", "[trace]") {
  const Trace trace = TwoSteps();
  const Snapshot early = trace.At(1005, 4);
  CHECK(early.step == 0);
  CHECK(early.busy_links.empty());
  CHECK(early.active_chips == std::vector<int16_t>{0});
  CHECK(early.link_bytes == 0);
  const Snapshot first_link = trace.At(1020, 4);
  CHECK(first_link.busy_links == std::vector<uint16_t>{2});
  CHECK(first_link.link_bytes == 3);  // 7 * 10 / 20, floor
  const Snapshot dma = trace.At(1065, 4);
  CHECK(dma.busy_links == std::vector<uint16_t>{1});
  CHECK(dma.active_chips == std::vector<int16_t>{1, 2});  // cores 4 and 9
  CHECK(dma.hbm_bytes == 10);                             // two cores, 10 * 15 / 30 each
  CHECK(dma.link_bytes == 7 + 14);                        // 100 * 5 / 35, floor
  const Snapshot between = trace.At(1150, 4);
  CHECK(between.step == -1);
  CHECK(between.busy_links.empty());
  CHECK(between.active_chips.empty());
  CHECK(between.link_bytes == 107);
  CHECK(between.hbm_bytes == 20);
  const Snapshot end = trace.At(1'000'000, 4);
  CHECK(end.link_bytes == 214);
  CHECK(end.hbm_bytes == 40);
  const Snapshot before = trace.At(5, 4);
  CHECK(before.step == -1);
  CHECK(before.link_bytes == 0);
}

TEST_CASE("link slices expand run by run", "[trace]") {
  const StepTemplate t = Example();
  std::vector<LinkSlice> slices;
  for (const LinkSlice& slice : t.link_slices) slices.push_back(slice);
  REQUIRE(slices.size() == 2);
  CHECK(t.link_slices.size() == 2);
  CHECK(slices[0].start_ps == 10);
  CHECK(slices[0].layer == 3);
  CHECK(slices[0].name == 1);
  CHECK(slices[1].start_ps == 60);
  CHECK(slices[1].link == 1);
  CHECK(slices[1].layer == -1);
}

TEST_CASE("bytes never run backwards while scrubbing", "[trace]") {
  const Trace trace = TwoSteps();
  Snapshot last = trace.At(990, 4);
  for (int64_t at = 991; at < 1310; ++at) {
    const Snapshot now = trace.At(at, 4);
    REQUIRE(now.link_bytes >= last.link_bytes);
    REQUIRE(now.hbm_bytes >= last.hbm_bytes);
    last = now;
  }
}

TEST_CASE("the oldest steps are dropped over budget, and their bytes still count", "[trace]") {
  Trace small(8000);
  const int id = small.AddTemplate(Example());
  Trace large;
  large.AddTemplate(Example());
  for (int i = 0; i < 1000; ++i) {
    small.AddStep({.start_ps = i * 100, .step_template = id});
    large.AddStep({.start_ps = i * 100, .step_template = id});
    REQUIRE(small.memory_bytes() <= 8000);
  }
  CHECK(small.dropped_steps() > 0);
  CHECK(small.dropped_steps() + small.steps().size() == 1000);
  CHECK(large.dropped_steps() == 0);
  CHECK(small.end_ps() == large.end_ps());
  CHECK(small.At(99'965, 4).link_bytes == large.At(99'965, 4).link_bytes);
  CHECK(small.At(99'965, 4).step == static_cast<int32_t>(small.steps().size()) - 1);
  CHECK(small.At(0, 4).step == -1);
  CHECK(small.At(0, 4).link_bytes == 107 * small.dropped_steps());
  // A budget smaller than the template keeps the newest step.
  Trace tiny(1);
  tiny.AddTemplate(Example());
  tiny.AddStep({.start_ps = 0, .step_template = 0});
  tiny.AddStep({.start_ps = 100, .step_template = 0});
  CHECK(tiny.steps().size() == 1);
  CHECK(tiny.StepAt(150) == 0);
}

TEST_CASE("templates survive the trip through bytes", "[trace][codec]") {
  const StepTemplate t = Example();
  const std::vector<uint8_t> bytes = EncodeTemplate(t);
  const Result<StepTemplate> back = DecodeTemplate(bytes.data(), bytes.size());
  REQUIRE(back.ok());
  CHECK(back.value().label == t.label);
  CHECK(back.value().names == t.names);
  CHECK(back.value().classes[1].cores == t.classes[1].cores);
  CHECK(back.value().slices[2].bytes == 10);
  CHECK(back.value().link_slices.patterns[1].slices[0].link == 1);
  CHECK(back.value().link_slices.patterns[1].span_ps == 40);
  CHECK(back.value().link_slices.patterns[1].bytes == 100);
  CHECK(back.value().critical_split.ps == t.critical_split.ps);
  CHECK(EncodeTemplate(back.value()) == bytes);
  // Little-endian, whatever the host: magic "NVST", version 1, key.
  CHECK(std::string(bytes.begin(), bytes.begin() + 4) == "NVST");
  CHECK(bytes[4] == 1);
  CHECK(bytes[8] == 0x88);
}

TEST_CASE("truncated, flipped and inconsistent templates are refused", "[trace][codec]") {
  const std::vector<uint8_t> bytes = EncodeTemplate(Example());
  for (size_t size = 0; size < bytes.size(); ++size) {
    REQUIRE(!DecodeTemplate(bytes.data(), size).ok());
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<uint8_t> bad = bytes;
      bad[i] = static_cast<uint8_t>(bad[i] ^ (1 << bit));
      REQUIRE(!DecodeTemplate(bad.data(), bad.size()).ok());
    }
  }
  std::vector<uint8_t> longer = bytes;
  longer.push_back(0);
  CHECK(!DecodeTemplate(longer.data(), longer.size()).ok());
  // With a right hash around them, wrong contents are found by the checks themselves.
  const auto refused = [](auto&& spoil) {
    StepTemplate t = Example();
    spoil(&t);
    const std::vector<uint8_t> spoiled = EncodeTemplate(t);
    const auto result = DecodeTemplate(spoiled.data(), spoiled.size());
    return !result.ok() && result.error().code == ErrorCode::kBadFile;
  };
  CHECK(!refused([](StepTemplate*) {}));
  CHECK(refused([](StepTemplate* t) { t->slices[0].name = 2; }));
  CHECK(refused([](StepTemplate* t) { t->slices[0].name = -1; }));
  CHECK(refused([](StepTemplate* t) { t->slices[0].track = 3; }));
  CHECK(refused([](StepTemplate* t) { t->slices[0].duration_ps = 101; }));
  CHECK(refused([](StepTemplate* t) { t->slices[0].start_ps = -1; }));
  CHECK(refused([](StepTemplate* t) { t->slices[2].start_ps = INT64_MAX; }));
  CHECK(refused([](StepTemplate* t) { std::swap(t->slices[0], t->slices[2]); }));
  CHECK(refused([](StepTemplate* t) { t->link_slices.patterns[0].slices[0].link = 3; }));
  CHECK(refused([](StepTemplate* t) { t->link_slices.patterns[0].slices[0].start_ps = -5; }));
  CHECK(refused([](StepTemplate* t) { t->link_slices.patterns[0].slices.clear(); }));
  CHECK(refused([](StepTemplate* t) { t->link_slices.runs[1].start_ps = 61; }));
  CHECK(refused([](StepTemplate* t) { t->link_slices.runs[1].start_ps = 9; }));
  CHECK(refused([](StepTemplate* t) { t->link_slices.runs[0].pattern = 2; }));
  CHECK(refused([](StepTemplate* t) { t->link_slices.runs[0].name = 2; }));
  CHECK(refused([](StepTemplate* t) { t->tracks[0].rank_class = 2; }));
  CHECK(refused([](StepTemplate* t) { t->tracks[0].kind = static_cast<TrackKind>(6); }));
  CHECK(refused([](StepTemplate* t) { t->critical_class = 2; }));
  CHECK(refused([](StepTemplate* t) { t->critical_split.ps[0] += 1; }));
  CHECK(refused([](StepTemplate* t) { t->classes[0].split.ps[0] = -5; }));
  CHECK(refused([](StepTemplate* t) { t->classes[0].cores[0] = 1; }));
  CHECK(refused([](StepTemplate* t) { t->classes.clear(); }));
}

TEST_CASE("random bytes with a valid hash never crash the reader", "[trace][codec]") {
  // Spoils single bytes of the body and lets the encoder's hash be right again by taking it from
  // the error-free path: the last eight bytes are recomputed here with the same FNV-1a.
  const std::vector<uint8_t> good = EncodeTemplate(Example());
  int accepted = 0;
  for (uint64_t i = 0; i < 4000; ++i) {
    std::vector<uint8_t> bytes = good;
    for (uint64_t change = 0; change < 1 + i % 3; ++change) {
      const uint64_t at = RandomBits(7, change, 2 * i) % (bytes.size() - 8);
      bytes[at] = static_cast<uint8_t>(RandomBits(7, change, 2 * i + 1));
    }
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t j = 0; j + 8 < bytes.size(); ++j) hash = (hash ^ bytes[j]) * 0x100000001b3u;
    for (size_t j = 0; j < 8; ++j)
      bytes[bytes.size() - 8 + j] = static_cast<uint8_t>(hash >> (8 * j));
    const auto result = DecodeTemplate(bytes.data(), bytes.size());
    if (!result.ok()) continue;
    ++accepted;  // then everything in it can be used
    Trace trace;
    trace.AddTemplate(result.value());
    trace.AddStep({.start_ps = 0, .step_template = 0});
    (void)trace.At(trace.end_ps() / 2, 4);
    (void)ToChromeTrace(trace);
  }
  CHECK(accepted > 0);
  CHECK(accepted < 4000);
}

TEST_CASE("the Chrome trace is valid JSON with every slice at its picosecond", "[trace][export]") {
  const Trace trace = TwoSteps();
  const std::string text = ToChromeTrace(trace);
  const Result<Json> json = ParseJson(text, "trace");
  REQUIRE(json.ok());
  int slices = 0, counters = 0, names = 0;
  std::set<std::pair<int, int>> named_threads, used_threads;
  uint64_t last_counter = 0;
  for (const Json& event : json.value()["traceEvents"]) {
    const std::string phase = event["ph"];
    const std::pair<int, int> thread{event["pid"].get<int>(), event["tid"].get<int>()};
    if (phase == "X") {
      ++slices;
      used_threads.insert(thread);
    }
    if (phase == "C") {
      ++counters;
      last_counter = event["args"]["bytes"];
    }
    if (phase == "M") {
      ++names;
      if (event["name"] == "thread_name") named_threads.insert(thread);
    }
  }
  CHECK(slices == 2 * 5);
  CHECK(counters == 4);
  CHECK(last_counter == 40);
  CHECK(named_threads == used_threads);
  CHECK(text.find("\"ts\":0.001060,\"dur\":0.000035") != std::string::npos);
  const Result<Json> one =
      ParseJson(ToChromeTrace(trace, {.first_step = 1, .step_count = 9}), "trace");
  REQUIRE(one.ok());
  CHECK(one.value()["otherData"]["steps_left_out"] == 1);
  CHECK(ParseJson(ToChromeTrace(Trace{}), "trace").ok());
}

}  // namespace
}  // namespace novascope::trace
