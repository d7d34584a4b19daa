#include "model/weights.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "model/safetensors_builder.h"

namespace novascope::model {
namespace {

using numerics::Decode;
using numerics::FormatId;

Result<Weights> Load(std::vector<uint8_t> file) {
  return Weights::FromSafetensors(std::move(file), "m.safetensors");
}

std::vector<float> Row(const Tensor& tensor, int64_t row) {
  const bool vector = tensor.shape.size() < 2;
  std::vector<float> out(static_cast<size_t>(tensor.shape.empty() ? 1 : tensor.shape.back()));
  Weights::DequantizeRow(tensor, vector ? 0 : row, out.data());
  return out;
}

void RequireComplete(const Error& error) {
  CHECK(error.code == ErrorCode::kBadFile);
  CHECK(error.field.find("m.safetensors") == 0);
  CHECK(!error.message.empty());
  CHECK(!error.fix.empty());
  CHECK(error.value.size() <= 80);
}

std::vector<FileTensor> SmallFile() {
  return {{"a", "F32", "[2, 3]", FloatBytes({1, -2, 3, 0.5f, 0, 6})},
          {"b", "BF16", "[2, 2]", {0x80, 0x3f, 0x00, 0xc0, 0x40, 0x40, 0x00, 0x00}},
          {"c", "F8_E4M3", "[2, 4]", {0x38, 0x77, 0xb8, 0x01, 0x40, 0x00, 0x08, 0xf7}},
          {"c_scale", "F32", "[2]", FloatBytes({2, 0.25f})},
          {"d", "F8_E5M2", "[1, 2]", {0x3c, 0x7b}},
          {"e", "F16", "[3]", {0x00, 0x3c, 0x00, 0xc0, 0x01, 0x00}},
          {"steps", "I64", "[1]", {1, 0, 0, 0, 0, 0, 0, 0}}};
}

TEST_CASE("safetensors: every format is read with its values", "[model][weights]") {
  Result<Weights> loaded = Load(BuildFile(SmallFile()));
  REQUIRE(loaded.ok());
  const Weights weights = std::move(loaded.value());  // views survive a move
  CHECK(weights.tensors().size() == 5);
  CHECK(Row(*weights.Find("a"), 1) == std::vector<float>{0.5f, 0, 6});
  CHECK(Row(*weights.Find("b"), 0) == std::vector<float>{1, -2});
  CHECK(Row(*weights.Find("b"), 1) == std::vector<float>{3, 0});
  CHECK(Row(*weights.Find("c"), 0) == std::vector<float>{2, 480, -2, 0x1p-8f});
  CHECK(Row(*weights.Find("c"), 1) == std::vector<float>{0.5f, 0, 0x1p-8f, -60});
  CHECK(Row(*weights.Find("d"), 0) == std::vector<float>{1, 57344});
  CHECK(Row(*weights.Find("e"), 0) == std::vector<float>{1, -2, 0x1p-24f});
  CHECK(weights.Find("c")->format == FormatId::kE4M3);
  CHECK(weights.Find("d")->format == FormatId::kE5M2);
  CHECK(weights.Find("c_scale") == nullptr);
  CHECK(weights.Find("steps") == nullptr);
  REQUIRE(weights.notes().size() == 1);  // the I64 that was left out
  CHECK(weights.notes()[0].find("'steps'") != std::string::npos);
}

TEST_CASE("safetensors: scales come per channel, as a column or as one number",
          "[model][weights]") {
  const std::vector<uint8_t> codes = {0x38, 0x38};  // 1, 1
  const auto with = [&](const char* dtype, const char* shape, std::vector<uint8_t> bytes) {
    return Load(BuildFile(
        {{"w", "F8_E4M3", "[2, 1]", codes}, {"w_scale", dtype, shape, std::move(bytes)}}));
  };
  const auto values = [&](const Result<Weights>& weights) {
    const Tensor& tensor = *weights.value().Find("w");
    return std::vector<float>{Row(tensor, 0)[0], Row(tensor, 1)[0]};
  };
  CHECK(values(with("F32", "[2]", FloatBytes({3, 5}))) == std::vector<float>{3, 5});
  CHECK(values(with("F32", "[2, 1]", FloatBytes({3, 5}))) == std::vector<float>{3, 5});
  CHECK(values(with("F32", "[1]", FloatBytes({7}))) == std::vector<float>{7, 7});
  CHECK(values(with("F32", "[]", FloatBytes({7}))) == std::vector<float>{7, 7});
  CHECK(values(with("BF16", "[2]", {0x40, 0x40, 0x80, 0x3f})) == std::vector<float>{3, 1});

  RequireComplete(with("F32", "[3]", FloatBytes({1, 1, 1})).error());
  RequireComplete(with("F32", "[1, 2]", FloatBytes({1, 1})).error());
  RequireComplete(with("F8_E4M3", "[2]", {0x38, 0x38}).error());
  for (float bad : {-1.0f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    RequireComplete(with("F32", "[2]", FloatBytes({1, bad})).error());
  }
}

TEST_CASE("safetensors: unaligned float data is copied to aligned storage", "[model][weights]") {
  for (size_t skew = 0; skew < 8; ++skew) {
    const Result<Weights> weights = Load(BuildFile(SmallFile(), 8, skew));
    REQUIRE(weights.ok());
    for (const auto& [name, tensor] : weights.value().tensors()) {
      const auto at = reinterpret_cast<uintptr_t>(tensor.bytes.data());
      CHECK(at % static_cast<uintptr_t>(numerics::Get(tensor.format).bytes()) == 0);
    }
    CHECK(Row(*weights.value().Find("a"), 0) == std::vector<float>{1, -2, 3});
    CHECK(Row(*weights.value().Find("b"), 1) == std::vector<float>{3, 0});
    CHECK(Row(*weights.value().Find("e"), 0) == std::vector<float>{1, -2, 0x1p-24f});
  }
}

TEST_CASE("safetensors: every truncation is refused", "[model][weights]") {
  const std::vector<uint8_t> whole = BuildFile(SmallFile());
  for (size_t size = 0; size < whole.size(); ++size) {
    const Result<Weights> weights =
        Load({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    REQUIRE(!weights.ok());
    RequireComplete(weights.error());
  }
  std::vector<uint8_t> longer = whole;
  longer.push_back(0);
  RequireComplete(Load(longer).error());
}

TEST_CASE("safetensors: a flipped bit is refused or leaves every view inside", "[model][weights]") {
  const std::vector<uint8_t> whole = BuildFile(SmallFile());
  int read = 0, refused = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<uint8_t> file = whole;
      file[i] = static_cast<uint8_t>(file[i] ^ (1 << bit));
      const Result<Weights> weights = Load(file);
      if (!weights.ok()) {
        RequireComplete(weights.error());
        ++refused;
        continue;
      }
      ++read;
      for (const auto& [name, tensor] : weights.value().tensors()) {
        int64_t elements = 1;
        for (int64_t size : tensor.shape) elements *= size;
        REQUIRE(elements * numerics::Get(tensor.format).bytes() ==
                static_cast<int64_t>(tensor.bytes.size()));
        std::vector<float> row(tensor.bytes.size());
        Weights::DequantizeRow(tensor, tensor.shape.size() < 2 ? 0 : tensor.shape[0] - 1,
                               row.data());
      }
    }
  }
  CHECK(read > 100);     // data bits, names
  CHECK(refused > 100);  // header bits
}

TEST_CASE("safetensors: a header length that lies is refused", "[model][weights]") {
  const std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  REQUIRE(Load(RawFile(header, {7})).ok());
  for (uint64_t length :
       {uint64_t{0}, uint64_t{1}, uint64_t{header.size() - 1}, uint64_t{header.size() + 1},
        uint64_t{header.size() + 2}, uint64_t{100'000'001}, uint64_t{1} << 32, uint64_t{1} << 63,
        ~uint64_t{0}, ~uint64_t{0} - 7}) {
    const Result<Weights> weights = Load(RawFile(length, header, {7}));
    REQUIRE(!weights.ok());
    RequireComplete(weights.error());
  }
}

TEST_CASE("safetensors: wrong headers are refused with the tensor's name", "[model][weights]") {
  struct Case {
    const char* header;
    size_t data;
    const char* says;  // in field, value or message
  };
  const Case cases[] = {
      {"[]", 0, "not a JSON object"},
      {"{", 0, "not a JSON object"},
      {"{}", 0, "no tensors"},
      {R"({"__metadata__":{}})", 0, "no tensors"},
      {R"({"a":7})", 0, "'a'"},
      {R"({"a":{"dtype":"U8","shape":[1]}})", 1, "no data_offsets"},
      {R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", 1, "no shape"},
      {R"({"a":{"shape":[1],"data_offsets":[0,1]}})", 1, "no dtype"},
      {R"({"a":{"dtype":"F4","shape":[1],"data_offsets":[0,1]}})", 1, "F4"},
      {R"({"a":{"dtype":8,"shape":[1],"data_offsets":[0,1]}})", 1, "not supported"},
      {R"({"a":{"dtype":"U8","shape":1,"data_offsets":[0,1]}})", 1, "not a list"},
      {R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})", 0, "positive whole"},
      {R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1, "positive whole"},
      {R"({"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})", 1, "positive whole"},
      {R"({"a":{"dtype":"U8","shape":["1"],"data_offsets":[0,1]}})", 1, "positive whole"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,1]}})", 1, "needs 2 bytes"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,1]}})", 1, "needs 4 bytes"},
      // 2^32 * 2^32 elements are 0 modulo 2^64, and so are 2^62 of 4 bytes.
      {R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0,
       "more bytes"},
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]}})", 0,
       "more bytes"},
      {R"({"a":{"dtype":"U8","shape":[18446744073709551615,1],"data_offsets":[0,1]}})", 1,
       "positive whole"},
      {R"({"a":{"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,1]}})", 1,
       "positive whole"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}})", 1, "not a pair"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}})", 1, "not a pair"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}})", 1, "not a pair"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[-1,0]}})", 1, "not a pair"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,2]}})", 1, "truncated"},
      {R"({"a":{"dtype":"U8","shape":[1],)"
       R"("data_offsets":[18446744073709551614,18446744073709551615]}})",
       1, "truncated"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
       R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
       3, "'b'"},  // overlaps
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
       R"("b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
       2, "overlaps"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2, "gap"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 2, "end at byte 1"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
       R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
       1, "twice"},
      {R"({"a":{"dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1]}})", 1, "twice"},
      {R"({"a_scale_inv":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4, "per block"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.header);
    const Result<Weights> weights = Load(RawFile(c.header, std::vector<uint8_t>(c.data)));
    REQUIRE(!weights.ok());
    RequireComplete(weights.error());
    CHECK(Describe(weights.error()).find(c.says) != std::string::npos);
  }
}

TEST_CASE("safetensors: tensors may stand in any order in the header", "[model][weights]") {
  const Result<Weights> weights =
      Load(RawFile(R"({"z":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]},)"
                   R"("a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[1,2]}}   )",
                   {0x38, 0x40}));
  REQUIRE(weights.ok());
  CHECK(Row(*weights.value().Find("z"), 0)[0] == 1.0f);
  CHECK(Row(*weights.value().Find("a"), 0)[0] == 2.0f);
}

TEST_CASE("safetensors: a header that nests a million deep is refused", "[model][weights]") {
  const std::string open(1'000'000, '['), close(1'000'000, ']');
  RequireComplete(Load(RawFile(open, {})).error());
  RequireComplete(Load(RawFile("{\"a\":" + open + close + "}", {})).error());
  RequireComplete(Load(RawFile("{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1],\"shape\":" + open +
                                   close + "}}",
                               {0}))
                      .error());
}

// ---- E4M3FN files ----------------------------------------------------------------------------

// One row with all 256 codes, one without a foreign code.
std::vector<FileTensor> ForeignFile(const std::vector<float>& scale) {
  std::vector<uint8_t> codes(512, 0x09);  // 1.125 * 2^-6: halving would round it
  for (size_t i = 0; i < 256; ++i) codes[i] = static_cast<uint8_t>(i);
  std::vector<FileTensor> file = {{"w", "F8_E4M3", "[2, 256]", codes}};
  if (!scale.empty()) file.push_back({"w_scale", "F32", "[2]", FloatBytes(scale)});
  return file;
}

TEST_CASE("weights: E4M3FN codes above 240 are re-based, not reinterpreted", "[model][weights]") {
  const Result<Weights> weights = Load(BuildFile(ForeignFile({0.5f, 3.0f})));
  REQUIRE(weights.ok());
  const Tensor& tensor = *weights.value().Find("w");
  CHECK(tensor.format == FormatId::kE4M3);
  CHECK(std::vector<float>(tensor.scale.begin(), tensor.scale.end()) ==
        std::vector<float>{1.0f, 3.0f});  // only the channel that needs it
  const std::vector<float> row = Row(tensor, 0);
  int rounded = 0;
  for (uint32_t code = 0; code < 256; ++code) {
    CAPTURE(code);
    const double value = Decode(FormatId::kE4M3FN, code) * 0.5;
    const float got = row[code];
    if (std::isnan(value)) {
      CHECK(std::isnan(got));
      CHECK(tensor.bytes[code] == code);
      continue;
    }
    CHECK(std::signbit(got) == std::signbit(value));
    CHECK(std::fabs(Decode(FormatId::kE4M3, tensor.bytes[code])) <= 240);
    if (got != value) {
      ++rounded;
      CHECK(std::fabs(value) < 0x1p-6);                 // 2^-5 before the scale of 0.5
      CHECK(std::fabs(got - value) == 0x1p-10);         // half a step of the subnormals
      CHECK(Decode(FormatId::kE4M3FN, code & 1) != 0);  // an odd last bit
      CHECK((tensor.bytes[code] & 1) == 0);             // to even
    }
  }
  CHECK(rounded == 16);  // odd codes 1 to 15, both signs
  for (float value : Row(tensor, 1)) CHECK(value == 1.125f * 0x1p-6f * 3.0f);

  REQUIRE(weights.value().notes().size() == 1);
  const std::string& note = weights.value().notes()[0];
  CHECK(note.find("1 output channels in 1 F8_E4M3 tensors (first 'w')") != std::string::npos);
  CHECK(note.find("16 small codes were rounded") != std::string::npos);
}

TEST_CASE("weights: re-basing a tensor without a scale gives it one", "[model][weights]") {
  const Result<Weights> weights = Load(BuildFile(ForeignFile({})));
  REQUIRE(weights.ok());
  const Tensor& tensor = *weights.value().Find("w");
  CHECK(std::vector<float>(tensor.scale.begin(), tensor.scale.end()) ==
        std::vector<float>{2.0f, 1.0f});
  CHECK(Row(tensor, 0)[0x7e] == 448.0f);
  CHECK(Row(tensor, 0)[0x78] == 256.0f);
  CHECK(Row(tensor, 0)[0xfe] == -448.0f);
}

TEST_CASE("weights: files within 240 are views of the file, unchanged", "[model][weights]") {
  std::vector<uint8_t> codes;
  for (int code = 0; code < 256; ++code) {
    if ((code & 0x7f) <= 0x77 || (code & 0x7f) == 0x7f) codes.push_back(static_cast<uint8_t>(code));
  }
  const Result<Weights> weights =
      Load(BuildFile({{"w", "F8_E4M3", "[" + std::to_string(codes.size()) + "]", codes}}));
  REQUIRE(weights.ok());
  CHECK(weights.value().notes().empty());
  const Tensor& tensor = *weights.value().Find("w");
  CHECK(std::equal(codes.begin(), codes.end(), tensor.bytes.begin(), tensor.bytes.end()));
  CHECK(tensor.scale.empty());
}

TEST_CASE("weights: a scale that cannot be doubled is refused", "[model][weights]") {
  RequireComplete(Load(BuildFile(ForeignFile({3e38f, 1.0f}))).error());
}

// ---- CheckWeights ----------------------------------------------------------------------------

ModelSpec TinySpec() {
  ModelSpec spec = FindModel("scope-micro", "model").value();
  spec.layers = 2;
  spec.hidden = 8;
  spec.heads = 2;
  spec.kv_heads = 1;
  spec.head_dim = 4;
  spec.ffn = 12;
  spec.vocab = 16;
  return spec;
}

FileTensor Zeros(const std::string& name, int64_t rows, int64_t columns) {
  return {name, "F8_E4M3", "[" + std::to_string(rows) + "," + std::to_string(columns) + "]",
          std::vector<uint8_t>(static_cast<size_t>(rows * columns))};
}

std::vector<FileTensor> TinyFile() {
  const auto norm = [](const std::string& name) {
    return FileTensor{name, "F32", "[8]", FloatBytes(std::vector<float>(8, 1.0f))};
  };
  std::vector<FileTensor> file = {Zeros("model.embed_tokens.weight", 16, 8),
                                  norm("model.norm.weight")};
  for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
    file.push_back(norm(layer + "input_layernorm.weight"));
    file.push_back(Zeros(layer + "self_attn.q_proj.weight", 8, 8));
    file.push_back(Zeros(layer + "self_attn.k_proj.weight", 4, 8));
    file.push_back(Zeros(layer + "self_attn.v_proj.weight", 4, 8));
    file.push_back(Zeros(layer + "self_attn.o_proj.weight", 8, 8));
    file.push_back(norm(layer + "post_attention_layernorm.weight"));
    file.push_back(Zeros(layer + "mlp.gate_proj.weight", 12, 8));
    file.push_back(Zeros(layer + "mlp.up_proj.weight", 12, 8));
    file.push_back(Zeros(layer + "mlp.down_proj.weight", 8, 12));
  }
  return file;
}

Status Check(const ModelSpec& spec, const std::vector<FileTensor>& file) {
  Result<Weights> weights = Load(BuildFile(file));
  REQUIRE(weights.ok());
  return CheckWeights(spec, weights.value(), "m.safetensors");
}

TEST_CASE("CheckWeights: a complete file passes, each missing or wrong tensor is named",
          "[model][weights]") {
  const ModelSpec spec = TinySpec();
  CHECK(Check(spec, TinyFile()).ok());
  for (size_t i = 0; i < TinyFile().size(); ++i) {
    std::vector<FileTensor> file = TinyFile();
    const std::string name = file[i].name;
    CAPTURE(name);
    file.erase(file.begin() + static_cast<std::ptrdiff_t>(i));
    const Status missing = Check(spec, file);
    REQUIRE(!missing.ok());
    RequireComplete(missing.error());
    CHECK(missing.error().field.find("'" + name + "'") != std::string::npos);

    file = TinyFile();
    file[i] = Zeros(name, 3, 5);
    const Status wrong = Check(spec, file);
    REQUIRE(!wrong.ok());
    CHECK(wrong.error().field.find("'" + name + "'") != std::string::npos);
    CHECK(wrong.error().value == "[3, 5]");
  }
}

TEST_CASE("CheckWeights: what the decoder would leave out is refused", "[model][weights]") {
  const ModelSpec spec = TinySpec();
  const auto with = [&](FileTensor extra) {
    std::vector<FileTensor> file = TinyFile();
    file.push_back(std::move(extra));
    return Check(spec, file);
  };
  CHECK(!with({"model.layers.0.self_attn.q_proj.bias", "F32", "[1]", FloatBytes({1})}).ok());
  CHECK(!with(Zeros("model.layers.2.mlp.up_proj.weight", 12, 8)).ok());
  CHECK(with(Zeros("lm_head.weight", 16, 8)).ok());  // tied
  CHECK(with({"model.layers.0.self_attn.rotary_emb.inv_freq", "F32", "[1]", FloatBytes({1})}).ok());

  ModelSpec untied = spec;
  untied.tied_embeddings = false;
  CHECK(!Check(untied, TinyFile()).ok());

  std::vector<FileTensor> file = TinyFile();
  file[1] = {"model.norm.weight", "F8_E4M3", "[8]", std::vector<uint8_t>(8, 0x38)};
  const Status quantised = Check(spec, file);
  REQUIRE(!quantised.ok());
  CHECK(quantised.error().message.find("must not be quantised") != std::string::npos);
}

}  // namespace
}  // namespace novascope::model
