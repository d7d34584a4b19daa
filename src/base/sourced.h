// A number with its provenance. Every hardware, model and price figure in Novascope is one of these; a
// test fails on one without a source, and the page shows it on hover.
#pragma once

namespace novascope {

enum class Label { kPublished, kMeasured, kDerived, kAssumed };

constexpr const char* LabelName(Label label) {
  constexpr const char* kNames[] = {"published", "measured", "derived", "assumed"};
  return kNames[static_cast<int>(label)];
}

template <typename T>
struct Sourced {
  T value{};
  Label label = Label::kAssumed;
  const char* source = "";  // document title and site, or the arithmetic for a derived value
  const char* date = "";    // ISO date (or month) at which it was read
  const char* note = "";    // disagreements and caveats; may be empty
};

}  // namespace novascope
