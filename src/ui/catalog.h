// Reads the event hello into the tables that the controls are made of.
#pragma once

#include "ui/state.h"

namespace novascope::ui {

Catalog ReadCatalog(const Json& hello);

// The row with this id; null where there is none.
const Choice* FindChoice(const std::vector<Choice>& choices, const std::string& id);
// Its label, or the id itself.
std::string LabelOf(const std::vector<Choice>& choices, const std::string& id);
// A label without what stands in parentheses behind it, for narrow places.
std::string ShortLabel(const std::string& label);
const ModelRow* FindModel(const Catalog& catalog, const std::string& id);
const PriceRow* FindPrice(const std::vector<PriceRow>& prices, const std::string& id);
// The first source whose row and name hold these words; null where there is none.
const SourceRow* FindSource(const Catalog& catalog, const char* row, const char* name);

}  // namespace novascope::ui
