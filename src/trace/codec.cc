// Bytes of a template. The reader trusts nothing: counts are held against the bytes left before
// anything is allocated, indices and times against what they point into.
#include <algorithm>
#include <type_traits>

#include "base/hash.h"
#include "trace/trace.h"

namespace novascope::trace {
namespace {

constexpr uint32_t kMagic = 0x5453564e;  // "NVST"
constexpr uint32_t kVersion = 1;
constexpr size_t kHashBytes = 8;

class Writer {
 public:
  template <typename T>
  void Put(T value) {
    const auto bits = static_cast<std::make_unsigned_t<T>>(value);
    for (size_t i = 0; i < sizeof(T); ++i) {
      bytes_.push_back(static_cast<uint8_t>(bits >> (8 * i) & 0xff));
    }
  }
  void PutString(const std::string& text) {
    Put(static_cast<uint32_t>(text.size()));
    bytes_.insert(bytes_.end(), text.begin(), text.end());
  }
  void PutSplit(const Split& split) {
    for (int64_t ps : split.ps) Put(ps);
  }
  template <typename Row, typename Fn>
  void PutRows(const std::vector<Row>& rows, Fn&& put) {
    Put(static_cast<uint32_t>(rows.size()));
    for (const Row& row : rows) put(row);
  }
  std::vector<uint8_t> Finish() {
    Put(HashBytes(bytes_.data(), bytes_.size()));
    return std::move(bytes_);
  }

 private:
  std::vector<uint8_t> bytes_;
};

class Reader {
 public:
  Reader(const uint8_t* data, uint64_t size) : at_(data), left_(size) {}

  bool ok() const { return ok_; }
  uint64_t left() const { return left_; }
  void Require(bool condition) { ok_ = ok_ && condition; }

  template <typename T>
  T Get() {
    if (!ok_ || left_ < sizeof(T)) {
      ok_ = false;
      return T{};
    }
    std::make_unsigned_t<T> bits = 0;
    for (size_t i = 0; i < sizeof(T); ++i) {
      bits = static_cast<std::make_unsigned_t<T>>(
          bits | static_cast<std::make_unsigned_t<T>>(at_[i]) << (8 * i));
    }
    at_ += sizeof(T);
    left_ -= sizeof(T);
    return static_cast<T>(bits);
  }
  std::string GetString() {
    const auto size = Get<uint32_t>();
    if (!ok_ || left_ < size) {
      ok_ = false;
      return {};
    }
    std::string text(reinterpret_cast<const char*>(at_), size);
    at_ += size;
    left_ -= size;
    return text;
  }
  // Each row is at least `row_bytes` long, so that a wild count never allocates.
  template <typename Row, typename Fn>
  void GetRows(std::vector<Row>* rows, uint64_t row_bytes, Fn&& get) {
    const auto count = Get<uint32_t>();
    Require(count <= left_ / row_bytes);
    if (!ok_) return;
    rows->reserve(count);
    for (uint32_t i = 0; i < count && ok_; ++i) rows->push_back(get());
  }
  // Sums to `duration`, without negative parts.
  Split GetSplit(int64_t duration) {
    Split split;
    int64_t left = duration;
    for (int64_t& ps : split.ps) {
      ps = Get<int64_t>();
      Require(ps >= 0 && ps <= left);
      left -= ok_ ? ps : 0;
    }
    Require(left == 0);
    return split;
  }
  void RequireSpan(int64_t start, int64_t duration, int64_t end) {
    Require(start >= 0 && duration >= 0 && start <= end && duration <= end - start);
  }

 private:
  const uint8_t* at_;
  uint64_t left_;
  bool ok_ = true;
};

Error Corrupt(const char* message) {
  return {ErrorCode::kBadFile, "template", "", message,
          "Send the template again; both sides must be of the same version."};
}

void ReadClasses(Reader* in, StepTemplate* t) {
  in->GetRows(&t->classes, 2 + 4 + 8 * kOwners, [&] {
    RankClass c;
    c.stage = in->Get<int16_t>();
    in->GetRows(&c.cores, 4, [&] {
      const auto core = in->Get<int32_t>();
      in->Require(core >= 0 && core < (1 << 16) && (c.cores.empty() || c.cores.back() < core));
      return core;
    });
    c.split = in->GetSplit(t->duration_ps);
    return c;
  });
  in->GetRows(&t->tracks, 3, [&] {
    Track track;
    const auto kind = in->Get<uint8_t>();
    in->Require(kind <= static_cast<uint8_t>(TrackKind::kWait));
    track.kind = static_cast<TrackKind>(kind);
    track.rank_class = in->Get<int16_t>();
    in->Require(track.rank_class >= 0 && static_cast<size_t>(track.rank_class) < t->classes.size());
    return track;
  });
}

void ReadSlices(Reader* in, StepTemplate* t) {
  in->GetRows(&t->slices, 32, [&] {
    Slice slice;
    slice.start_ps = in->Get<int64_t>();
    slice.duration_ps = in->Get<int64_t>();
    slice.name = in->Get<int32_t>();
    slice.track = in->Get<int16_t>();
    slice.layer = in->Get<int16_t>();
    slice.bytes = in->Get<uint64_t>();
    in->RequireSpan(slice.start_ps, slice.duration_ps, t->duration_ps);
    in->Require(slice.name >= 0 && static_cast<size_t>(slice.name) < t->names.size());
    in->Require(slice.track >= 0 && static_cast<size_t>(slice.track) < t->tracks.size());
    in->Require(slice.layer >= -1);
    in->Require(t->slices.empty() || t->slices.back().start_ps <= slice.start_ps);
    return slice;
  });
}

LinkPattern ReadPattern(Reader* in, const StepTemplate& t) {
  LinkPattern pattern;
  in->GetRows(&pattern.slices, 26, [&] {
    LinkSlice slice;
    slice.start_ps = in->Get<int64_t>();
    slice.duration_ps = in->Get<int64_t>();
    slice.bytes = in->Get<uint64_t>();
    slice.link = in->Get<uint16_t>();
    in->RequireSpan(slice.start_ps, slice.duration_ps, t.duration_ps);
    in->Require(slice.link < t.bytes_by_link.size());
    in->Require(pattern.slices.empty() || pattern.slices.back().start_ps <= slice.start_ps);
    if (in->ok()) pattern.span_ps = std::max(pattern.span_ps, slice.start_ps + slice.duration_ps);
    pattern.bytes += slice.bytes;
    return slice;
  });
  in->Require(!pattern.slices.empty());
  return pattern;
}

void ReadLinks(Reader* in, StepTemplate* t) {
  for (uint64_t& bytes : t->link_bytes) bytes = in->Get<uint64_t>();
  in->GetRows(&t->bytes_by_link, 8, [&] { return in->Get<uint64_t>(); });
  LinkTimeline* links = &t->link_slices;
  in->GetRows(&links->patterns, 4, [&] { return ReadPattern(in, *t); });
  in->GetRows(&links->runs, 18, [&] {
    LinkRun run;
    run.start_ps = in->Get<int64_t>();
    run.pattern = in->Get<int32_t>();
    run.name = in->Get<int32_t>();
    run.layer = in->Get<int16_t>();
    in->Require(run.pattern >= 0 && static_cast<size_t>(run.pattern) < links->patterns.size());
    in->Require(run.name >= 0 && static_cast<size_t>(run.name) < t->names.size());
    in->Require(run.layer >= -1);
    in->Require(links->runs.empty() || links->runs.back().start_ps <= run.start_ps);
    if (in->ok()) {
      in->RequireSpan(run.start_ps, links->patterns[static_cast<size_t>(run.pattern)].span_ps,
                      t->duration_ps);
    }
    return run;
  });
}

}  // namespace

std::vector<uint8_t> EncodeTemplate(const StepTemplate& t) {
  Writer out;
  out.Put(kMagic);
  out.Put(kVersion);
  out.Put(t.key);
  out.PutString(t.label);
  out.Put(t.duration_ps);
  out.PutRows(t.names, [&](const std::string& name) { out.PutString(name); });
  out.PutRows(t.classes, [&](const RankClass& c) {
    out.Put(c.stage);
    out.PutRows(c.cores, [&](int32_t core) { out.Put(core); });
    out.PutSplit(c.split);
  });
  out.PutRows(t.tracks, [&](const Track& track) {
    out.Put(static_cast<uint8_t>(track.kind));
    out.Put(track.rank_class);
  });
  out.PutRows(t.slices, [&](const Slice& slice) {
    out.Put(slice.start_ps);
    out.Put(slice.duration_ps);
    out.Put(slice.name);
    out.Put(slice.track);
    out.Put(slice.layer);
    out.Put(slice.bytes);
  });
  out.Put(t.critical_class);
  out.PutSplit(t.critical_split);
  out.Put(t.hbm_bytes);
  for (uint64_t bytes : t.link_bytes) out.Put(bytes);
  out.PutRows(t.bytes_by_link, [&](uint64_t bytes) { out.Put(bytes); });
  out.PutRows(t.link_slices.patterns, [&](const LinkPattern& pattern) {
    out.PutRows(pattern.slices, [&](const LinkSlice& slice) {
      out.Put(slice.start_ps);
      out.Put(slice.duration_ps);
      out.Put(slice.bytes);
      out.Put(slice.link);
    });
  });
  out.PutRows(t.link_slices.runs, [&](const LinkRun& run) {
    out.Put(run.start_ps);
    out.Put(run.pattern);
    out.Put(run.name);
    out.Put(run.layer);
  });
  return out.Finish();
}

Result<StepTemplate> DecodeTemplate(const uint8_t* data, uint64_t size) {
  if (size < kHashBytes + 8) return Corrupt("The step template is truncated.");
  Reader tail(data + (size - kHashBytes), kHashBytes);
  if (tail.Get<uint64_t>() != HashBytes(data, static_cast<size_t>(size - kHashBytes))) {
    return Corrupt("The step template's hash does not match its bytes.");
  }
  Reader in(data, size - kHashBytes);
  if (in.Get<uint32_t>() != kMagic) return Corrupt("These bytes are not a step template.");
  if (in.Get<uint32_t>() != kVersion) return Corrupt("The step template is of another version.");
  StepTemplate t;
  t.key = in.Get<uint64_t>();
  t.label = in.GetString();
  t.duration_ps = in.Get<int64_t>();
  in.Require(t.duration_ps >= 0);
  in.GetRows(&t.names, 4, [&] { return in.GetString(); });
  ReadClasses(&in, &t);
  ReadSlices(&in, &t);
  t.critical_class = in.Get<int32_t>();
  in.Require(t.critical_class >= 0 && static_cast<size_t>(t.critical_class) < t.classes.size());
  t.critical_split = in.GetSplit(t.duration_ps);
  t.hbm_bytes = in.Get<uint64_t>();
  ReadLinks(&in, &t);
  if (!in.ok() || in.left() != 0) return Corrupt("The step template contradicts itself.");
  return t;
}

}  // namespace novascope::trace
