// The price book. Bedrock list prices: us-east-1, on demand. Prices float and are dated.
#include "base/utf8.h"
#include "cost/cost.h"

namespace novascope::cost {
namespace {

constexpr const char* kPriceList =
    "amazon-nova rate cards from the AWS Price List Bulk API — API Evangelist, GitHub";
constexpr const char* kPriceListDate = "2026-09-01";
constexpr const char* kBlocks =
    "EC2 Capacity Blocks for ML pricing history — koyakimu, GitHub (scrape of the AWS page)";
constexpr const char* kBlocksDate = "2026-10";

constexpr Sourced<int64_t> Nova(int64_t micro_usd) {
  return {micro_usd, Label::kPublished, kPriceList, kPriceListDate,
          "us-east-1, on demand; unchanged since launch in December 2024."};
}
constexpr Sourced<int64_t> Gpt4o(int64_t micro_usd) {
  return {micro_usd, Label::kPublished, "llm-prices — Simon Willison, GitHub", "2026-08",
          "2.50/10.00 since Aug to Oct 2024; the launch article compares with the 5.00/15.00 of "
          "May 2024."};
}

constexpr TokenPrice kTokenPrices[] = {
    {"nova-micro", "Amazon Nova Micro", Nova(35'000), Nova(140'000), "active"},
    {"nova-lite", "Amazon Nova Lite", Nova(60'000), Nova(240'000), "active"},
    {"nova-pro", "Amazon Nova Pro", Nova(800'000), Nova(3'200'000), "active"},
    {"gpt-4o", "GPT-4o", Gpt4o(2'500'000), Gpt4o(10'000'000), "active"},
};

constexpr HourPrice kHourPrices[] = {
    {.id = "trn2-capacity-block",
     .label = "trn2.48xlarge, Capacity Block",
     .chip = "trainium2",
     .kind = "capacity block",
     .e4_usd_per_instance_hour =
         {357'608, Label::kPublished, kBlocks, kBlocksDate,
          "us-east-2, 35.7608 $/h = 2.23505 $ per chip-hour, unchanged since "
          "Jan 2026. Blocks float with demand. Rent is not Amazon's own cost."},
     .chips_per_instance = 16},
    {.id = "trn2-ultraserver-estimate",
     .label = "Trn2 UltraServer, four Capacity Blocks (assumed)",
     .chip = "trainium2",
     .kind = "capacity block",
     .e4_usd_per_instance_hour = {1'430'432, Label::kAssumed,
                                  "4 x the trn2.48xlarge Capacity Block price", kBlocksDate,
                                  "No UltraServer price is public."},
     .chips_per_instance = 64},
    {.id = "trn2-3xlarge-capacity-block",
     .label = "trn2.3xlarge, Capacity Block",
     .chip = "trainium2",
     .kind = "capacity block",
     .e4_usd_per_instance_hour = {22'350, Label::kPublished, kBlocks, kBlocksDate, "One chip."},
     .chips_per_instance = 1},
    {.id = "trn2-spot-implied",
     .label = "trn2.48xlarge, spot (implied)",
     .chip = "trainium2",
     .kind = "spot",
     .e4_usd_per_instance_hour =
         {85'700, Label::kDerived,
          "0.040 $ per million tokens x 3.57M tokens/min, TrnRT README (25 Nov "
          "2026) — RunanywhereAI, GitHub",
          "2026-11", "About 8.57 $/h; trackers show spot samples from 8.60 to 21.50."},
     .chips_per_instance = 16},
};

template <typename Row>
Result<const Row*> Find(std::span<const Row> rows, std::string_view id, std::string_view field) {
  std::string list;
  for (const Row& row : rows) {
    if (id == row.id) return &row;
    list += (list.empty() ? "" : ", ") + std::string(row.id);
  }
  return Error{ErrorCode::kUnknownId, std::string(field), Excerpt(id), "There is no such price.",
               "Use one of " + list + "."};
}

}  // namespace

std::span<const TokenPrice> TokenPrices() { return kTokenPrices; }
std::span<const HourPrice> HourPrices() { return kHourPrices; }

Result<const TokenPrice*> FindTokenPrice(std::string_view id, std::string_view field) {
  return Find(TokenPrices(), id, field);
}
Result<const HourPrice*> FindHourPrice(std::string_view id, std::string_view field) {
  return Find(HourPrices(), id, field);
}

std::vector<hw::SourceRow> PriceSources() {
  std::vector<hw::SourceRow> rows;
  const auto add = [&rows](std::string_view row, std::string_view name, const Sourced<int64_t>& n) {
    rows.push_back({row, name, static_cast<double>(n.value), n.label, n.source, n.date, n.note});
  };
  for (const TokenPrice& row : kTokenPrices) {
    add(row.id, "input_micro_usd_per_mtok", row.input_micro_usd_per_mtok);
    add(row.id, "output_micro_usd_per_mtok", row.output_micro_usd_per_mtok);
  }
  for (const HourPrice& row : kHourPrices) {
    add(row.id, "e4_usd_per_instance_hour", row.e4_usd_per_instance_hour);
  }
  return rows;
}

}  // namespace novascope::cost
