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

std::vector<Choice> ReadNames(const Json& names) {
  std::vector<Choice> choices;
  if (!names.is_array()) return choices;
  for (const Json& name : names) {
    if (name.is_string()) choices.push_back({name.get<std::string>(), name.get<std::string>(), ""});
  }
  return choices;
}

// Prices cross the door as exact integers with their provenance.
double ReadPrice(const Json& row, const char* key, double unit, PriceRow* price) {
  const Json& sourced = Get(row, key);
  if (!sourced.is_object()) return 0;
  price->provenance = GetText(sourced, "label");
  price->source = GetText(sourced, "source");
  price->date = GetText(sourced, "date");
  price->note = GetText(sourced, "note");
  return GetNumber(sourced, "value") * unit;
}

std::vector<PriceRow> ReadPrices(const Json& rows) {
  std::vector<PriceRow> prices;
  if (!rows.is_array()) return prices;
  for (const Json& row : rows) {
    PriceRow price;
    price.id = GetText(row, "id");
    price.label = GetText(row, "label", price.id);
    price.kind = GetText(row, "kind", GetText(row, "status"));
    price.input_usd = ReadPrice(row, "input_micro_usd_per_mtok", 1e-6, &price);
    price.output_usd = ReadPrice(row, "output_micro_usd_per_mtok", 1e-6, &price);
    price.usd_per_hour = ReadPrice(row, "e4_usd_per_chip_hour", 1e-4, &price);
    prices.push_back(std::move(price));
  }
  return prices;
}

ModelRow ReadModel(const Json& json) {
  ModelRow row;
  row.id = GetText(json, "id");
  row.label = GetText(json, "label", row.id);
  row.params = GetNumber(json, "params");
  row.layers = static_cast<int>(GetInt(json, "layers"));
  row.hidden = static_cast<int>(GetInt(json, "hidden"));
  row.heads = static_cast<int>(GetInt(json, "heads"));
  row.kv_heads = static_cast<int>(GetInt(json, "kv_heads"));
  row.context = static_cast<int>(GetInt(json, "context"));
  row.runnable = GetBool(json, "runnable");
  const Json& published = Get(json, "published_params_b");
  row.provenance = GetText(published, "label");
  row.source = GetText(published, "source");
  const Json& range = Get(json, "range_b");
  if (range.is_array() && range.size() == 2) {
    row.range_low_b = ToNumber(range[0]);
    row.range_high_b = ToNumber(range[1]);
  }
  const Json& plans = Get(json, "default_plans");
  if (plans.is_object()) {
    for (const auto& [system, plan] : plans.items()) {
      row.default_plans.push_back({system,
                                   {static_cast<int>(GetInt(plan, "tp", 1)), static_cast<int>(GetInt(plan, "pp", 1)),
                                    static_cast<int>(GetInt(plan, "dp", 1)), static_cast<int>(GetInt(plan, "lnc", 2))}});
    }
  }
  return row;
}

}  // namespace

Catalog ReadCatalog(const Json& hello) {
  Catalog catalog;
  catalog.ready = true;
  catalog.version = GetText(hello, "version");
  const Json& models = Get(hello, "models");
  if (models.is_array()) {
    for (const Json& model : models) {
      const ModelRow row = ReadModel(model);
      const Choice choice{row.id, row.label, row.provenance};
      // Every model is a shape that can be timed; only some come with weights.
      catalog.shapes.push_back(choice);
      if (row.runnable) catalog.models.push_back(choice);
      catalog.rows.push_back(row);
    }
  }
  catalog.systems = ReadChoices(Get(hello, "systems"), "note");
  catalog.formats = ReadChoices(Get(hello, "formats"), "source");
  catalog.collectives = ReadNames(Get(Get(hello, "choices"), "collective"));
  catalog.reduces = ReadNames(Get(Get(hello, "choices"), "reduce"));
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

std::string ShortLabel(const std::string& label) { return label.substr(0, label.find(" (")); }

const ModelRow* FindModel(const Catalog& catalog, const std::string& id) {
  for (const ModelRow& row : catalog.rows) {
    if (row.id == id) return &row;
  }
  return nullptr;
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
