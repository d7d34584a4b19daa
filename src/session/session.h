// The only door into the core: versioned commands in, events out, plain bytes, no pointers, in
// time-bounded steps. A message is: uint32 little-endian length of the JSON, the JSON (UTF-8), then an
// optional binary payload.
//
// Commands ({"v":1,"cmd":...}):
//   hello                               -> event hello
//   load    + "config","tokenizer","weights": byte counts, payload = the three files back to back
//                                       -> loaded | error
//   run     + "scenario":{...}, "paused":bool   starts over      -> plan, template*, step*, done | error
//   pause, resume                       -> state
//   step                                runs one model step (a prefill chunk or a token), then pauses
//   cancel                              -> state
//   validate + "scenario"               -> valid | error
// Events ({"ev":...}), in order:
//   hello    {"v","version","kernels":[{id,label}],"models":[...],"systems":[...],"formats":[...],
//             "collectives":[...],"prices":{"tokens":[...],"hours":[...]},"sources":[...]}
//   loaded   {"model":{id,label,params,bytes},"notes":[...]}
//   plan     {"exec":{...plan},"timing":{...plan}|null,"prompt_tokens",
//             "prompt":[{"id","text"}],
//             "machine":{"system","chips","cores_per_chip","stacks_per_chip","stack_bytes",
//                        "links":[[kind,from,to],...]},
//             "hbm":{"categories":[...],"bytes":[[...per category]...per stack],
//                    "kv_bytes_per_position":[per stack],"unique_weight_bytes","replicated_weight_bytes",
//                    "unique_kv_bytes","kv_copies_bytes"},
//             "provenance":{"words":"...","time":"...","memory":"...","prices":"..."}}
//             machine, hbm and times are the timed shape's.
//   template payload = trace::EncodeTemplate; {"index"}
//   step     {"kind":"prefill"|"decode","index","template","start_ps","end_ps","positions",
//             "token":{"id","bytes","text","logprob","top":[{"id","text","logprob"}]}|null,
//             "split_ps":{"compute","hbm","network","wait"},
//             "usd":{"rented","rented_total","list_total"}}
//             the last prefill chunk yields the first token
//   money    {"usd_per_mtok":{"rented","list_output"},"by_batch":[{"batch","usd_per_mtok","tpot_ms"}],
//             "break_even_batch":int|null,"sentence","why":{"sentence","largest","share"}}
//   done     {"result":{...}}            schema novascope.generate/1
//   state    {"state":"empty"|"ready"|"running"|"paused"|"done"}
//   valid    {}
//   error    {"error":{"code","field","value","message","fix"}}
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "session/message.h"

namespace novascope::session {

class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Takes one message; answers come as events.
  void Command(std::span<const uint8_t> message);
  // Does up to `units` units of work (one op over all ranks each, or one simulated step); returns whether
  // more is waiting. Results do not depend on how the work is sliced.
  bool Step(int units);
  // Takes the next event; false where there is none.
  bool Poll(std::vector<uint8_t>* message);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace novascope::session
