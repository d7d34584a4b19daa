// The only door into the core: versioned commands in, events out, plain bytes, no pointers, in
// time-bounded steps. A message is: uint32 little-endian length of the JSON, the JSON (UTF-8), then
// an optional binary payload.
//
// Commands ({"v":1,"cmd":...}):
//   hello       -> hello
//   load        + "id" (default scope-micro), "config","tokenizer","weights": byte counts;
//               payload: the three files back to back
//               -> loaded, state | error
//   run         + "scenario":{...}, "paused":bool; starts over
//               -> plan, state, (template | step)*, done, state, money | error
//   pause, resume, cancel
//               -> state
//   step        runs one model step (a prefill chunk or a token), then pauses
//   validate    + "scenario" -> valid | error
//
// Events ({"ev":...}):
//   hello       {"v","version","scenario":{defaults},"kernels":[{id,label}],"models":[...],
//               "systems":[...],"formats":[...],"collectives":[...],
//               "choices":{"collective":[],"reduce":[]},
//               "prices":{"tokens":[...],"hours":[...]},"sources":[...]}
//   loaded      {"model":{id,label,params,bytes,context},"notes":[...]}
//   plan        {"exec":{...plan},"timing":{...plan}|null,"prompt_tokens","output_limit","context",
//               "prompt":[{"id","text"}],
//               "machine":{"system","label","chips","instances","torus_x","torus_y",
//                 "cores_per_chip","stacks_per_chip","stack_bytes","links":[[kind,from,to],...]},
//               "hbm":{"categories":[...],"bytes":[[...per category]...per stack],"kv_positions",
//                 "kv_bytes_per_position":[per stack],"unique_weight_bytes",
//                 "replicated_weight_bytes","unique_kv_bytes","kv_copies_bytes"},
//               "provenance":{"words","time","memory","shape","prices"}: one sentence each}
//               Machine, hbm and times are the timed plan's. A plan: {"model","label","params",
//               "params_label","range_b","layers","name","tp","pp","dp","lnc","batch","ranks",
//               "chips","cores_per_chip","kv_group","kv_copies","reduce","collective",
//               "neuron_today","neuron_note"}
//   template    {"index","label","duration_ps"}; payload: trace::EncodeTemplate. Comes before the
//               first step that uses it.
//   step        {"kind":"prefill"|"decode","index","template","start_ps","end_ps",
//               "first" (prompt position, or index of the output token),"rows",
//               "positions" (in the KV cache),
//               "token":{"id","bytes","text","logprob","top":[{"id","text","logprob"}]}|null,
//               "split_ps":{"compute","hbm","network","wait"},
//               "usd":{"rented","rented_total","list_total" (null without a timing shape)}}
//               The last prefill chunk yields the first token. A token's "text" is what it settles:
//               it may be empty (part of a character) or longer than the token; together they are
//               the result's text.
//   done        {"result":{...}}, schema novascope.generate/1
//   money       {"usd_per_mtok":{"rented","list_output"|null},"kv_bucket",
//               "by_batch":[{"batch","usd_per_mtok","tpot_ms"}] (of a decode step),
//               "break_even_batch":int|null,"break_even_sentence","sentence" (why batch 1 is dear),
//               "why":{"sentence","largest","share","batch","try_batch":int|null}|null}
//   state       {"state":"empty"|"ready"|"running"|"paused"|"done"}
//   valid       {}
//   error       {"cmd","error":{"code","field","value","message","fix"}}
//               A refused command changes nothing; a run that fails ends, and the state is ready.
//
// Money: a prefill step serves one sequence per replica, a decode step the whole batch; one
// sequence's rent is its share of the chips the timed plan occupies.
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
  // Does up to `units` units of work (one op over all ranks each, or one simulated step); returns
  // whether more is waiting. Results do not depend on how the work is sliced.
  bool Step(int units);
  // Takes the next event; false where there is none.
  bool Poll(std::vector<uint8_t>* message);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace novascope::session
