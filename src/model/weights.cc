#include "model/weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"
#include "model/json_text.h"

namespace novascope::model {
namespace {

using numerics::FormatId;

// The project's ordered Json finds keys one by one, which is quadratic in the number of tensors.
using SortedJson = nlohmann::json;

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // safetensors' own limit
constexpr std::string_view kMetadata = "__metadata__";
constexpr std::string_view kScaleSuffix = "_scale";

// Every dtype whose size we know; those without a format are checked for size and then left out.
struct Dtype {
  const char* name;
  uint64_t bytes;
  std::optional<FormatId> format;
};
constexpr Dtype kDtypes[] = {
    {"F32", 4, FormatId::kFP32},     {"F16", 2, FormatId::kFP16},     {"BF16", 2, FormatId::kBF16},
    {"F8_E4M3", 1, FormatId::kE4M3}, {"F8_E5M2", 1, FormatId::kE5M2}, {"F64", 8, std::nullopt},
    {"I64", 8, std::nullopt},        {"U64", 8, std::nullopt},        {"I32", 4, std::nullopt},
    {"U32", 4, std::nullopt},        {"I16", 2, std::nullopt},        {"U16", 2, std::nullopt},
    {"I8", 1, std::nullopt},         {"U8", 1, std::nullopt},         {"BOOL", 1, std::nullopt},
};

// One tensor of the header, checked against the file's size.
struct Entry {
  std::string name;
  const Dtype* dtype = nullptr;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;  // within the data that follows the header
};

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

Error BadFile(std::string_view file, std::string value, std::string message, std::string fix) {
  return {ErrorCode::kBadFile, std::string(file), std::move(value), std::move(message),
          std::move(fix)};
}

Error BadTensor(std::string_view file, std::string_view tensor, std::string value,
                std::string message, std::string fix) {
  return BadFile(std::string(file) + ": tensor '" + Excerpt(tensor) + "'", std::move(value),
                 std::move(message), std::move(fix));
}

constexpr const char* kFetchAgain = "Fetch the file again or export it anew.";

int64_t RowCount(const Tensor& tensor) { return tensor.shape.empty() ? 1 : tensor.shape[0]; }

// ---- header ----------------------------------------------------------------------------------

// Parses the header's JSON and refuses keys that occur twice, which a JSON object would merge.
Result<SortedJson> ParseHeader(std::string_view text, std::string_view file) {
  std::array<std::set<std::string>, 3> seen;  // by depth: [1] tensor names, [2] keys of one tensor
  std::string twice;
  const auto watch = [&](int depth, SortedJson::parse_event_t event, SortedJson& parsed) {
    const size_t level = static_cast<size_t>(depth);
    if (event == SortedJson::parse_event_t::object_start && level + 1 < seen.size()) {
      seen[level + 1].clear();
    }
    if (event == SortedJson::parse_event_t::key && level < seen.size()) {
      const auto* key = parsed.get_ptr<const std::string*>();
      if (key != nullptr && !seen[level].insert(*key).second && twice.empty()) twice = *key;
    }
    return true;
  };
  SortedJson header =
      SortedJson::parse(text.begin(), text.end(), watch, /*allow_exceptions=*/false);
  if (header.is_discarded() || !header.is_object()) {
    return BadFile(file, Excerpt(text), "The header is not a JSON object.", kFetchAgain);
  }
  if (!twice.empty()) {
    return BadFile(file, Excerpt(twice), "The header has this name twice.",
                   "Export the file anew; every tensor needs a name of its own.");
  }
  return header;
}

Status ReadShape(const SortedJson& json, std::string_view file, Entry* entry) {
  const auto* list = json.get_ptr<const SortedJson::array_t*>();
  if (list == nullptr) {
    return BadTensor(file, entry->name, Shown(json), "The shape is not a list.", kFetchAgain);
  }
  uint64_t elements = 1;
  for (const SortedJson& item : *list) {
    const auto* size = item.get_ptr<const SortedJson::number_unsigned_t*>();
    if (size == nullptr || *size == 0 || *size > (uint64_t{1} << 62)) {
      return BadTensor(file, entry->name, Shown(json),
                       "The shape has something other than positive whole numbers.", kFetchAgain);
    }
    if (*size > (uint64_t{1} << 62) / elements / entry->dtype->bytes) {
      return BadTensor(file, entry->name, Shown(json), "The shape has more bytes than any file.",
                       kFetchAgain);
    }
    elements *= *size;
    entry->shape.push_back(static_cast<int64_t>(*size));
  }
  if (elements * entry->dtype->bytes != entry->end - entry->begin) {
    return BadTensor(file, entry->name, Shown(json),
                     std::string("The shape needs ") +
                         std::to_string(elements * entry->dtype->bytes) + " bytes as " +
                         entry->dtype->name + ", but the file gives it " +
                         std::to_string(entry->end - entry->begin) + ".",
                     kFetchAgain);
  }
  return Ok{};
}

Result<Entry> ReadEntry(const std::string& name, const SortedJson& json, uint64_t data_bytes,
                        std::string_view file) {
  Entry entry;
  entry.name = name;
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    if (!json.is_object() || !json.contains(key)) {
      return BadTensor(file, name, Shown(json), std::string("It has no ") + key + ".", kFetchAgain);
    }
  }
  const SortedJson &dtype = json["dtype"], &offsets = json["data_offsets"];
  const auto* dtype_name = dtype.get_ptr<const std::string*>();
  for (const Dtype& row : kDtypes) {
    if (dtype_name != nullptr && *dtype_name == row.name) entry.dtype = &row;
  }
  if (entry.dtype == nullptr) {
    return BadTensor(file, name, Shown(dtype), "This dtype is not supported.",
                     "Save the tensor as F32, F16, BF16, F8_E4M3 or F8_E5M2.");
  }
  const auto* pair = offsets.get_ptr<const SortedJson::array_t*>();
  const SortedJson::number_unsigned_t* ends[2] = {nullptr, nullptr};
  for (size_t i = 0; pair != nullptr && pair->size() == 2 && i < 2; ++i) {
    ends[i] = (*pair)[i].get_ptr<const SortedJson::number_unsigned_t*>();
  }
  if (ends[0] == nullptr || ends[1] == nullptr || *ends[0] > *ends[1]) {
    return BadTensor(file, name, Shown(offsets), "data_offsets is not a pair [begin, end].",
                     kFetchAgain);
  }
  if (*ends[1] > data_bytes) {
    return BadTensor(file, name, Shown(offsets),
                     "The tensor ends after the file, which has " + std::to_string(data_bytes) +
                         " bytes of data: it is truncated.",
                     kFetchAgain);
  }
  entry.begin = *ends[0];
  entry.end = *ends[1];
  if (Status status = ReadShape(json["shape"], file, &entry); !status.ok()) return status.error();
  return entry;
}

// The tensors lie one after another: none overlaps another and no byte is left over.
Status CheckLayout(const std::vector<Entry>& entries, uint64_t data_bytes, std::string_view file) {
  uint64_t at = 0;
  for (const Entry& entry : entries) {
    const std::string range = std::to_string(entry.begin) + " to " + std::to_string(entry.end);
    if (entry.begin < at) {
      return BadTensor(file, entry.name, range, "It overlaps the tensor before it.", kFetchAgain);
    }
    if (entry.begin > at) {
      return BadTensor(file, entry.name, range,
                       "There is a gap before it, from byte " + std::to_string(at) + ".",
                       kFetchAgain);
    }
    at = entry.end;
  }
  if (at != data_bytes) {
    return BadFile(file, std::to_string(data_bytes) + " bytes of data",
                   "The tensors end at byte " + std::to_string(at) + " of them.", kFetchAgain);
  }
  return Ok{};
}

// All entries, in the order of their data. `data_at` is where the data begin.
Result<std::vector<Entry>> ReadHeader(std::span<const uint8_t> bytes, std::string_view file,
                                      uint64_t* data_at) {
  uint64_t length = 0;
  if (bytes.size() < 8) {
    return BadFile(file, std::to_string(bytes.size()) + " bytes",
                   "The file is too short for a safetensors header.", kFetchAgain);
  }
  for (size_t i = 8; i-- > 0;) length = length << 8 | bytes[i];
  if (length > kMaxHeaderBytes || length > bytes.size() - 8) {
    return BadFile(file, std::to_string(length),
                   "The header's length does not fit in the file, which has " +
                       std::to_string(bytes.size()) + " bytes: it is truncated or no safetensors.",
                   kFetchAgain);
  }
  *data_at = 8 + length;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 8,
                              static_cast<size_t>(length));
  Result<SortedJson> header = ParseHeader(text, file);
  if (!header.ok()) return header.error();
  std::vector<Entry> entries;
  for (const auto& [name, json] : header.value().get_ref<const SortedJson::object_t&>()) {
    if (name == kMetadata) continue;
    Result<Entry> entry = ReadEntry(name, json, bytes.size() - *data_at, file);
    if (!entry.ok()) return entry.error();
    entries.push_back(std::move(entry.value()));
  }
  if (entries.empty()) {
    return BadFile(file, "", "The file has no tensors.", "Give the file with the model's weights.");
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  Status layout = CheckLayout(entries, bytes.size() - *data_at, file);
  if (!layout.ok()) return layout.error();
  return entries;
}

// ---- re-basing -------------------------------------------------------------------------------

// 256 to 448 in E4M3FN; infinity and NaN in Trainium2's E4M3.
constexpr bool IsForeign(uint8_t code) { return (code & 0x7f) >= 0x78 && (code & 0x7f) != 0x7f; }

// What each E4M3FN code becomes when its channel's scale is doubled, and which of them are rounded.
struct Halving {
  std::array<uint8_t, 256> code;
  std::array<bool, 256> rounded;
};

Halving MakeHalving() {
  Halving halving{};
  for (uint32_t code = 0; code < 256; ++code) {
    const double half = numerics::Decode(FormatId::kE4M3FN, code) / 2;
    const bool nan = std::isnan(half);
    const uint32_t to =
        nan ? code : numerics::Encode(FormatId::kE4M3, half, numerics::Overflow::kSaturate);
    halving.code[code] = static_cast<uint8_t>(to);
    halving.rounded[code] = !nan && numerics::Decode(FormatId::kE4M3, to) != half;
  }
  return halving;
}

struct RebaseCount {
  int64_t tensors = 0, channels = 0, rounded = 0;
  std::string first;  // tensor
};

}  // namespace

// ---- tensors ---------------------------------------------------------------------------------

// Fills a Weights whose file_ is set.
class SafetensorsReader {
 public:
  SafetensorsReader(Weights* weights, std::string_view file) : weights_(*weights), file_(file) {}

  Status Read() {
    uint64_t data_at = 0;
    Result<std::vector<Entry>> entries = ReadHeader(weights_.file_, file_, &data_at);
    if (!entries.ok()) return entries.error();
    for (const Entry& entry : entries.value()) {
      if (std::string_view(entry.name).ends_with("_scale_inv")) {
        return BadTensor(
            file_, entry.name, ShapeText(entry.shape), "Scales per block are not supported.",
            "Save the weights with one scale per output channel, named <tensor>_scale.");
      }
      AddTensor(entry, data_at);
    }
    if (Status status = AttachScales(); !status.ok()) return status;
    return Rebase();
  }

 private:
  void AddTensor(const Entry& entry, uint64_t data_at) {
    if (!entry.dtype->format) {
      weights_.notes_.push_back(file_ + ": tensor '" + Excerpt(entry.name) + "' was left out: " +
                                entry.dtype->name + " is not a format of weights.");
      return;
    }
    std::span<const uint8_t> bytes = std::span(weights_.file_)
                                         .subspan(static_cast<size_t>(data_at + entry.begin),
                                                  static_cast<size_t>(entry.end - entry.begin));
    if (reinterpret_cast<uintptr_t>(bytes.data()) % entry.dtype->bytes != 0) {
      bytes = weights_.copies_.emplace_back(bytes.begin(), bytes.end());
    }
    weights_.tensors_[entry.name] = {
        .format = *entry.dtype->format, .shape = entry.shape, .bytes = bytes, .scale = {}};
  }

  // Moves every `<name>_scale` from the tensors to the scale of `<name>`, where there is one.
  Status AttachScales() {
    for (auto it = weights_.tensors_.begin(); it != weights_.tensors_.end();) {
      const std::string_view name = it->first;
      const auto base =
          name.ends_with(kScaleSuffix)
              ? weights_.tensors_.find(name.substr(0, name.size() - kScaleSuffix.size()))
              : weights_.tensors_.end();
      if (base == weights_.tensors_.end()) {
        ++it;
        continue;
      }
      if (Status status = AttachScale(name, it->second, &base->second); !status.ok()) return status;
      it = weights_.tensors_.erase(it);
    }
    return Ok{};
  }

  Status AttachScale(std::string_view name, const Tensor& scale, Tensor* tensor) {
    const numerics::Format& format = numerics::Get(scale.format);
    const int64_t rows = RowCount(*tensor);
    const int64_t count = static_cast<int64_t>(scale.bytes.size()) / format.bytes();
    const bool one = count == 1;
    if (format.bits < 16 || (!one && (scale.shape[0] != rows || count != rows))) {
      return BadTensor(file_, name, ShapeText(scale.shape) + " " + format.name,
                       "It does not fit its tensor of shape " + ShapeText(tensor->shape) + ".",
                       "Save one F32 number per output channel, " + ShapeText({rows}) + ".");
    }
    std::vector<float> values(static_cast<size_t>(rows));
    for (int64_t i = 0; i < rows; ++i) {
      uint32_t code = 0;  // little-endian, as the file is
      for (int b = format.bytes(); b-- > 0;) {
        code = code << 8 | scale.bytes[static_cast<size_t>((one ? 0 : i) * format.bytes() + b)];
      }
      const float value = static_cast<float>(numerics::Decode(scale.format, code));
      if (!std::isfinite(value) || value < 0) {
        return BadTensor(file_, name, "channel " + std::to_string(i),
                         "The scale is negative, infinite or not a number.",
                         "Scales must be finite and at least 0; export the weights anew.");
      }
      values[static_cast<size_t>(i)] = value;
    }
    tensor->scale = weights_.scales_.emplace_back(std::move(values));
    return Ok{};
  }

  Status Rebase() {
    const Halving halving = MakeHalving();
    RebaseCount count;
    for (auto& [name, tensor] : weights_.tensors_) {
      if (tensor.format != FormatId::kE4M3) continue;
      if (std::none_of(tensor.bytes.begin(), tensor.bytes.end(), IsForeign)) continue;
      if (Status status = RebaseTensor(halving, name, &tensor, &count); !status.ok()) return status;
    }
    if (count.tensors == 0) return Ok{};
    weights_.notes_.push_back(
        file_ + ": re-based " + std::to_string(count.channels) + " output channels in " +
        std::to_string(count.tensors) + " F8_E4M3 tensors (first '" + Excerpt(count.first) +
        "'): their codes 0x78 to 0x7E are 256 to 448 in E4M3FN, but infinity or NaN in Trainium2's "
        "E4M3, so codes were halved and scales doubled; " +
        std::to_string(count.rounded) + " small codes were rounded.");
    return Ok{};
  }

  Status RebaseTensor(const Halving& halving, const std::string& name, Tensor* tensor,
                      RebaseCount* count) {
    const int64_t rows = RowCount(*tensor);
    const size_t width = tensor->bytes.size() / static_cast<size_t>(rows);
    std::vector<uint8_t> codes(tensor->bytes.begin(), tensor->bytes.end());
    std::vector<float> scale(tensor->scale.begin(), tensor->scale.end());
    if (scale.empty()) scale.assign(static_cast<size_t>(rows), 1.0f);
    for (size_t row = 0; row < scale.size(); ++row) {
      const std::span<uint8_t> channel = std::span(codes).subspan(row * width, width);
      if (std::none_of(channel.begin(), channel.end(), IsForeign)) continue;
      scale[row] *= 2;
      if (!std::isfinite(scale[row])) {
        return BadTensor(file_, name, "channel " + std::to_string(row),
                         "The scale is too large to be doubled for Trainium2's E4M3.",
                         "Export the weights with magnitudes of codes up to 240.");
      }
      ++count->channels;
      for (uint8_t& code : channel) {
        count->rounded += halving.rounded[code];
        code = halving.code[code];
      }
    }
    if (count->tensors++ == 0) count->first = name;
    tensor->bytes = weights_.copies_.emplace_back(std::move(codes));
    tensor->scale = weights_.scales_.emplace_back(std::move(scale));
    return Ok{};
  }

  Weights& weights_;
  std::string file_;
};

Result<Weights> Weights::FromSafetensors(std::vector<uint8_t> bytes, std::string_view file) {
  Weights weights;
  weights.file_ = std::move(bytes);
  Status status = SafetensorsReader(&weights, file).Read();
  if (!status.ok()) return status.error();
  return weights;
}

const Tensor* Weights::Find(std::string_view name) const {
  const auto it = tensors_.find(name);
  return it == tensors_.end() ? nullptr : &it->second;
}

void Weights::DequantizeRow(const Tensor& tensor, int64_t row, float* out) {
  const numerics::Format& format = numerics::Get(tensor.format);
  const bool vector = tensor.shape.size() < 2;
  const int64_t rows = vector ? 1 : tensor.shape[0];
  const size_t bytes = static_cast<size_t>(format.bytes());
  const size_t width = tensor.bytes.size() / bytes / static_cast<size_t>(rows);
  const uint8_t* in = tensor.bytes.data() + static_cast<size_t>(row) * width * bytes;
  for (size_t i = 0; i < width; ++i, in += bytes) {
    uint32_t code = 0;
    for (size_t b = bytes; b-- > 0;) code = code << 8 | in[b];
    const float value = static_cast<float>(numerics::Decode(tensor.format, code));
    if (tensor.scale.empty()) {
      out[i] = value;
    } else {
      out[i] = value * tensor.scale[vector ? i : static_cast<size_t>(row)];
    }
  }
}

// ---- CheckWeights ----------------------------------------------------------------------------

namespace {

struct Need {
  std::string name;
  std::vector<int64_t> shape;
};

std::vector<Need> NeededTensors(const ModelSpec& spec) {
  const int64_t hidden = spec.hidden, q = spec.q_width(), kv = spec.kv_width(), ffn = spec.ffn;
  std::vector<Need> needs = {{"model.embed_tokens.weight", {spec.vocab, hidden}}};
  const Need layer[] = {
      {"input_layernorm.weight", {hidden}},      {"self_attn.q_proj.weight", {q, hidden}},
      {"self_attn.k_proj.weight", {kv, hidden}}, {"self_attn.v_proj.weight", {kv, hidden}},
      {"self_attn.o_proj.weight", {hidden, q}},  {"post_attention_layernorm.weight", {hidden}},
      {"mlp.gate_proj.weight", {ffn, hidden}},   {"mlp.up_proj.weight", {ffn, hidden}},
      {"mlp.down_proj.weight", {hidden, ffn}},
  };
  for (int i = 0; i < spec.layers; ++i) {
    const std::string prefix = "model.layers." + std::to_string(i) + ".";
    for (const Need& need : layer) needs.push_back({prefix + need.name, need.shape});
  }
  needs.push_back({"model.norm.weight", {hidden}});
  if (!spec.tied_embeddings) needs.push_back({"lm_head.weight", {spec.vocab, hidden}});
  return needs;
}

// Tensors of Llama files that this engine has no use for and whose absence changes nothing: RoPE
// tables it computes itself, static activation scales where it scales per token, and a head that is
// tied.
bool MayIgnore(const ModelSpec& spec, std::string_view name) {
  return name.ends_with("rotary_emb.inv_freq") || name.ends_with(".input_scale") ||
         name.ends_with(".k_scale") || name.ends_with(".v_scale") ||
         (spec.tied_embeddings && name == "lm_head.weight");
}

Status CheckNeed(const Need& need, const Weights& weights, std::string_view file) {
  const Tensor* tensor = weights.Find(need.name);
  if (tensor == nullptr) {
    return BadTensor(file, need.name, "", "It is missing.",
                     "Give a complete file whose tensors have Hugging Face's Llama names.");
  }
  if (tensor->shape != need.shape) {
    return BadTensor(
        file, need.name, ShapeText(tensor->shape), "The shape does not fit the model.",
        "It must be " + ShapeText(need.shape) + "; check that the config belongs to it.");
  }
  const numerics::Format& format = numerics::Get(tensor->format);
  if (need.shape.size() == 1 && (format.bits < 16 || !tensor->scale.empty())) {
    return BadTensor(file, need.name, format.name, "Norm weights must not be quantised.",
                     "Save it as F32, BF16 or F16, without a scale.");
  }
  return Ok{};
}

}  // namespace

Status CheckWeights(const ModelSpec& spec, const Weights& weights, std::string_view file) {
  std::set<std::string, std::less<>> known;
  for (Need& need : NeededTensors(spec)) {
    if (Status status = CheckNeed(need, weights, file); !status.ok()) return status;
    known.insert(std::move(need.name));
  }
  for (const auto& [name, tensor] : weights.tensors()) {
    if (known.contains(name) || MayIgnore(spec, name)) continue;
    return BadTensor(file, name, ShapeText(tensor.shape),
                     "This model has no such tensor, and leaving it out would change the result.",
                     "Use a model of the Llama family without biases, and the config that belongs "
                     "to it.");
  }
  return Ok{};
}

}  // namespace novascope::model
