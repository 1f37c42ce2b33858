// SPDX-License-Identifier: Apache-2.0
#include "src/base/file.hpp"
#include "src/driver/driver_api.hpp"
#include "tools/cli/bench_cases.hpp"
#include "tools/cli/bench_measure.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/device_choice.hpp"
#include "tools/cli/json_writer.hpp"
#include "tools/cli/output_file.hpp"

#include <fmt/format.h>

#include <regex>
#include <span>

// NOLINTNEXTLINE(readability-identifier-naming): symbol of the assembler file that embeds it
extern "C" const char quantjit_bench_recorded[];

namespace quantjit::cli {
namespace {

// Below this a row is bound by launches, above the other by the copy bandwidth: what was recorded
// on another day is scaled by the floor that binds it.
constexpr double kLaunchBoundUs = 2.0;
constexpr std::int64_t kBandwidthBoundBytes = 50'000'000;

struct Row {
  const BenchCase* bench = nullptr;
  Timing timing;
  std::optional<double> scaled_original_us;  ///< the best original, scaled to this machine's floors
};

std::optional<double> scaled_original(const BenchCase& bench, const BenchFile& file,
                                      const Floors& floors) {
  if (!bench.best_original_us) {
    return std::nullopt;
  }
  double scale = 1.0;
  if (*bench.best_original_us < kLaunchBoundUs && file.empty_pdl_us > 0) {
    scale = floors.empty_pdl_us / file.empty_pdl_us;
  } else if (bench.live_bytes() > kBandwidthBoundBytes && file.copy_gb_per_s > 0) {
    scale = file.copy_gb_per_s / floors.copy_gb_per_s;
  }
  return *bench.best_original_us * scale;
}

double gb_per_s(const Row& row) {
  return static_cast<double>(row.bench->live_bytes()) / (row.timing.us_median * 1e3);
}

Value describe(const Row& row, const Floors& floors) {
  const BenchCase& bench = *row.bench;
  Value::Object object{{"case", bench.name},
                       {"traits", to_text(bench.descriptor.traits)},
                       {"tokens", bench.tokens},
                       {"hidden", bench.hidden},
                       {"live_tokens", bench.live_tokens()},
                       {"us_median", row.timing.us_median},
                       {"us_min", row.timing.us_min},
                       {"bytes", bench.live_bytes()},
                       {"gb_per_s", gb_per_s(row)},
                       {"fraction_of_copy", gb_per_s(row) / floors.copy_gb_per_s}};
  if (bench.best_original_us) {
    object.emplace_back("best_original", bench.best_original);
    object.emplace_back("best_original_us", *bench.best_original_us);
    object.emplace_back("scaled_original_us", *row.scaled_original_us);
    object.emplace_back("ratio", row.timing.us_median / *row.scaled_original_us);
  } else {
    object.emplace_back("best_original", nullptr);
    object.emplace_back("ratio", nullptr);
  }
  return object;
}

void print(Console& console, const Row& row, const Floors& floors) {
  const BenchCase& bench = *row.bench;
  const std::string original =
      bench.best_original_us
          ? fmt::format("{:9.3f} {:6.3f}  {}", *row.scaled_original_us,
                        row.timing.us_median / *row.scaled_original_us, bench.best_original)
          : std::string{};
  console.line(fmt::format("{:<36} {:>6} {:>5} {:9.3f} {:8.1f} {:5.1f}% {}", bench.name,
                           bench.tokens, bench.hidden, row.timing.us_median, gb_per_s(row),
                           100.0 * gb_per_s(row) / floors.copy_gb_per_s, original));
}

BenchFile read_cases(const BenchOptions& options) {
  BenchFile file;
  if (options.cases.empty()) {
    file = parse_bench_csv(quantjit_bench_recorded);
  } else {
    const auto text = base::read_file(options.cases);
    if (!text) {
      throw CommandFailure("the cases of the benchmark cannot be read from " + options.cases);
    }
    file = parse_bench_csv(*text);
  }
  if (options.cases.empty() || options.more) {
    for (BenchCase& bench : additional_bench_cases()) {
      file.cases.push_back(std::move(bench));
    }
  }
  const std::regex filter(options.filter);
  std::erase_if(file.cases,
                [&](const BenchCase& bench) { return !std::regex_search(bench.name, filter); });
  return file;
}

}  // namespace

int execute(Context& context, const BenchOptions& options) {
  ServiceOptions service_options = context.service_options();
  const BenchFile file = read_cases(options);
  const OpenDevice device = open_device(parse_device_choice(options.device), service_options);
  KernelService service(std::move(service_options));
  const Floors floors = measure_floors(device);
  Console& console = context.console;
  console.line(fmt::format("{} ({}), driver {}", device.name, device.arch.to_string(),
                           driver::version_text(device.api->version())));
  console.line(
      fmt::format("floors: empty kernel {:.3f} us, with PDL {:.3f} us, 2 GiB copy {:.1f} GB/s",
                  floors.empty_us, floors.empty_pdl_us, floors.copy_gb_per_s));
  console.line(fmt::format("{:<36} {:>6} {:>5} {:>9} {:>8} {:>6} {:>9} {:>6}  {}", "case", "tokens",
                           "hidden", "us", "GB/s", "copy", "original", "ratio", "kernel"));
  Value::Array rows;
  for (const BenchCase& bench : file.cases) {
    const Row row{&bench, measure_case(service, device, bench),
                  scaled_original(bench, file, floors)};
    rows.push_back(describe(row, floors));
    print(console, row, floors);
  }
  const double empty_pdl_at_end = measure_empty_pdl(device);
  console.line(fmt::format("at the end: empty kernel with PDL {:.3f} us", empty_pdl_at_end));
  const Value document =
      Value::Object{{"machine", device.name},
                    {"device", device.label},
                    {"driver", driver::version_text(device.api->version())},
                    {"floors", Value::Object{{"empty_us", floors.empty_us},
                                             {"empty_pdl_us", floors.empty_pdl_us},
                                             {"empty_pdl_us_at_end", empty_pdl_at_end},
                                             {"copy_gb_per_s", floors.copy_gb_per_s},
                                             {"recorded_empty_pdl_us", file.empty_pdl_us},
                                             {"recorded_copy_gb_per_s", file.copy_gb_per_s}}},
                    {"rows", std::move(rows)}};
  console.document(document);
  if (!options.out.empty()) {
    const std::string text = to_json(document) + "\n";
    write_output_file(options.out, std::as_bytes(std::span(text)));
  }
  return 0;
}

}  // namespace quantjit::cli
