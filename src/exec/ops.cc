// The arithmetic of one op on one rank. Tensors are views into the rank's own memory.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "exec/state.h"

namespace novascope::exec {
namespace {

using plan::DType;
using plan::OpKind;

// One op on one rank, with its operands' addresses at hand.
struct Call {
  Engine::State* state;
  const Role& role;
  const Op& op;
  int layer;
  int tp_index;
  RankMemory memory;

  template <typename T>
  T* In(int i) const {
    return reinterpret_cast<T*>(state->At(role, memory, op.in[i], layer));
  }
  template <typename T>
  T* Out(int i) const {
    return reinterpret_cast<T*>(state->At(role, memory, op.out[i], layer)) + part_offset();
  }
  DType in_type(int i) const { return role.tensors[static_cast<size_t>(op.in[i].tensor)].dtype; }
  DType out_type(int i) const { return role.tensors[static_cast<size_t>(op.out[i].tensor)].dtype; }
  FormatId format(DType type) const { return static_cast<FormatId>(type); }
  const kernels::KernelSet& k() const { return *state->kernels; }
  const model::ModelSpec& model() const { return state->plan.model; }
  // Ranks that share a head, and this rank's place among them.
  int share() const { return state->plan.kv_group; }
  int place() const { return tp_index % share(); }
  int64_t part_offset() const {
    if (op.part < 0) return 0;
    const int ranks = state->program->groups[static_cast<size_t>(op.part)].shape.ranks();
    return int64_t{tp_index % ranks} * op.m * op.n;
  }
};

float* Scratch(std::vector<float>* buffer, int64_t n) {
  if (static_cast<int64_t>(buffer->size()) < n) buffer->resize(static_cast<size_t>(n));
  return buffer->data();
}

// The FP32 values of activation codes; FP32 codes are the values.
const float* Decoded(const Call& c, int input, int64_t n) {
  const DType type = c.in_type(input);
  if (type == DType::kFP32) return c.In<const float>(input);
  float* out = Scratch(&c.state->f32_a, n);
  c.k().decode(c.format(type), c.In<const uint8_t>(input), n, out);
  return out;
}

kernels::PackedWeights WeightOf(const Call& c, int n, int k) {
  const Operand scale{.tensor = static_cast<int16_t>(c.op.in[2].tensor + 1)};
  return {.format = c.format(c.in_type(2)), .n = n, .k = k, .codes = c.In<const uint8_t>(2),
          .scale = reinterpret_cast<const float*>(c.state->At(c.role, c.memory, scale, c.layer))};
}

void Quantise(const Call& c, const float* x, int k, int group) {
  c.k().quantize(c.format(c.out_type(0)), x, c.op.m, k, group, c.Out<uint8_t>(0), c.Out<float>(1));
}

void Embed(const Call& c) {
  const auto* tokens = c.In<const int32_t>(0);
  const kernels::PackedWeights w = WeightOf(c, c.model().vocab, c.op.n);
  const int64_t row_bytes = int64_t{c.op.n} * numerics::Get(w.format).bytes();
  auto* out = c.Out<uint16_t>(0);
  float* row = Scratch(&c.state->f32_b, c.op.n);
  for (int t = 0; t < c.op.m; ++t) {
    const uint8_t* codes = w.codes + tokens[t] * row_bytes;
    if (w.format == FormatId::kFP32) {
      std::memcpy(row, codes, static_cast<size_t>(row_bytes));
    } else {
      c.k().decode(w.format, codes, c.op.n, row);
    }
    for (int i = 0; i < c.op.n; ++i) {
      out[int64_t{t} * c.op.n + i] = numerics::ToBf16(row[i] * w.scale[tokens[t]]);
    }
  }
}

void Unpack(const Call& c) {
  const int ranks = c.state->program->groups[static_cast<size_t>(c.op.group)].shape.ranks();
  const auto* in = c.In<const uint16_t>(0);
  auto* out = c.Out<uint16_t>(0);
  const auto bytes = static_cast<size_t>(c.op.n) * 2;
  for (int r = 0; r < ranks; ++r) {
    for (int t = 0; t < c.op.m; ++t) {
      std::memcpy(out + (int64_t{t} * ranks + r) * c.op.n, in + (int64_t{r} * c.op.m + t) * c.op.n,
                  bytes);
    }
  }
}

void RmsNorm(const Call& c) {
  const int h = c.op.n;
  const int64_t stride = c.op.in[0].stride > 0 ? c.op.in[0].stride : h;
  const auto* x = c.In<const uint16_t>(0);
  const auto* gamma = c.In<const float>(1);
  float* y = Scratch(&c.state->f32_b, int64_t{c.op.m} * h);
  if (stride == h) {
    c.k().rms_norm(x, gamma, c.op.m, h, c.model().norm_eps, y);
  } else {
    for (int t = 0; t < c.op.m; ++t) {
      c.k().rms_norm(x + t * stride, gamma, 1, h, c.model().norm_eps, y + int64_t{t} * h);
    }
  }
  Quantise(c, y, h, h);
}

void Matmul(const Call& c) {
  const float* a = Decoded(c, 0, int64_t{c.op.m} * c.op.k);
  c.k().matmul(a, c.In<const float>(1), c.op.m, WeightOf(c, c.op.n, c.op.k), c.Out<float>(0));
}

void MatmulLeaf(const Call& c) {
  const float* a = Decoded(c, 0, int64_t{c.op.m} * c.op.k);
  const kernels::PackedWeights w = WeightOf(c, c.op.n, c.op.k);
  const int64_t elements = int64_t{c.op.m} * c.op.n;
  if (c.out_type(0) == DType::kFP64) {
    c.k().matmul_leaf(a, c.In<const float>(1), c.op.m, c.op.leaf, w, c.Out<double>(0));
    return;
  }
  std::vector<double>& sum = c.state->f64;
  sum.resize(static_cast<size_t>(elements));
  c.k().matmul_leaf(a, c.In<const float>(1), c.op.m, c.op.leaf, w, sum.data());
  auto* out = c.Out<float>(0);
  for (int64_t i = 0; i < elements; ++i) out[i] = static_cast<float>(sum[static_cast<size_t>(i)]);
}

void Residual(const Call& c) {
  const int64_t n = int64_t{c.op.m} * c.op.n;
  if (c.in_type(0) == DType::kFP64) {
    c.k().residual_add(c.In<const double>(0), n, c.Out<uint16_t>(0));
    return;
  }
  std::vector<double>& sum = c.state->f64;
  const auto* in = c.In<const float>(0);
  sum.assign(in, in + n);
  c.k().residual_add(sum.data(), n, c.Out<uint16_t>(0));
}

// Columns of one query head, and of one KV head, in a rank's qkv row.
struct QkvLayout {
  int part_dim;  // columns of a head that this rank computes
  int heads, kv_heads;
  int columns;
  int k_begin() const { return heads * part_dim; }
  int v_begin() const { return (heads + kv_heads) * part_dim; }
};
QkvLayout LayoutOf(const Call& c) {
  QkvLayout l{};
  l.part_dim = c.model().head_dim / c.share();
  l.heads = c.op.heads;
  l.kv_heads = c.share() > 1 ? 1 : c.state->plan.kv_heads_per_rank;
  l.columns = (l.heads + 2 * l.kv_heads) * l.part_dim;
  return l;
}

void Rope(const Call& c) {
  const QkvLayout l = LayoutOf(c);
  const int half = l.part_dim / 2;
  const int full_half = c.model().head_dim / 2;
  auto* qkv = c.Out<float>(0);
  for (int t = 0; t < c.op.m; ++t) {
    const int64_t at = int64_t{c.state->positions + t} * full_half + c.place() * half;
    const float* cosine = &c.state->rope_cos[static_cast<size_t>(at)];
    const float* sine = &c.state->rope_sin[static_cast<size_t>(at)];
    for (int head = 0; head < l.heads + l.kv_heads; ++head) {
      float* low = qkv + int64_t{t} * l.columns + head * l.part_dim;
      float* high = low + half;
      for (int i = 0; i < half; ++i) {
        const float a = low[i], b = high[i];
        low[i] = a * cosine[i] - b * sine[i];
        high[i] = b * cosine[i] + a * sine[i];
      }
    }
  }
}

// Row t's `column`-th head part from all ranks that share the head, put back in the model's order: each
// rank holds a run of rotary pairs, lower halves before upper ones.
void ReadHead(const Call& c, const QkvLayout& l, const float* qkv, int t, int column, float* out) {
  const int half = l.part_dim / 2;
  const int full_half = c.model().head_dim / 2;
  for (int r = 0; r < c.share(); ++r) {
    const float* part = qkv + (int64_t{r} * c.op.m + t) * l.columns + column;
    std::memcpy(out + r * half, part, static_cast<size_t>(half) * 4);
    std::memcpy(out + full_half + r * half, part + half, static_cast<size_t>(half) * 4);
  }
}

void KvAppend(const Call& c) {
  const QkvLayout l = LayoutOf(c);
  const int d = c.model().head_dim;
  const FormatId format = c.format(c.out_type(0));
  const int size = numerics::Get(format).bytes();
  const auto* qkv = c.In<const float>(0);
  const int64_t page_bytes = int64_t{l.kv_heads} * d * plan::kKvPage * size;
  float* head = Scratch(&c.state->f32_b, d);
  std::vector<uint8_t>& codes = c.state->codes;
  codes.resize(static_cast<size_t>(d * size));
  for (int t = 0; t < c.op.m; ++t) {
    const int position = c.state->positions + t;
    const int page = position / plan::kKvPage, slot = position % plan::kKvPage;
    if (page % c.share() != c.place()) continue;
    uint8_t* keys = c.Out<uint8_t>(0) + page / c.share() * page_bytes;
    uint8_t* values = c.Out<uint8_t>(1) + page / c.share() * page_bytes;
    for (int h = 0; h < l.kv_heads; ++h) {
      const int64_t base = int64_t{h} * d * plan::kKvPage;
      ReadHead(c, l, qkv, t, l.k_begin() + h * l.part_dim, head);
      c.k().encode(format, head, d, codes.data());
      for (int i = 0; i < d; ++i) {
        std::memcpy(keys + (base + int64_t{i} * plan::kKvPage + slot) * size, &codes[static_cast<size_t>(i * size)],
                    static_cast<size_t>(size));
      }
      ReadHead(c, l, qkv, t, l.v_begin() + h * l.part_dim, head);
      c.k().encode(format, head, d, codes.data());
      std::memcpy(values + (base + int64_t{slot} * d) * size, codes.data(), codes.size());
    }
  }
}

// Pages of this rank that hold positions up to `position`, and how many positions page `local` has.
int PagesUpTo(const Call& c, int position) {
  const int pages = position / plan::kKvPage + 1;
  return (pages - c.place() + c.share() - 1) / c.share();
}
int ValidIn(const Call& c, int local, int position) {
  const int first = (local * c.share() + c.place()) * plan::kKvPage;
  return std::min(plan::kKvPage, position + 1 - first);
}

// The rank's local KV head that its query head `head` reads.
int LocalKvHead(const Call& c, int head) {
  const int first = c.tp_index / c.share() * c.op.heads;
  return c.state->plan.kv_head(first + head) - c.state->plan.kv_head(first);
}

void AttentionScores(const Call& c) {
  const QkvLayout l = LayoutOf(c);
  const int d = c.model().head_dim;
  const FormatId format = c.format(c.in_type(1));
  const int size = numerics::Get(format).bytes();
  const auto* qkv = c.In<const float>(0);
  const auto* keys = c.In<const uint8_t>(1);
  auto* scores = c.Out<float>(0);
  auto* maxima = c.Out<float>(1);
  const int64_t row = c.role.tensors[static_cast<size_t>(c.op.out[0].tensor)].columns;
  const int64_t head_bytes = int64_t{d} * plan::kKvPage * size;
  const float scale = 1.0f / std::sqrt(static_cast<float>(d));
  float* q = Scratch(&c.state->f32_b, d);
  for (int t = 0; t < c.op.m; ++t) {
    const int position = c.state->positions + t;
    const int pages = PagesUpTo(c, position);
    for (int h = 0; h < c.op.heads; ++h) {
      ReadHead(c, l, qkv, t, h * l.part_dim, q);
      for (int i = 0; i < d; ++i) q[i] = numerics::FromBf16(numerics::ToBf16(q[i]));
      float max = -std::numeric_limits<float>::infinity();
      const int64_t at = int64_t{t} * c.op.heads + h;
      for (int p = 0; p < pages; ++p) {
        const uint8_t* page = keys + (int64_t{p} * l.kv_heads + LocalKvHead(c, h)) * head_bytes;
        const float top = c.k().attention_scores(format, q, page, d, ValidIn(c, p, position), scale,
                                                 scores + at * row + int64_t{p} * plan::kKvPage);
        if (top > max || top != top) max = top;
      }
      maxima[at] = max;
    }
  }
}

void AttentionValues(const Call& c) {
  const int d = c.model().head_dim;
  const int kv_heads = c.share() > 1 ? 1 : c.state->plan.kv_heads_per_rank;
  const FormatId format = c.format(c.in_type(2));
  const int64_t head_bytes = int64_t{d} * plan::kKvPage * numerics::Get(format).bytes();
  const auto* scores = c.In<const float>(0);
  const auto* maxima = c.In<const float>(1);
  const auto* values = c.In<const uint8_t>(2);
  auto* partial = c.Out<double>(0);
  const int64_t row = c.role.tensors[static_cast<size_t>(c.op.in[0].tensor)].columns;
  std::fill_n(partial, int64_t{c.op.m} * c.op.heads * (1 + d), 0.0);
  for (int t = 0; t < c.op.m; ++t) {
    const int position = c.state->positions + t;
    const int pages = PagesUpTo(c, position);
    for (int h = 0; h < c.op.heads; ++h) {
      const int64_t at = int64_t{t} * c.op.heads + h;
      double* sums = partial + at * (1 + d);
      for (int p = 0; p < pages; ++p) {
        const uint8_t* page = values + (int64_t{p} * kv_heads + LocalKvHead(c, h)) * head_bytes;
        c.k().attention_values(format, scores + at * row + int64_t{p} * plan::kKvPage, maxima[at], page,
                               d, ValidIn(c, p, position), &sums[0], &sums[1]);
      }
    }
  }
}

void AttentionFinish(const Call& c) {
  const int d = c.model().head_dim;
  const int columns = c.op.n;
  const int first = c.share() > 1 ? c.place() * columns : 0;  // within the one shared head
  const auto* partial = c.In<const double>(0);
  float* y = Scratch(&c.state->f32_b, int64_t{c.op.m} * columns);
  for (int t = 0; t < c.op.m; ++t) {
    for (int j = 0; j < columns; ++j) {
      const int column = first + j;
      const double* sums = partial + (int64_t{t} * c.op.heads + column / d) * (1 + d);
      y[int64_t{t} * columns + j] = static_cast<float>(sums[1 + column % d] / sums[0]);
    }
  }
  Quantise(c, y, columns, c.op.leaf);
}

void SwiGlu(const Call& c) {
  const int n = c.op.n;
  const auto* gate_up = c.In<const float>(0);
  float* y = Scratch(&c.state->f32_b, int64_t{c.op.m} * n);
  for (int t = 0; t < c.op.m; ++t) {
    const float* row = gate_up + int64_t{t} * 2 * n;
    c.k().swiglu(row, row + n, n, y + int64_t{t} * n);
  }
  Quantise(c, y, n, c.op.leaf);
}

void Sample(const Call& c) {
  if (c.tp_index != 0) return;
  const auto* logits = c.In<const float>(0);
  c.state->logits.assign(logits, logits + c.op.n);
}

}  // namespace

void RunOp(Engine::State* state, const Role& role, const Op& op, int layer, int tp_index) {
  const Call call{state, role, op, layer, tp_index, state->rank(role.stage, tp_index)};
  switch (op.kind) {
    case OpKind::kEmbed:
      return Embed(call);
    case OpKind::kUnpack:
      return Unpack(call);
    case OpKind::kRmsNorm:
      return RmsNorm(call);
    case OpKind::kMatmul:
      return Matmul(call);
    case OpKind::kRope:
      return Rope(call);
    case OpKind::kKvAppend:
      return KvAppend(call);
    case OpKind::kAttentionScores:
      return AttentionScores(call);
    case OpKind::kAttentionValues:
      return AttentionValues(call);
    case OpKind::kAttentionFinish:
      return AttentionFinish(call);
    case OpKind::kMatmulLeaf:
      return MatmulLeaf(call);
    case OpKind::kResidual:
      return Residual(call);
    case OpKind::kSwiGlu:
      return SwiGlu(call);
    case OpKind::kSample:
      return Sample(call);
    case OpKind::kAllGather:
    case OpKind::kAllReduceSum:
    case OpKind::kAllReduceMax:
    case OpKind::kGather:
    case OpKind::kSend:
    case OpKind::kRecv:
      return;  // comm.cc
  }
}

}  // namespace novascope::exec
