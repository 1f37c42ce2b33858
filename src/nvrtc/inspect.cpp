// SPDX-License-Identifier: Apache-2.0
// Reading cubins.
#include "src/nvrtc/inspect.hpp"

#include "src/nvrtc/elf64.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <map>

namespace quantjit::nvrtc {
namespace {

constexpr std::uint16_t kMachineCuda = 190;
constexpr unsigned char kEntrySymbol = 0x10;  // flag in a symbol's st_other: a kernel
constexpr unsigned char kOsAbiSmInSecondByte = 0x41;
// From sm_90 on each block that uses static shared memory finds its own behind the system's.
constexpr std::uint64_t kSystemSharedBytes = 1024;
constexpr int kFirstSmWithSystemShared = 90;

// The word of the instruction ACQBULK, which griddepcontrol.wait becomes on sm_90 and every later
// target so far; bits 12 to 15 hold the predicate.
constexpr std::uint64_t kAcquireBulk = 0x82e;
constexpr std::uint64_t kPredicateBits = 0xf000;
constexpr std::uint64_t kInstructionBytes = 16;

// <info>  ::= <item>*
// <item>  ::= format (1 byte), attribute (1 byte), value or size (2 bytes), [size bytes]
enum class Format : std::uint8_t { kNone = 1, kByte = 2, kHalf = 3, kSized = 4 };

enum class Attribute : std::uint8_t {
  kFrameSize = 0x11,
  kMinStackSize = 0x12,
  kParameterBytes = 0x19,
  kRegisterCount = 0x2f,
};

struct InfoItem {
  Format format;
  Attribute attribute;
  std::uint16_t value;
  std::span<const std::byte> payload;
};

[[noreturn]] void fail(const char* what) {
  throw InvalidArgument("code", what, "it must be an undamaged cubin");
}

/// Splits a .nv.info section. Throws if it ends inside an item.
std::vector<InfoItem> info_items(std::span<const std::byte> bytes) {
  std::vector<InfoItem> items;
  std::uint64_t at = 0;
  while (at < bytes.size()) {
    const auto format = read_at<std::uint8_t>(bytes, at);
    const auto attribute = read_at<std::uint8_t>(bytes, at + 1);
    const auto value = read_at<std::uint16_t>(bytes, at + 2);
    if (!format || !attribute || !value) {
      fail("a cubin whose information section is cut off");
    }
    at += 4;
    InfoItem item{static_cast<Format>(*format), static_cast<Attribute>(*attribute), *value, {}};
    if (item.format == Format::kSized) {
      if (*value > bytes.size() - at) {
        fail("a cubin whose information section is cut off");
      }
      item.payload = bytes.subspan(at, *value);
      at += *value;
    }
    items.push_back(item);
  }
  return items;
}

/// Per symbol: registers and local memory, from the section that covers the whole cubin.
struct SymbolNeeds {
  int registers = 0;
  int local_bytes = 0;
};

std::map<std::uint32_t, SymbolNeeds> needs_by_symbol(const Elf64& elf) {
  std::map<std::uint32_t, SymbolNeeds> result;
  const ElfSection* const section = elf.find(".nv.info");
  if (section == nullptr) {
    return result;
  }
  for (const InfoItem& item : info_items(section->bytes)) {
    const auto symbol = read_at<std::uint32_t>(item.payload, 0);
    const auto amount = read_at<std::int32_t>(item.payload, 4);
    if (!symbol || !amount) {
      continue;
    }
    SymbolNeeds& needs = result[*symbol];
    if (item.attribute == Attribute::kRegisterCount) {
      needs.registers = *amount;
    } else if (item.attribute == Attribute::kFrameSize ||
               item.attribute == Attribute::kMinStackSize) {
      // The minimum stack size counts called functions in, the frame does not.
      needs.local_bytes = std::max(needs.local_bytes, *amount);
    }
  }
  return result;
}

int parameter_bytes(const Elf64& elf, const std::string& kernel) {
  const ElfSection* const section = elf.find(".nv.info." + kernel);
  if (section != nullptr) {
    for (const InfoItem& item : info_items(section->bytes)) {
      if (item.format == Format::kHalf && item.attribute == Attribute::kParameterBytes) {
        return item.value;
      }
    }
  }
  return 0;
}

bool waits_for_dependency(std::span<const std::byte> instructions) {
  for (std::uint64_t at = 0; at + kInstructionBytes <= instructions.size();
       at += kInstructionBytes) {
    const auto word = read_at<std::uint64_t>(instructions, at);
    if (word && (*word & ~kPredicateBits) == kAcquireBulk) {
      return true;
    }
  }
  return false;
}

int shared_bytes(const Elf64& elf, const std::string& kernel, int sm) {
  const ElfSection* const section = elf.find(".nv.shared." + kernel);
  if (section == nullptr) {
    return 0;
  }
  const std::uint64_t system = sm >= kFirstSmWithSystemShared ? kSystemSharedBytes : 0;
  return static_cast<int>(section->size > system ? section->size - system : section->size);
}

int target_number(const Elf64_Ehdr& header) {
  const auto flags = header.e_flags;
  return static_cast<int>(header.e_ident[EI_OSABI] == kOsAbiSmInSecondByte ? flags >> 8U & 0xffU
                                                                           : flags & 0xffU);
}

}  // namespace

const EntryPoint* CodeProperties::find(std::string_view name) const {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [name](const EntryPoint& entry) { return entry.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

CodeProperties inspect_cubin(std::span<const std::byte> cubin) {
  const auto elf = Elf64::parse(cubin);
  if (!elf || elf->header().e_machine != kMachineCuda) {
    fail("no cubin, or one that is cut off");
  }
  CodeProperties result;
  result.sm = target_number(elf->header());
  const auto needs = needs_by_symbol(*elf);
  const auto symbols = elf->symbols();
  for (std::uint32_t index = 0; index < symbols.size(); ++index) {
    const Elf64_Sym& symbol = symbols[index];
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || (symbol.st_other & kEntrySymbol) == 0) {
      continue;
    }
    EntryPoint entry;
    entry.name = elf->name_of(symbol);
    const ElfSection* const text = elf->find(".text." + entry.name);
    if (entry.name.empty() || text == nullptr) {
      fail("a cubin with a kernel that has no name or no code");
    }
    if (const auto found = needs.find(index); found != needs.end()) {
      entry.registers = found->second.registers;
      entry.spill_bytes = found->second.local_bytes;
    }
    entry.shared_bytes = shared_bytes(*elf, entry.name, result.sm);
    entry.parameter_bytes = parameter_bytes(*elf, entry.name);
    entry.dependency_wait = waits_for_dependency(text->bytes);
    result.entries.push_back(std::move(entry));
  }
  return result;
}

CodeProperties inspect_code(std::span<const std::byte> code) {
  const bool is_elf = code.size() >= SELFMAG && std::memcmp(code.data(), ELFMAG, SELFMAG) == 0;
  return is_elf ? inspect_cubin(code)
                : inspect_ptx({reinterpret_cast<const char*>(code.data()), code.size()});
}

}  // namespace quantjit::nvrtc
