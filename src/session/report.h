// What the session says about a run: the plan event before it, the result after it, and the
// sentences that tell what is really computed, what is modelled and what is assumed.
#pragma once

#include <string>

#include "base/json.h"
#include "base/sourced.h"
#include "plan/plan.h"
#include "session/run.h"
#include "session/setup.h"

namespace novascope::session {

// {"model","label","params","tp","pp","dp","lnc","batch","ranks","chips", ...}
Json PlanToJson(const plan::Plan& plan);
// "TP64 x PP4"; degrees of 1 are left out, but for "TP1".
std::string PlanName(const plan::Plan& plan);

Json PlanEvent(const Setup& setup, const LoadedModel& loaded);
// The document `novascope.generate/1`.
Json ResultJson(const Run& run);

// What the two amounts of money stand for.
std::string UsdNote(const Setup& setup);
// {"value","label","source","date","note"} of a sourced number.
template <typename T>
Json SourcedToJson(const Sourced<T>& number) {
  return {{"value", number.value},
          {"label", LabelName(number.label)},
          {"source", number.source},
          {"date", number.date},
          {"note", number.note}};
}
// Three significant digits without an exponent: "0.0421", "3.14", "128".
std::string Short(double value);

}  // namespace novascope::session
