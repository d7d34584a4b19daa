// The page without a screen: every panel at five sizes, and events that no core would send.
#include "ui/page.h"

#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <string>
#include <vector>

#include "imgui.h"
#include "session/message.h"
#include "ui/commands.h"
#include "ui/feed.h"
#include "ui/font_files.h"
#include "ui/layout.h"
#include "ui/playback.h"

namespace novascope::ui {
namespace {

// Dear ImGui with the page's fonts and no renderer.
class Screen {
 public:
  Screen(float width, float height) {
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.BackendFlags |= ImGuiBackendFlags_RendererHasTextures;
    ApplyStyle();
    app_.view.fonts = LoadFonts(SansFont(), SansBoldFont(), MonoFont());
    app_.view.width = width;
    app_.view.height = height;
  }
  ~Screen() { ImGui::DestroyContext(); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  void Draw(int frames = 3) {
    for (int i = 0; i < frames; ++i) {
      ImGuiIO& io = ImGui::GetIO();
      io.DisplaySize = {app_.view.width, app_.view.height};
      io.DeltaTime = 1.0f / 60;
      ImGui::NewFrame();
      DrawPage(app_);
      ImGui::Render();
      for (ImTextureData* texture : ImGui::GetPlatformIO().Textures) {
        if (texture->Status == ImTextureStatus_WantDestroy) {
          texture->SetStatus(ImTextureStatus_Destroyed);
        } else {
          texture->SetTexID(1);
          texture->SetStatus(ImTextureStatus_OK);
        }
      }
    }
  }
  void Send(const Json& event, const std::vector<uint8_t>& payload = {}) {
    TakeEvent(app_, session::PackMessage(event, payload));
  }
  AppState& app() { return app_; }

 private:
  AppState app_;
};

Json Parse(const char* text) { return Json::parse(text); }

// A machine of two chips, two steps of 4 us: all compute, then one transfer from 2 to 3 us.
trace::StepTemplate SmallStep() {
  trace::StepTemplate step;
  step.key = 7;
  step.label = "decode";
  step.duration_ps = 4'000'000;
  step.names = {"matmul", "all-reduce"};
  step.classes = {{0, {0, 1, 2, 3, 4, 5, 6, 7}, {}}};
  step.classes[0].split.ps = {2'000'000, 0, 1'000'000, 1'000'000, 0};
  step.tracks = {{trace::TrackKind::kTensor, 0}, {trace::TrackKind::kCollective, 0}};
  step.slices = {{0, 2'000'000, 0, 0, 0, 0}, {2'000'000, 1'000'000, 1, 1, 0, 4096}};
  trace::LinkPattern pattern;
  pattern.slices = {{0, 1'000'000, 4096, 1, 2, 0}};
  pattern.span_ps = 1'000'000;
  pattern.bytes = 4096;
  step.link_slices.patterns = {pattern};
  step.link_slices.runs = {{2'000'000, 0, 1, 0}};
  step.critical_split.ps = {2'000'000, 0, 1'000'000, 1'000'000, 0};
  step.link_bytes = {0, 4096, 0, 0};
  step.bytes_by_link = {0, 0, 4096, 0};
  return step;
}

void SendRun(Screen& screen) {
  screen.Send(Parse(R"({"ev":"hello","version":"1","models":[{"id":"scope-micro","label":"scope-micro","runnable":true,
    "range_b":[0,0],"default_plans":{"trn2-ultraserver":{"tp":64,"pp":4,"dp":1,"lnc":2}}}],
    "systems":[{"id":"trn2-ultraserver","label":"UltraServer"}],"formats":[{"id":"e4m3","label":"E4M3"}],
    "choices":{"collective":["auto"],"reduce":["order-free"]},
    "prices":{"tokens":[{"id":"nova-micro","label":"Nova Micro","output_micro_usd_per_mtok":{"value":140000,
    "label":"published","source":"s","date":"2026-09-01"}}],"hours":[]},"kernels":[],"sources":[]})"));
  screen.Send(Parse(R"({"ev":"loaded","model":{"id":"scope-micro","label":"scope-micro","params":1,"bytes":1}})"));
  screen.app().sent = screen.app().form;
  screen.Send(Parse(R"({"ev":"plan","exec":{"model":"scope-micro","label":"scope-micro","tp":2,"pp":1,"dp":1,"lnc":2},
    "timing":{"model":"nova-micro-like","label":"Nova-Micro-like","tp":2,"pp":1,"dp":1,"lnc":2,"batch":4,"kv_copies":2},
    "prompt_tokens":1,"prompt":[{"id":1,"text":"Hi"}],
    "machine":{"system":"x","chips":2,"cores_per_chip":4,"stacks_per_chip":2,"stack_bytes":1000000000,
    "links":[["in_chip",0,0],["in_chip",1,1],["xy",0,1],["xy",1,0]]},
    "hbm":{"categories":["weights","kv","code"],"bytes":[[4e8,2e8,1e8],[4e8,2e8,1e8],[4e8,2e8,1e8],[4e8,2e8,1e8]],
    "kv_positions":128,"kv_bytes_per_position":[1562500,1562500,1562500,1562500]},
    "provenance":{"words":"w","time":"t","memory":"m","prices":"p"}})"));
  screen.Send(Parse(R"({"ev":"template","index":0})"), trace::EncodeTemplate(SmallStep()));
  for (int i = 0; i < 2; ++i) {
    Json step = Parse(R"({"ev":"step","template":0,"rows":1,"split_ps":{"compute":2000000,"hbm":0,"network":1000000,
      "wait":1000000},"usd":{"rented":"0.001","rented_total":"0.002","list_total":"0.0001"}})");
    step["kind"] = i == 0 ? "prefill" : "decode";
    step["index"] = i;
    step["start_ps"] = i * 4'000'000;
    step["end_ps"] = (i + 1) * 4'000'000;
    step["first"] = 0;
    step["positions"] = i + 1;
    step["token"] = {{"id", i}, {"bytes", "41"}, {"text", i == 0 ? "A" : " \u00e9t\u00e9\n"}, {"logprob", -0.5},
                     {"top", Json::array({{{"id", i}, {"text", "A"}, {"logprob", -0.5}}})}};
    screen.Send(step);
  }
  screen.Send(Parse(R"({"ev":"state","state":"done"})"));
}

struct Size {
  float width, height;
};

TEST_CASE("every panel is drawn at every size, empty and with a run", "[ui]") {
  for (const Size size : {Size{1440, 900}, Size{1280, 720}, Size{1024, 768}, Size{820, 1180}, Size{390, 844}}) {
    CAPTURE(size.width, size.height);
    Screen screen(size.width, size.height);
    screen.Draw();
    SendRun(screen);
    // What lies below the fold is drawn once it is scrolled to.
    std::vector<std::string> seen;
    const float page = MakeLayout(size.width, size.height).content_height;
    for (float scroll = 0; scroll <= page; scroll += 200) {
      screen.app().view.scroll_y = scroll;
      screen.Draw();
      for (const PanelRecord& panel : screen.app().panels) seen.push_back(panel.id);
    }
    for (const Panel& panel : Panels()) {
      CAPTURE(panel.name);
      CHECK(std::count(seen.begin(), seen.end(), panel.name) > 0);
    }
    CHECK(screen.app().error == std::nullopt);
    CHECK_FALSE(screen.app().figures.empty());
  }
}

TEST_CASE("no two panels overlap, and none leaves the page", "[ui]") {
  for (float width = 320; width <= 2600; width += 60) {
    for (float height : {480.0f, 640.0f, 695.0f, 720.0f, 875.0f, 1400.0f}) {
      CAPTURE(width, height);
      const Layout layout = MakeLayout(width, height);
      for (const Panel& a : Panels()) {
        const Rect& rect = layout.panels[static_cast<size_t>(a.id)];
        CAPTURE(a.name, rect.x, rect.y, rect.w, rect.h);
        CHECK(rect.w >= 200);
        CHECK(rect.h >= 20);
        CHECK(rect.x >= 0);
        CHECK(rect.right() <= width + 0.5f);
        for (const Panel& b : Panels()) {
          if (a.id == b.id || layout.pinned[static_cast<size_t>(a.id)] != layout.pinned[static_cast<size_t>(b.id)]) continue;
          CAPTURE(b.name);
          const Rect common = Intersect(rect, layout.panels[static_cast<size_t>(b.id)]);
          CHECK((common.w < 1 || common.h < 1));
        }
      }
    }
  }
}

TEST_CASE("the snapshot's playhead is the trace's own answer", "[ui]") {
  Screen screen(1440, 900);
  SendRun(screen);
  for (const int64_t at : {int64_t{0}, int64_t{1'000'000}, int64_t{2'500'000}, int64_t{6'500'000}, int64_t{8'000'000}}) {
    CAPTURE(at);
    REQUIRE(ShellCommand(screen.app(), {{"cmd", "seek"}, {"ps", at}}));
    screen.Draw(1);
    const Json playhead = PageSnapshot(screen.app())["playhead"];
    const trace::Snapshot expected = screen.app().trace.At(at, 4);
    CHECK(playhead["at_ps"] == at);
    CHECK(playhead["step"] == expected.step);
    CHECK(playhead["busy_links"] == Json(expected.busy_links));
    CHECK(playhead["active_chips"] == Json(expected.active_chips));
    CHECK(playhead["link_bytes"] == expected.link_bytes);
    CHECK(playhead["hbm_bytes"] == expected.hbm_bytes);
  }
  Seek(screen.app(), 2'500'000);
  screen.Draw(1);
  CHECK(screen.app().activity.links[2].busy == 1);
  CHECK(screen.app().activity.links[3].busy == 0);
}

TEST_CASE("a scenario survives its JSON form", "[ui]") {
  Form form;
  form.prompt = "a \"b\"\n\u00fc";
  form.timed = false;
  form.own_plan = false;
  form.plan = {16, 4, 2, 1};
  form.temperature = 0.7;
  form.top_k = 5;
  form.seed = 123456789;
  Form read;
  ReadScenario(ScenarioJson(form), &read);
  CHECK(read == form);
}

TEST_CASE("damaged events become a message, never a crash", "[ui]") {
  Screen screen(1280, 720);
  TakeEvent(screen.app(), {});
  REQUIRE(screen.app().error);
  SendRun(screen);
  const std::vector<Json> strange = {
      Parse(R"({"ev":"plan"})"),
      Parse(R"({"ev":"plan","exec":3,"timing":"x","machine":{"chips":-4,"cores_per_chip":0,"links":[1,["xy",-1,9999],[]]},
        "hbm":{"categories":[1],"bytes":[null,[1,2,3]],"kv_bytes_per_position":["a"]}})"),
      Parse(R"({"ev":"template","index":-1})"),
      Parse(R"({"ev":"step","template":99,"kind":4,"token":{"id":"x","top":[1]},"start_ps":"a"})"),
      Parse(R"({"ev":"money","usd_per_mtok":1,"by_batch":[null,{"batch":"x"}],"why":[]})"),
      Parse(R"({"ev":"error","error":null})"),
      Parse(R"({"ev":"hello","models":[1,{"id":1}],"prices":[],"sources":[[]]})"),
      Parse(R"({"ev":7})")};
  for (const Json& event : strange) {
    CAPTURE(event.dump());
    screen.Send(event);
    screen.Draw(2);
    CHECK_FALSE(PageSnapshot(screen.app()).dump().empty());
  }
}

TEST_CASE("a refusal is shown with its field and fix, and goes with the next run", "[ui]") {
  Screen screen(1280, 720);
  SendRun(screen);
  screen.Send(Parse(R"({"ev":"error","error":{"code":"infeasible","field":"tp","value":"48","message":"48 does not divide 64.",
    "fix":"Use 32 or 64."}})"));
  screen.Draw();
  const Json error = PageSnapshot(screen.app())["error"];
  CHECK(error["field"] == "tp");
  CHECK(error["fix"] == "Use 32 or 64.");
  REQUIRE(ShellCommand(screen.app(), {{"cmd", "run"}}));
  CHECK(PageSnapshot(screen.app())["error"].is_null());
  REQUIRE(screen.app().outbox.size() == 1);
  const auto sent = session::UnpackMessage(screen.app().outbox.front());
  REQUIRE(sent.ok());
  CHECK(sent.value().json["cmd"] == "run");
  CHECK(sent.value().json["scenario"]["timing"]["batch"] == 32);
}

}  // namespace
}  // namespace novascope::ui
