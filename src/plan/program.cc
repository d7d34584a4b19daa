#include "plan/program.h"

#include <algorithm>

namespace novascope::plan {
namespace {

constexpr uint64_t kAlign = 64;

uint64_t Align(uint64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

DType ReduceType(ReduceMode mode) {
  switch (mode) {
    case ReduceMode::kOrderFree:
      return DType::kFP64;
    case ReduceMode::kF32InOrder:
      return DType::kFP32;
    case ReduceMode::kBf16:
      return DType::kBF16;
  }
  return DType::kFP64;
}

// Builds one stage's role: declares tensors as they are first needed and appends ops.
class RoleBuilder {
 public:
  RoleBuilder(const Plan& plan, const StepShape& shape, int stage, std::vector<Group>* groups)
      : plan_(plan), model_(plan.model), shape_(shape), groups_(groups) {
    role_.stage = stage;
    role_.first_layer = stage * plan.layers_per_stage();
    m_ = shape.rows * shape.sequences;
    tp_ = plan.options.tp;
    weights_ = ToDType(plan.options.formats.weights);
    activations_ = ToDType(plan.options.formats.activations);
    reduce_ = ReduceType(plan.options.reduce);
    share_ = plan.kv_group;
    q_columns_ = model_.q_width() / tp_;
    kv_columns_ = share_ > 1 ? model_.head_dim / share_ : plan.kv_heads_per_rank * model_.head_dim;
  }

  Role Build() {
    x_ = Sbuf("x", DType::kBF16, m_, model_.hidden);
    role_.stage == 0 ? Embed() : Receive();
    BeginSection();
    Attention();
    FeedForward();
    EndSection(plan_.layers_per_stage());
    role_.stage == plan_.options.pp - 1 ? Head() : Send();
    Layout();
    return std::move(role_);
  }

 private:
  // Addresses. Weights come first, then KV, so that they lie where they lie whatever the step.
  void Layout() {
    const auto place = [](TensorDecl* t, uint64_t* top) {
      t->offset = *top;
      *top += Align(t->bytes) * static_cast<uint64_t>(t->layers);
    };
    for (int pass = 0; pass < 3; ++pass) {
      for (TensorDecl& t : role_.tensors) {
        if (t.space != Space::kHbm) continue;
        const int want = t.category == Category::kWeights ? 0 : t.category == Category::kKv ? 1 : 2;
        if (want == pass) place(&t, &role_.hbm_bytes);
      }
    }
    for (TensorDecl& t : role_.tensors) {
      if (t.space == Space::kSbuf) place(&t, &role_.sbuf_bytes);
    }
  }

  // --- tensors ---
  int16_t Declare(const char* name, Space space, Category category, DType dtype, int64_t rows,
                  int64_t columns, bool per_layer = false) {
    TensorDecl t{.name = name, .space = space, .category = category, .dtype = dtype, .rows = rows,
                 .columns = columns};
    t.bytes = static_cast<uint64_t>(rows * columns) * static_cast<uint64_t>(DTypeBytes(dtype));
    t.layers = per_layer ? plan_.layers_per_stage() : 1;
    t.layer_stride = per_layer ? Align(t.bytes) : 0;
    if (space == Space::kSbuf) sbuf_used_ += Align(t.bytes);
    role_.tensors.push_back(std::move(t));
    return static_cast<int16_t>(role_.tensors.size() - 1);
  }
  // Activations live in SBUF while a step's all fit in half of it (weights stream through the other
  // half), else in HBM scratch.
  int16_t Sbuf(const char* name, DType dtype, int64_t rows, int64_t columns) {
    const uint64_t capacity =
        plan_.chip->sbuf_bytes.value * static_cast<uint64_t>(plan_.options.lnc) / 2;
    const uint64_t bytes =
        static_cast<uint64_t>(rows * columns) * static_cast<uint64_t>(DTypeBytes(dtype));
    const bool fits = sbuf_used_ + Align(bytes) <= capacity;
    return Declare(name, fits ? Space::kSbuf : Space::kHbm, Category::kScratch, dtype, rows, columns);
  }
  int16_t Buffer(const char* name, DType dtype, int64_t elements) {
    return Declare(name, Space::kHbm, Category::kCollectives, dtype, 1, elements);
  }
  int16_t Norm(const char* name, bool per_layer) {
    return Declare(name, Space::kHbm, Category::kWeights, DType::kFP32, 1, model_.hidden, per_layer);
  }
  struct Weight {
    int16_t codes, scale;
  };
  Weight Matrix(const char* name, const char* scale_name, int64_t n, int64_t k, bool per_layer) {
    const int64_t padded = (n + 3) / 4 * 4;  // panels of four outputs
    Weight w{};
    w.codes = Declare(name, Space::kHbm, Category::kWeights, weights_, padded, k, per_layer);
    w.scale = Declare(scale_name, Space::kHbm, Category::kWeights, DType::kFP32, 1, n, per_layer);
    return w;
  }

  // --- ops ---
  Op& Add(OpKind kind, const char* name, bool in_kernel = true) {
    Op op{.kind = kind, .name = name, .kernel = static_cast<int16_t>(in_kernel ? kernel_ : -1), .m = m_};
    role_.ops.push_back(op);
    return role_.ops.back();
  }
  void Kernel() { ++kernel_; }
  void BeginSection() {
    const auto first = static_cast<int32_t>(role_.ops.size());
    if (open_ < first) role_.sections.push_back({open_, first - open_, 1});
    open_ = first;
  }
  void EndSection(int repeat) {
    const auto first = static_cast<int32_t>(role_.ops.size());
    if (open_ < first) role_.sections.push_back({open_, first - open_, repeat});
    open_ = first;
  }
  int16_t FindGroup(int ranks, const char* name) {
    GroupShape shape;
    shape.cores = std::min(ranks, plan_.cores_per_chip);
    shape.chips = ranks / shape.cores;
    shape.width = plan_.system->torus_x;
    for (size_t i = 0; i < groups_->size(); ++i) {
      if ((*groups_)[i].shape == shape && name == std::string_view((*groups_)[i].name)) {
        return static_cast<int16_t>(i);
      }
    }
    groups_->push_back({shape, name});
    return static_cast<int16_t>(groups_->size() - 1);
  }
  // A collective over `buffer`; n elements per row of one rank's part.
  Op& Collective(OpKind kind, const char* name, int16_t buffer, int ranks, int64_t n) {
    Op& op = Add(kind, name, /*in_kernel=*/false);
    op.in[0].tensor = buffer;
    op.n = static_cast<int32_t>(n);
    op.group = FindGroup(ranks, ranks == share_ && ranks < tp_ ? "head" : "tp");
    return op;
  }

  struct Quantised {
    int16_t codes, scales;
  };
  Quantised NormAndQuantise(const char* name, int16_t gamma) {
    if (norm_.codes < 0) {
      norm_.codes = Sbuf("normed", activations_, m_, model_.hidden);
      norm_.scales = Sbuf("normed.scale", DType::kFP32, m_, 1);
    }
    Op& op = Add(OpKind::kRmsNorm, name);
    op.in[0].tensor = x_;
    op.in[1].tensor = gamma;
    op.out[0].tensor = norm_.codes;
    op.out[1].tensor = norm_.scales;
    op.n = model_.hidden;
    return norm_;
  }
  void Matmul(const char* name, Quantised in, Weight w, int16_t out, int64_t n, int64_t k) {
    Op& op = Add(OpKind::kMatmul, name);
    op.in[0].tensor = in.codes;
    op.in[1].tensor = in.scales;
    op.in[2].tensor = w.codes;
    op.out[0].tensor = out;
    op.n = static_cast<int32_t>(n);
    op.k = static_cast<int32_t>(k);
  }
  // Split-K product into the all-reduce buffer, the reduce, and the residual add.
  void ProjectAndReduce(const char* name, const char* reduce_name, const char* add_name, Quantised in,
                        Weight w, int64_t k, int leaf) {
    if (sum_ < 0) {
      const int64_t inbox =
          tp_ > 1 ? InboxElements(OpKind::kAllReduceSum, reduce_, tp_, model_.hidden) : 0;
      sum_ = Buffer("sum", reduce_, int64_t{m_} * model_.hidden + inbox);
    }
    Op& op = Add(OpKind::kMatmulLeaf, name);
    op.in[0].tensor = in.codes;
    op.in[1].tensor = in.scales;
    op.in[2].tensor = w.codes;
    op.out[0].tensor = sum_;
    op.n = model_.hidden;
    op.k = static_cast<int32_t>(k);
    op.leaf = leaf;
    if (tp_ > 1) Collective(OpKind::kAllReduceSum, reduce_name, sum_, tp_, model_.hidden);
    Op& residual = Add(OpKind::kResidual, add_name, /*in_kernel=*/false);
    residual.in[0].tensor = sum_;
    residual.out[0].tensor = x_;
    residual.n = model_.hidden;
  }
  // Elements a schedule wants behind its buffer.
  int64_t InboxElements(OpKind kind, DType dtype, int ranks, int64_t n) const {
    GroupShape shape;
    shape.cores = std::min(ranks, plan_.cores_per_chip);
    shape.chips = ranks / shape.cores;
    shape.width = plan_.system->torus_x;
    const auto elements = static_cast<uint32_t>(int64_t{m_} * n);
    return ChooseAlgorithm(CollectiveOf(kind), plan_.options.collective,
                           shape_.kind == StepKind::kDecode, shape,
                           uint64_t{elements} * static_cast<uint64_t>(DTypeBytes(dtype)))
        .build(shape, elements)
        .inbox_elements;
  }

  // --- blocks ---
  void Embed() {
    Kernel();
    const int64_t columns = model_.hidden / tp_;
    const Weight w = Matrix("embed.weight", "embed.scale", model_.vocab, columns, false);
    const int16_t tokens = Declare("tokens", Space::kHbm, Category::kIo, DType::kI32, m_, 1);
    const int16_t parts = tp_ > 1 ? Buffer("embed.parts", DType::kBF16, int64_t{m_} * model_.hidden) : x_;
    Op& op = Add(OpKind::kEmbed, "embed");
    op.in[0].tensor = tokens;
    op.in[2].tensor = w.codes;
    op.out[0].tensor = parts;
    op.n = static_cast<int32_t>(columns);
    if (tp_ == 1) return;
    op.part = FindGroup(tp_, "tp");
    Collective(OpKind::kAllGather, "embed.gather", parts, tp_, columns);
    Op& unpack = Add(OpKind::kUnpack, "embed.unpack", false);
    unpack.in[0].tensor = parts;
    unpack.out[0].tensor = x_;
    unpack.n = static_cast<int32_t>(columns);
    unpack.group = FindGroup(tp_, "tp");
  }

  void Attention() {
    const int64_t heads = plan_.heads_per_rank();
    const int64_t kv_heads = plan_.kv_heads_per_rank;
    const int64_t d = model_.head_dim;
    const int64_t columns = q_columns_ + 2 * kv_columns_;
    const int64_t pages_all = (plan_.max_positions() + kKvPage - 1) / kKvPage;
    const int64_t pages = (pages_all + share_ - 1) / share_ * plan_.options.batch;
    const DType kv = ToDType(plan_.options.formats.kv);
    const int16_t gamma = Norm("attn.norm", true);
    const Weight w_qkv = Matrix("qkv.weight", "qkv.scale", columns, model_.hidden, true);
    const Weight w_o = Matrix("o.weight", "o.scale", model_.hidden, q_columns_, true);
    const int16_t keys =
        Declare("kv.keys", Space::kHbm, Category::kKv, kv, pages, kv_heads * d * kKvPage, true);
    const int16_t values =
        Declare("kv.values", Space::kHbm, Category::kKv, kv, pages, kv_heads * d * kKvPage, true);
    // Shared heads exchange their parts of q, k and v in the chip, so the buffer is one for collectives.
    const int16_t qkv = share_ > 1 ? Buffer("qkv", DType::kFP32, int64_t{m_} * columns * share_)
                                   : Sbuf("qkv", DType::kFP32, m_, columns);

    Kernel();
    const Quantised normed = NormAndQuantise("attn.norm", gamma);
    Matmul("qkv", normed, w_qkv, qkv, columns, model_.hidden);
    if (share_ > 1) role_.ops.back().part = FindGroup(share_, "head");
    Op& rope = Add(OpKind::kRope, "rope");
    rope.out[0].tensor = qkv;
    rope.n = static_cast<int32_t>(columns);
    if (share_ > 1) rope.part = FindGroup(share_, "head");
    SetHeads(&rope, heads);
    if (share_ > 1) Collective(OpKind::kAllGather, "qkv.exchange", qkv, share_, columns);

    Kernel();
    Op& append = Add(OpKind::kKvAppend, "kv.append");
    append.in[0].tensor = qkv;
    append.out[0].tensor = keys;
    append.out[1].tensor = values;
    append.n = static_cast<int32_t>(columns);
    SetHeads(&append, heads);

    // Scores live in SBUF, one row per query head and position of this rank's share of the pages.
    const int64_t score_columns = (pages_all + share_ - 1) / share_ * kKvPage;
    const int16_t scores = Sbuf("scores", DType::kFP32, m_ * heads, score_columns);
    const int16_t maxima = Buffer("attn.max", DType::kFP32, int64_t{m_} * heads);
    const int16_t partial = Buffer("attn.partial", DType::kFP64, int64_t{m_} * heads * (1 + d));
    Op& score = Add(OpKind::kAttentionScores, "attn.scores");
    score.in[0].tensor = qkv;
    score.in[1].tensor = keys;
    score.out[0].tensor = scores;
    score.out[1].tensor = maxima;
    SetHeads(&score, heads);
    if (share_ > 1) Collective(OpKind::kAllReduceMax, "attn.max", maxima, share_, heads);
    Op& value = Add(OpKind::kAttentionValues, "attn.values");
    value.in[0].tensor = scores;
    value.in[1].tensor = maxima;
    value.in[2].tensor = values;
    value.out[0].tensor = partial;
    SetHeads(&value, heads);
    if (share_ > 1) Collective(OpKind::kAllReduceSum, "attn.merge", partial, share_, heads * (1 + d));

    const int leaf = LeafWidth(model_.q_width(), tp_);
    const Quantised out{Sbuf("attn", activations_, m_, q_columns_),
                        Sbuf("attn.scale", DType::kFP32, m_, q_columns_ / leaf)};
    Op& finish = Add(OpKind::kAttentionFinish, "attn.finish");
    finish.in[0].tensor = partial;
    finish.out[0].tensor = out.codes;
    finish.out[1].tensor = out.scales;
    finish.n = q_columns_;
    finish.leaf = leaf;
    SetHeads(&finish, heads);
    ProjectAndReduce("attn.out", "attn.all-reduce", "attn.residual", out, w_o, q_columns_, leaf);
  }

  void FeedForward() {
    const int64_t columns = model_.ffn / tp_;
    const int leaf = LeafWidth(model_.ffn, tp_);
    const int16_t gamma = Norm("ffn.norm", true);
    const Weight w_up = Matrix("gate_up.weight", "gate_up.scale", 2 * columns, model_.hidden, true);
    const Weight w_down = Matrix("down.weight", "down.scale", model_.hidden, columns, true);
    Kernel();
    const Quantised normed = NormAndQuantise("ffn.norm", gamma);
    const int16_t gate_up = Sbuf("gate_up", DType::kFP32, m_, 2 * columns);
    Matmul("ffn.up", normed, w_up, gate_up, 2 * columns, model_.hidden);
    const Quantised act{Sbuf("act", activations_, m_, columns),
                        Sbuf("act.scale", DType::kFP32, m_, columns / leaf)};
    Op& swiglu = Add(OpKind::kSwiGlu, "swiglu");
    swiglu.in[0].tensor = gate_up;
    swiglu.out[0].tensor = act.codes;
    swiglu.out[1].tensor = act.scales;
    swiglu.n = static_cast<int32_t>(columns);
    swiglu.leaf = leaf;
    ProjectAndReduce("ffn.down", "ffn.all-reduce", "ffn.residual", act, w_down, columns, leaf);
  }

  void Head() {
    Kernel();
    if (shape_.logits) {
      const int64_t n = model_.vocab / tp_;
      const int16_t gamma = Norm("final.norm", false);
      const Weight w = Matrix("head.weight", "head.scale", n, model_.hidden, false);
      m_ = shape_.sequences;  // only the last row of each sequence
      const int16_t logits =
          Declare("logits", Space::kHbm, Category::kIo, DType::kFP32, m_, n * tp_);
      Quantised normed = NormAndQuantise("final.norm", gamma);
      role_.ops.back().in[0].offset = (shape_.rows - 1) * model_.hidden;
      role_.ops.back().in[0].stride = shape_.rows * model_.hidden;
      Matmul("head", normed, w, logits, n, model_.hidden);
      if (tp_ > 1) role_.ops.back().part = FindGroup(tp_, "tp");
      if (tp_ > 1) Collective(OpKind::kGather, "logits.gather", logits, tp_, n);
      Op& sample = Add(OpKind::kSample, "sample", false);
      sample.in[0].tensor = logits;
      sample.n = static_cast<int32_t>(n * tp_);
    } else {
      // The shard still lies in HBM: placement does not depend on the step.
      Norm("final.norm", false);
      Matrix("head.weight", "head.scale", model_.vocab / tp_, model_.hidden, false);
    }
    EndSection(1);
  }

  void Receive() {
    Op& op = Add(OpKind::kRecv, "recv", false);
    op.out[0].tensor = x_;
    op.n = model_.hidden;
  }
  void Send() {
    Op& op = Add(OpKind::kSend, "send", false);
    op.in[0].tensor = x_;
    op.n = model_.hidden;
    EndSection(1);
  }
  void SetHeads(Op* op, int64_t heads) {
    op->heads = static_cast<int32_t>(heads);
    op->head_dim = model_.head_dim;
  }

  const Plan& plan_;
  const model::ModelSpec& model_;
  const StepShape& shape_;
  std::vector<Group>* groups_;
  Role role_;
  int32_t m_ = 1;
  int tp_ = 1, share_ = 1;
  int32_t q_columns_ = 0, kv_columns_ = 0;
  DType weights_, activations_, reduce_;
  int16_t x_ = -1, sum_ = -1;
  Quantised norm_{-1, -1};
  uint64_t sbuf_used_ = 0;
  int16_t kernel_ = -1;
  int32_t open_ = 0;
};

}  // namespace

int DTypeBytes(DType type) {
  switch (type) {
    case DType::kE4M3:
    case DType::kE4M3FN:
    case DType::kE5M2:
    case DType::kE3M4:
      return 1;
    case DType::kBF16:
    case DType::kFP16:
      return 2;
    case DType::kFP32:
    case DType::kI32:
      return 4;
    case DType::kFP64:
      return 8;
  }
  return 0;
}

DType ToDType(FormatId id) { return static_cast<DType>(id); }

const char* OpKindName(OpKind kind) {
  constexpr const char* kNames[] = {
      "embed",        "all_gather",      "unpack",           "rms_norm",    "matmul",
      "rope",         "kv_append",       "attention_scores", "attention_values",
      "attention_finish", "matmul_leaf", "all_reduce_sum",   "all_reduce_max", "residual",
      "swiglu",       "send",            "recv",             "gather",      "sample"};
  return kNames[static_cast<int>(kind)];
}

CollectiveOp CollectiveOf(OpKind kind) {
  switch (kind) {
    case OpKind::kAllGather:
      return CollectiveOp::kAllGather;
    case OpKind::kGather:
      return CollectiveOp::kGather;
    case OpKind::kSend:
    case OpKind::kRecv:
      return CollectiveOp::kSendRecv;
    default:
      return CollectiveOp::kAllReduce;
  }
}

bool IsCollective(OpKind kind) {
  return kind == OpKind::kAllGather || kind == OpKind::kGather || kind == OpKind::kAllReduceSum ||
         kind == OpKind::kAllReduceMax;
}

Schedule BuildSchedule(const Plan& plan, const Program& program, const Op& op, const Role& role) {
  const GroupShape shape = program.groups[static_cast<size_t>(op.group)].shape;
  const bool gathers = op.kind == OpKind::kAllGather || op.kind == OpKind::kGather;
  const auto elements =
      static_cast<uint32_t>(int64_t{op.m} * op.n * (gathers ? shape.ranks() : 1));
  const DType dtype = role.tensors[static_cast<size_t>(op.in[0].tensor)].dtype;
  return ChooseAlgorithm(CollectiveOf(op.kind), plan.options.collective,
                         program.shape.kind == StepKind::kDecode, shape,
                         uint64_t{elements} * static_cast<uint64_t>(DTypeBytes(dtype)))
      .build(shape, elements);
}

int Program::record_count() const {
  size_t count = groups.size();
  for (const Role& role : roles) {
    count += role.ops.size() + role.sections.size() + role.tensors.size();
  }
  return static_cast<int>(count);
}

Program BuildProgram(const Plan& plan, const StepShape& shape) {
  Program program;
  program.shape = shape;
  for (int stage = 0; stage < plan.options.pp; ++stage) {
    program.roles.push_back(RoleBuilder(plan, shape, stage, &program.groups).Build());
  }
  return program;
}

}  // namespace novascope::plan
