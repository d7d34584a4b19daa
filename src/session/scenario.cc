#include "session/scenario.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "base/utf8.h"
#include "cost/cost.h"
#include "hw/machine.h"
#include "kernels/kernels.h"
#include "model/spec.h"
#include "session/error_json.h"

namespace novascope::session {
namespace {

struct CollectiveRow {
  plan::CollectiveChoice id;
  const char* name;
};
constexpr CollectiveRow kCollectives[] = {
    {plan::CollectiveChoice::kAuto, "auto"},
    {plan::CollectiveChoice::kMesh, "mesh"},
    {plan::CollectiveChoice::kRing, "ring"},
};

struct ReduceRow {
  plan::ReduceMode id;
  const char* name;
  bool chosen_by_users;  // the others come with a timing shape
};
constexpr ReduceRow kReduces[] = {
    {plan::ReduceMode::kOrderFree, "order-free", true},
    {plan::ReduceMode::kF32InOrder, "f32-in-order", true},
    {plan::ReduceMode::kBf16, "bf16", false},
};

Error Bad(std::string_view field, std::string value, std::string message, std::string fix) {
  return {ErrorCode::kInput, std::string(field), std::move(value), std::move(message),
          std::move(fix)};
}

// The shortest decimal that reads back as the same float: 0.7, not 0.699999988079071.
double ShortDecimal(float value) {
  for (int digits = 1; digits < 9; ++digits) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(value));
    const double decimal = std::strtod(text, nullptr);
    if (static_cast<float>(decimal) == value) return decimal;
  }
  return static_cast<double>(value);
}

// Reads the members of one JSON object and remembers the first problem. Every key asked for is
// known; the rest are refused by Finish.
class Reader {
 public:
  Reader(const Json& json, std::string prefix, std::string path)
      : json_(json), prefix_(std::move(prefix)), path_(std::move(path)) {
    if (!json.is_object()) {
      Fail(Bad(path_, Shown(json), "This is not a JSON object.",
               "Write it as {\"key\": value, ...}."));
    }
  }

  const Json* Find(const char* key) {
    known_.push_back(key);
    if (!json_.is_object()) return nullptr;
    const auto it = json_.find(key);
    return it == json_.end() ? nullptr : &*it;
  }

  bool Int(const char* key, int* out) {
    const Json* value = Find(key);
    if (value == nullptr) return false;
    int64_t number = 0;
    if (const auto* u = value->get_ptr<const Json::number_unsigned_t*>()) {
      number = *u > uint64_t{1} << 40 ? int64_t{1} << 40 : static_cast<int64_t>(*u);
    } else if (const auto* i = value->get_ptr<const Json::number_integer_t*>()) {
      number = *i;
    } else {
      return Refuse(key, *value, "This is not a whole number.", "Write a whole number.");
    }
    if (number < std::numeric_limits<int>::min() || number > std::numeric_limits<int>::max()) {
      return Refuse(key, *value, "This number is out of range.", "Write a smaller whole number.");
    }
    *out = static_cast<int>(number);
    return true;
  }

  void Seed(const char* key, uint64_t* out) {
    const Json* value = Find(key);
    if (value == nullptr) return;
    if (const auto* u = value->get_ptr<const Json::number_unsigned_t*>()) {
      *out = *u;
    } else {
      Refuse(key, *value, "A seed is a whole number from 0 to 2^64 - 1.", "Write such a number.");
    }
  }

  void Float(const char* key, float* out) {
    const Json* value = Find(key);
    if (value == nullptr) return;
    if (!value->is_number()) {
      Refuse(key, *value, "This is not a number.", "Write a number.");
      return;
    }
    *out = static_cast<float>(value->get<double>());
  }

  void Bool(const char* key, bool* out) {
    const Json* value = Find(key);
    if (value == nullptr) return;
    if (const auto* flag = value->get_ptr<const Json::boolean_t*>()) {
      *out = *flag;
    } else {
      Refuse(key, *value, "This is neither true nor false.", "Write true or false.");
    }
  }

  bool String(const char* key, std::string* out) {
    const Json* value = Find(key);
    if (value == nullptr) return false;
    const auto* text = value->get_ptr<const std::string*>();
    if (text == nullptr) return Refuse(key, *value, "This is not text.", "Write it in quotes.");
    *out = *text;
    return true;
  }

  bool Format(const char* key, plan::FormatId* out) {
    std::string name;
    if (!String(key, &name)) return false;
    Result<plan::FormatId> format = numerics::FindFormat(name, prefix_ + key);
    if (!format.ok()) {
      Fail(format.error());
      return false;
    }
    *out = format.value();
    return true;
  }

  void Fail(Error error) {
    if (status_.ok()) status_ = std::move(error);
  }
  bool Refuse(std::string_view key, const Json& value, std::string message, std::string fix) {
    Fail(Bad(prefix_ + std::string(key), Shown(value), std::move(message), std::move(fix)));
    return false;
  }

  Status Finish() {
    if (!json_.is_object()) return status_;
    for (const auto& [key, value] : json_.items()) {
      if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
      std::string list;
      for (const std::string& name : known_) list += (list.empty() ? "" : ", ") + name;
      Fail(Bad(prefix_ + Excerpt(key), Shown(value), "There is no such key here.",
               "Use one of " + list + "."));
    }
    return status_;
  }

 private:
  const Json& json_;
  std::string prefix_, path_;
  std::vector<std::string> known_;
  Status status_ = Ok{};
};

Status ReadPlan(const Json& json, Scenario* s) {
  Reader in(json, "", "plan");
  const bool tp = in.Int("tp", &s->tp);
  const bool pp = in.Int("pp", &s->pp);
  in.Int("dp", &s->dp);
  in.Int("lnc", &s->lnc);
  s->own_plan = !tp && !pp;
  return in.Finish();
}

Status ReadFormats(const Json& json, Scenario* s) {
  Reader in(json, "", "formats");
  in.Format("weights", &s->formats.weights);
  in.Format("activations", &s->formats.activations);
  if (!in.Format("kv", &s->formats.kv)) s->formats.kv = DefaultKvFormat(s->formats.activations);
  return in.Finish();
}

Status ReadTiming(const Json& json, Scenario* s) {
  TimingShape timing;
  Reader in(json, "timing.", "timing");
  in.String("shape", &timing.shape);
  in.Int("tp", &timing.tp);
  in.Int("pp", &timing.pp);
  in.Int("dp", &timing.dp);
  in.Int("lnc", &timing.lnc);
  in.Int("batch", &timing.batch);
  s->timing = timing;
  return in.Finish();
}

// A name of a small table, for a field.
template <typename Row, size_t N, typename Id>
void ReadChoice(Reader* in, const char* key, const Row (&rows)[N], Id* out) {
  std::string name;
  if (!in->String(key, &name)) return;
  std::string list;
  for (const Row& row : rows) {
    if constexpr (requires { row.chosen_by_users; }) {
      if (!row.chosen_by_users) continue;
    }
    if (name == row.name) {
      *out = row.id;
      return;
    }
    list += (list.empty() ? "" : ", ") + std::string(row.name);
  }
  in->Fail({ErrorCode::kUnknownId, key, Excerpt(name), "There is no choice of this name.",
            "Use one of " + list + "."});
}

void ReadStops(Reader* in, Scenario* s) {
  const Json* stops = in->Find("stop");
  if (stops == nullptr) return;
  if (!stops->is_array()) {
    in->Refuse("stop", *stops, "This is not a list of texts.", "Write it as [\"...\", ...].");
    return;
  }
  for (const Json& stop : *stops) {
    const auto* text = stop.get_ptr<const std::string*>();
    if (text == nullptr) {
      in->Refuse("stop", stop, "This is not text.", "Write every stop sequence in quotes.");
      return;
    }
    s->stop.push_back(*text);
  }
}

Status CheckRange(std::string_view field, int value, int low, int high, const char* what) {
  if (value >= low && value <= high) return Ok{};
  return Bad(
      field, std::to_string(value), what,
      "Use a whole number from " + std::to_string(low) + " to " + std::to_string(high) + ".");
}

Status CheckText(std::string_view field, std::string_view text) {
  const size_t bad = FirstInvalidUtf8(text);
  if (bad == std::string_view::npos) return Ok{};
  return Bad(field, Excerpt(text),
             "The text is not UTF-8: byte " + std::to_string(bad) + " is not part of a character.",
             "Save or paste the text as UTF-8.");
}

Status CheckWorkload(const Scenario& s) {
  if (s.prompt.empty()) {
    return Bad("prompt", "", "The prompt is empty.", "Write at least one character.");
  }
  std::vector<std::pair<const char*, const std::string*>> texts = {
      {"prompt", &s.prompt}, {"system_prompt", &s.system_prompt}};
  for (const std::string& stop : s.stop) texts.push_back({"stop", &stop});
  for (const auto& [field, text] : texts) {
    if (Status status = CheckText(field, *text); !status.ok()) return status;
  }
  if (!s.system_prompt.empty() && !s.chat) {
    return Bad("system_prompt", Excerpt(s.system_prompt),
               "A system prompt has a place only in a chat turn.",
               "Set chat as well, or leave it out.");
  }
  if (s.stop.size() > static_cast<size_t>(kMaxStops)) {
    return Bad("stop", std::to_string(s.stop.size()) + " texts",
               "There are too many stop sequences.",
               "Use at most " + std::to_string(kMaxStops) + ".");
  }
  for (const std::string& stop : s.stop) {
    if (stop.empty()) return Bad("stop", "", "A stop sequence is empty.", "Leave it out.");
  }
  if (Status status = CheckRange("max_tokens", s.max_tokens, 1, kMaxOutputTokens,
                                 "This is how many tokens may be written.");
      !status.ok()) {
    return status;
  }
  if (Status status = CheckRange("prefill_chunk", s.prefill_chunk, 1, kMaxPrefillChunk,
                                 "This is how many prompt positions one prefill step takes.");
      !status.ok()) {
    return status;
  }
  return model::ValidateSampler(s.sampler);
}

Status CheckFormats(const plan::NumberFormats& formats) {
  struct Use {
    const char* field;
    plan::FormatId id;
    bool fp32;  // whether FP32 has this use
  };
  for (const Use& use :
       {Use{"weights", formats.weights, true}, Use{"activations", formats.activations, true},
        Use{"kv", formats.kv, false}}) {
    std::string list;
    bool known = false;
    for (const numerics::Format& row : numerics::Formats()) {
      const bool taken = row.bits == 8 || row.id == plan::FormatId::kBF16 ||
                         (use.fp32 && row.id == plan::FormatId::kFP32);
      if (!taken) continue;
      known = known || row.id == use.id;
      list += (list.empty() ? "" : ", ") + std::string(row.name);
    }
    if (!known) {
      return Bad(use.field, numerics::Get(use.id).name, "The kernels do not take this format here.",
                 "Use one of " + list + ".");
    }
  }
  return Ok{};
}

Status CheckDegrees(const Scenario& s) {
  struct Degree {
    const char* field;
    int value;
  };
  // What divides what is the plan's to say; this only keeps the numbers in bounds.
  std::vector<Degree> degrees = {{"tp", s.tp}, {"pp", s.pp}, {"dp", s.dp}};
  if (s.timing) {
    degrees.insert(
        degrees.end(),
        {{"timing.tp", s.timing->tp}, {"timing.pp", s.timing->pp}, {"timing.dp", s.timing->dp}});
  }
  for (const Degree& degree : degrees) {
    if (Status status = CheckRange(degree.field, degree.value, 1, 1 << 20,
                                   "A degree counts logical NeuronCores.");
        !status.ok()) {
      return status;
    }
  }
  if (Status status =
          CheckRange("lnc", s.lnc, 1, 2, "A logical NeuronCore is one or two physical cores.");
      !status.ok() || !s.timing) {
    return status;
  }
  if (Status status = CheckRange("timing.lnc", s.timing->lnc, 1, 2,
                                 "A logical NeuronCore is one or two physical cores.");
      !status.ok()) {
    return status;
  }
  return CheckRange("timing.batch", s.timing->batch, 1, kMaxBatch,
                    "The batch is the number of sequences a replica runs together.");
}

Status CheckModel(const Scenario& s, const model::ModelSpec* loaded) {
  if (loaded != nullptr && loaded->id == s.model) return Ok{};
  Result<model::ModelSpec> row = model::FindModel(s.model, "model");
  if (!row.ok()) return row.error();
  if (!row.value().runnable) {
    return Bad("model", Excerpt(s.model),
               "This model is a shape only: it has no weights to write with.",
               "Use scope-micro for the words and this shape as the timing shape.");
  }
  if (loaded != nullptr) {
    return Bad("model", Excerpt(s.model), "The model in memory is " + Excerpt(loaded->id) + ".",
               "Load its files first, or name the model that is loaded.");
  }
  return Ok{};
}

Status CheckRows(const Scenario& s) {
  Result<const hw::System*> system = hw::FindSystem(s.system, "system");
  if (!system.ok()) return system.error();
  if (s.timing) {
    Result<model::ModelSpec> shape = model::FindModel(s.timing->shape, "timing.shape");
    if (!shape.ok()) return shape.error();
  }
  Result<const cost::HourPrice*> rent = cost::FindHourPrice(s.rent, "rent");
  if (!rent.ok()) return rent.error();
  if (std::string_view(rent.value()->chip) != system.value()->chip) {
    return Bad("rent", Excerpt(s.rent),
               std::string("This price rents ") + rent.value()->chip + " chips, and " +
                   system.value()->label + " has " + system.value()->chip + ".",
               "Use a price of the system's own chip.");
  }
  Result<const cost::TokenPrice*> list = cost::FindTokenPrice(s.list, "list");
  if (!list.ok()) return list.error();
  Result<const kernels::KernelSet*> kernels = kernels::FindKernelSet(s.kernels, "kernels");
  if (!kernels.ok()) return kernels.error();
  return Ok{};
}

}  // namespace

plan::FormatId DefaultKvFormat(plan::FormatId activations) {
  return numerics::Get(activations).bits == 8 ? activations : plan::FormatId::kBF16;
}

const char* CollectiveChoiceName(plan::CollectiveChoice choice) {
  for (const CollectiveRow& row : kCollectives) {
    if (row.id == choice) return row.name;
  }
  return "auto";
}

const char* ReduceModeName(plan::ReduceMode mode) {
  for (const ReduceRow& row : kReduces) {
    if (row.id == mode) return row.name;
  }
  return "order-free";
}

Json ToJson(const Scenario& s) {
  Json json = {{"v", kScenarioVersion}, {"model", s.model}, {"system", s.system}};
  if (!s.own_plan) {
    json["plan"] = {{"tp", s.tp}, {"pp", s.pp}, {"dp", s.dp}, {"lnc", s.lnc}};
  } else if (s.dp != 1 || s.lnc != 2) {
    json["plan"] = {{"dp", s.dp}, {"lnc", s.lnc}};
  }
  json["formats"] = {{"weights", numerics::Get(s.formats.weights).name},
                     {"activations", numerics::Get(s.formats.activations).name},
                     {"kv", numerics::Get(s.formats.kv).name}};
  if (s.timing) {
    json["timing"] = {{"shape", s.timing->shape}, {"tp", s.timing->tp},
                      {"pp", s.timing->pp},       {"dp", s.timing->dp},
                      {"lnc", s.timing->lnc},     {"batch", s.timing->batch}};
  }
  json["collective"] = CollectiveChoiceName(s.collective);
  json["reduce"] = ReduceModeName(s.reduce);
  json["prompt"] = s.prompt;
  json["chat"] = s.chat;
  json["system_prompt"] = s.system_prompt;
  json["stop"] = s.stop;
  json["max_tokens"] = s.max_tokens;
  json["temperature"] = ShortDecimal(s.sampler.temperature);
  json["top_p"] = ShortDecimal(s.sampler.top_p);
  json["top_k"] = s.sampler.top_k;
  json["seed"] = s.sampler.seed;
  json["prefill_chunk"] = s.prefill_chunk;
  json["rent"] = s.rent;
  json["list"] = s.list;
  json["kernels"] = s.kernels;
  return json;
}

Result<Scenario> ScenarioFromJson(const Json& json) {
  Scenario s;
  Reader in(json, "", "scenario");
  int version = kScenarioVersion;
  if (in.Int("v", &version) && version != kScenarioVersion) {
    in.Refuse("v", version, "This version of a scenario is not known here.",
              "Use version " + std::to_string(kScenarioVersion) + ", or a newer Novascope.");
  }
  in.String("model", &s.model);
  in.String("system", &s.system);
  using Part = Status (*)(const Json&, Scenario*);
  for (const auto& [key, read] : {std::pair<const char*, Part>{"plan", ReadPlan},
                                  {"formats", ReadFormats},
                                  {"timing", ReadTiming}}) {
    const Json* part = in.Find(key);
    if (part == nullptr || part->is_null()) continue;
    if (Status status = read(*part, &s); !status.ok()) in.Fail(status.error());
  }
  ReadChoice(&in, "collective", kCollectives, &s.collective);
  ReadChoice(&in, "reduce", kReduces, &s.reduce);
  in.String("prompt", &s.prompt);
  in.Bool("chat", &s.chat);
  in.String("system_prompt", &s.system_prompt);
  ReadStops(&in, &s);
  in.Int("max_tokens", &s.max_tokens);
  in.Float("temperature", &s.sampler.temperature);
  in.Float("top_p", &s.sampler.top_p);
  in.Int("top_k", &s.sampler.top_k);
  in.Seed("seed", &s.sampler.seed);
  in.Int("prefill_chunk", &s.prefill_chunk);
  in.String("rent", &s.rent);
  in.String("list", &s.list);
  in.String("kernels", &s.kernels);
  if (Status status = in.Finish(); !status.ok()) return status.error();
  return s;
}

Status Validate(const Scenario& s, const model::ModelSpec* loaded) {
  using Check = Status (*)(const Scenario&);
  if (Status status = CheckModel(s, loaded); !status.ok()) return status;
  for (Check check : {Check{CheckRows}, Check{CheckDegrees}, Check{CheckWorkload}}) {
    if (Status status = check(s); !status.ok()) return status;
  }
  return CheckFormats(s.formats);
}

}  // namespace novascope::session
