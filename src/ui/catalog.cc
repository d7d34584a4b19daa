#include "ui/catalog.h"

#include "ui/json_read.h"

namespace novascope::ui {

namespace {

// A row is an object with id and label, or a bare id.
std::vector<Choice> ReadChoices(const Json& rows, const char* note_key) {
  std::vector<Choice> choices;
  if (!rows.is_array()) return choices;
  for (const Json& row : rows) {
    Choice choice;
    if (row.is_string()) {
      choice.id = choice.label = row.get<std::string>();
    } else {
      choice.id = GetText(row, "id", GetText(row, "name"));
      choice.label = GetText(row, "label", choice.id);
      choice.note = GetText(row, note_key);
    }
    if (!choice.id.empty()) choices.push_back(std::move(choice));
  }
  return choices;
}

std::vector<PriceRow> ReadPrices(const Json& rows) {
  std::vector<PriceRow> prices;
  if (!rows.is_array()) return prices;
  for (const Json& row : rows) {
    PriceRow price;
    price.id = GetText(row, "id");
    price.label = GetText(row, "label", price.id);
    price.kind = GetText(row, "kind", GetText(row, "status"));
    price.source = GetText(row, "source");
    price.date = GetText(row, "date");
    price.input_usd = GetNumber(row, "input_usd_per_mtok");
    price.output_usd = GetNumber(row, "output_usd_per_mtok");
    price.usd_per_hour = GetNumber(row, "usd_per_chip_hour");
    prices.push_back(std::move(price));
  }
  return prices;
}

}  // namespace

Catalog ReadCatalog(const Json& hello) {
  Catalog catalog;
  catalog.ready = true;
  catalog.version = GetText(hello, "version");
  const Json& models = Get(hello, "models");
  const std::vector<Choice> all = ReadChoices(models, "source");
  for (size_t i = 0; i < all.size(); ++i) {
    // Every model is a shape that can be timed; only some come with weights.
    catalog.shapes.push_back(all[i]);
    if (models[i].is_object() && GetBool(models[i], "runnable")) catalog.models.push_back(all[i]);
  }
  catalog.systems = ReadChoices(Get(hello, "systems"), "note");
  catalog.formats = ReadChoices(Get(hello, "formats"), "source");
  catalog.collectives = ReadChoices(Get(hello, "collectives"), "note");
  catalog.reduces = ReadChoices(Get(hello, "reduces"), "note");
  catalog.kernels = ReadChoices(Get(hello, "kernels"), "note");
  catalog.token_prices = ReadPrices(Get(Get(hello, "prices"), "tokens"));
  catalog.hour_prices = ReadPrices(Get(Get(hello, "prices"), "hours"));
  const Json& sources = Get(hello, "sources");
  if (sources.is_array()) {
    for (const Json& row : sources) {
      catalog.sources.push_back({GetText(row, "row"), GetText(row, "name"), GetText(row, "label"),
                                 GetText(row, "source"), GetText(row, "date"), GetText(row, "note"),
                                 GetNumber(row, "value")});
    }
  }
  return catalog;
}

const Choice* FindChoice(const std::vector<Choice>& choices, const std::string& id) {
  for (const Choice& choice : choices) {
    if (choice.id == id) return &choice;
  }
  return nullptr;
}

std::string LabelOf(const std::vector<Choice>& choices, const std::string& id) {
  const Choice* choice = FindChoice(choices, id);
  return choice ? choice->label : id;
}

const PriceRow* FindPrice(const std::vector<PriceRow>& prices, const std::string& id) {
  for (const PriceRow& price : prices) {
    if (price.id == id) return &price;
  }
  return nullptr;
}

const SourceRow* FindSource(const Catalog& catalog, const char* row, const char* name) {
  for (const SourceRow& source : catalog.sources) {
    if (source.row.find(row) != std::string::npos && source.name.find(name) != std::string::npos) {
      return &source;
    }
  }
  return nullptr;
}

}  // namespace novascope::ui
