// SPDX-License-Identifier: Apache-2.0
// Feeds arbitrary bytes to everything that reads files of the store. Each input is tried as it is,
// and with a right size and checksum put in, so that the parts behind them are reached too.
#include "cache/counter_log.hpp"
#include "cache/entry.hpp"
#include "cache/lease_record.hpp"
#include "src/base/sha256.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <string>

namespace quantjit::fuzz {
namespace {

using namespace cache;

/// Whatever is accepted must be a whole entry that says the same when written again.
void try_entry(std::string_view bytes) {
  const ParsedEntry parsed = parse(bytes);
  require(parsed.entry.has_value() == (parsed.rejection == Rejection::kNone),
          "an entry or a reason");
  static_cast<void>(parse(bytes, "a MAC key of a root"));
  const std::optional<EntryHead> head = parse_head(bytes);
  if (parsed.entry) {
    require(serializable(*parsed.entry), "what is read can be written");
    const ParsedEntry again = parse(serialize(*parsed.entry));
    require(again.entry.has_value() && again.entry->key == parsed.entry->key,
            "what is written is read, with its key");
    require(again.entry->key_text == parsed.entry->key_text, "the key text is kept");
    require(again.entry->metadata == parsed.entry->metadata, "the metadata are kept");
    require(again.entry->code == parsed.entry->code, "the code is kept");
    require(!head || head->key == parsed.entry->key, "the head has the same key");
  }
}

std::string completed(std::string_view bytes) {
  std::string whole(bytes);
  whole.resize(whole.size() < kPreludeBytes ? kPreludeBytes : whole.size());
  whole.replace(0, kMagic.size(), kMagic);
  const auto put = [&](std::size_t at, std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) {
      whole[at + static_cast<std::size_t>(i)] = static_cast<char>((value >> (8 * i)) & 0xFFU);
    }
  };
  put(8, kFormatVersion, 4);
  put(12, 1, 4);
  put(16, whole.size() + kSealBytes, 8);
  for (const std::uint8_t byte : base::sha256(whole)) {
    whole.push_back(static_cast<char>(byte));
  }
  return whole;
}

void try_lease(std::string_view bytes) {
  if (const std::optional<LeaseRecord> record = parse_lease(bytes)) {
    const std::optional<LeaseRecord> again = parse_lease(format_lease(*record));
    require(again.has_value() && again->owner == record->owner && again->token == record->token,
            "a lease says the same when written again");
  }
}

}  // namespace

void fuzz_entry(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try_entry(bytes);
  try_entry(completed(bytes));
  try_lease(bytes);
  CounterValues sum{};
  static_cast<void>(add_counters(bytes, sum));
  if (const std::optional<EntryKey> key = EntryKey::parse(bytes)) {
    require(key->valid(), "a key that is read is valid");
  }
}

}  // namespace quantjit::fuzz

QUANTJIT_FUZZ_MAIN(fuzz_entry)
