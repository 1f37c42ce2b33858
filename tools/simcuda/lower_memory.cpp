// SPDX-License-Identifier: Apache-2.0
#include "atomics.hpp"
#include "lower.hpp"

#include <map>
#include <set>

namespace quantjit::sim {

namespace {

using Names = std::set<std::string_view>;

const Names kLoadHints = {"weak", "ca",  "cg",      "cs",  "lu", "cv",
                          "nc",   "cta", "cluster", "gpu", "sys"};
const Names kStoreHints = {"weak", "wb", "cg", "cs", "wt", "cta", "cluster", "gpu", "sys"};
const Names kStrong = {"volatile", "relaxed", "acquire", "release", "mmio", "acq_rel"};
const Names kCacheHints = {"L1::evict_normal", "L1::evict_unchanged",
                           "L1::evict_first",  "L1::evict_last",
                           "L1::no_allocate",  "L2::evict_normal",
                           "L2::evict_first",  "L2::evict_last",
                           "L2::64B",          "L2::128B",
                           "L2::256B"};

bool read_space(std::string_view part, Space& space) {
  static const std::map<std::string_view, Space> kSpaces = {
      {"global", Space::kGlobal},      {"const", Space::kConst},      {"shared", Space::kShared},
      {"shared::cta", Space::kShared}, {"local", Space::kLocal},      {"param", Space::kParam},
      {"param::entry", Space::kParam}, {"param::func", Space::kParam}};
  const auto it = kSpaces.find(part);
  if (it == kSpaces.end()) {
    return false;
  }
  space = it->second;
  return true;
}

/// Bytes of a memory element type, 0 when it is none.
unsigned element_bytes(std::string_view type) {
  static const std::map<std::string_view, unsigned> kTypes = {
      {"b8", 1},  {"u8", 1},  {"s8", 1},  {"b16", 2},  {"u16", 2}, {"s16", 2},
      {"f16", 2}, {"b32", 4}, {"u32", 4}, {"s32", 4},  {"f32", 4}, {"b64", 8},
      {"u64", 8}, {"s64", 8}, {"f64", 8}, {"b128", 16}};
  const auto it = kTypes.find(type);
  return it == kTypes.end() ? 0 : it->second;
}

char letter_of(unsigned bits) {
  return bits == 16 ? 'h' : (bits == 32 ? 'w' : 'd');
}

}  // namespace

struct Lowering::Access {
  Space space = Space::kGeneric;
  unsigned count = 1;
  unsigned bytes = 0;
  bool is_signed = false;
  bool strong = false;
  bool cache_hint = false;  ///< one more operand, the policy
};

bool Lowering::lower_memory(const ptx::Instruction& instruction, const Parts& parts) {
  if (parts[0] == "ld" || parts[0] == "ldu") {
    lower_load(instruction, parts);
  } else if (parts[0] == "st") {
    lower_store(instruction, parts);
  } else if (parts[0] == "atom" || parts[0] == "red") {
    lower_atomic(instruction, parts);
  } else {
    return false;
  }
  return true;
}

Lowering::Access Lowering::read_access(const ptx::Instruction& instruction,
                                       const Parts& parts) const {
  Access access;
  const Names& hints = parts[0] == "st" ? kStoreHints : kLoadHints;
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
    const std::string_view part = parts[i];
    if (part == "v2" || part == "v4" || part == "v8") {
      access.count = static_cast<unsigned>(part[1] - '0');
    } else if (part == "L2::cache_hint") {
      access.cache_hint = true;
    } else if (kStrong.count(part) != 0) {
      access.strong = true;
    } else if (hints.count(part) == 0 && kCacheHints.count(part) == 0 &&
               !read_space(part, access.space)) {
      fail("unknown instruction");
    }
  }
  access.bytes = element_bytes(parts.back());
  access.is_signed = parts.back()[0] == 's';
  const unsigned total = access.bytes * access.count;
  if (access.bytes == 0 || total > 32 || (total == 32 && text_.target.sm < 100) ||
      instruction.operands.size() != (access.cache_hint ? 3U : 2U)) {
    fail("unknown instruction");
  }
  return access;
}

/// The registers of a scalar or vector operand, all of one width, whose letter is returned.
char Lowering::list_elements(const ptx::Operand& operand, const Access& access, bool written_to,
                             std::vector<std::uint32_t>& elements) {
  const bool vector = operand.kind == ptx::OperandKind::kVector;
  const std::size_t count = vector ? operand.items.size() : 1;
  if (count != access.count) {
    fail("vector of the wrong length");
  }
  char letter = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const ptx::Operand& item = vector ? operand.items[i] : operand;
    const unsigned bits = bits_of(item);
    if (item.kind == ptx::OperandKind::kSink && written_to) {
      elements.push_back(kNone);
      if (access.bytes == 16) {
        elements.push_back(kNone);
      }
      continue;
    }
    if (access.bytes == 16) {
      if (bits != 128) {
        fail("operand that is not a 128-bit register");
      }
      elements.push_back(register_of(item));
      elements.push_back(register_of(item) + 1);
      letter = 'd';
      continue;
    }
    const unsigned narrowest = access.bytes <= 2 ? 16 : access.bytes * 8;
    if (bits == 0 && !written_to) {  // an immediate
      const char own = letter != 0 ? letter : letter_of(narrowest);
      const bool is_float = item.kind == ptx::OperandKind::kFloat;
      elements.push_back(read(item, is_float && own == 'w' ? 'f' : own));
      letter = own;
      continue;
    }
    if (bits == 1 || bits < narrowest || (letter != 0 && letter != letter_of(bits))) {
      fail("register '" + item.name + "' of the wrong width");
    }
    letter = letter_of(bits);
    elements.push_back(register_of(item));
  }
  return letter != 0 ? letter : letter_of(access.bytes <= 2 ? 16 : access.bytes * 8);
}

void Lowering::set_address(Op& op, const ptx::Operand& operand) {
  // `op` is a local copy: reading operands may emit helper ops.
  if (operand.kind != ptx::OperandKind::kAddress) {
    fail("operand that is not an address");
  }
  const ptx::Operand& base = operand.items[0];
  op.immediate = operand.offset;
  if (base.kind == ptx::OperandKind::kRegister) {
    const unsigned bits = bits_of(base);
    if (bits != 32 && bits != 64) {
      fail("address register of the wrong width");
    }
    op.src[0] = register_of(base);
    op.detail = static_cast<std::uint8_t>(op.detail | (bits == 64 ? 1 : 0));
    return;
  }
  op.src[0] = read(base, 'd');
  op.detail = static_cast<std::uint8_t>(op.detail | 1);
  if (base.kind == ptx::OperandKind::kVariable) {
    // Say outright where the variable is, so that no window has to be looked at.
    const Placement placement = placement_of(base);
    const bool fits = op.space == Space::kGeneric || op.space == Space::kParam ||
                      op.space == placement.space ||
                      (op.space == Space::kGlobal && placement.space == Space::kConst);
    if (!fits) {
      fail("variable '" + base.name + "' lies in another space");
    }
    if (op.space == Space::kParam && placement.space == Space::kLocal) {
      op.space = Space::kLocal;
    } else if (op.space == Space::kGeneric && placement.space == Space::kShared) {
      op.space = Space::kShared;
    }
  }
}

Op& Lowering::emit_access(const char* verb, const Access& access, char letter, bool written_to,
                          const std::vector<std::uint32_t>& elements, const ptx::Operand& address) {
  const unsigned bytes = access.bytes == 16 ? 8 : access.bytes;
  const std::string name = verb + std::to_string(bytes * 8) + "." + letter;
  Op draft;
  draft.space = access.space;
  set_address(draft, address);
  Op& op = emit(name);
  op.space = draft.space;
  op.src[0] = draft.src[0];
  op.immediate = draft.immediate;
  op.detail = draft.detail;
  op.width = static_cast<std::uint8_t>(bytes);
  op.strong = access.strong;
  op.list = static_cast<std::uint32_t>(draft_.program.lists.size());
  op.count = static_cast<std::uint8_t>(elements.size());
  draft_.program.lists.insert(draft_.program.lists.end(), elements.begin(), elements.end());
  draft_.list_is_written.back() = written_to;
  return op;
}

void Lowering::lower_load(const ptx::Instruction& instruction, const Parts& parts) {
  const Access access = read_access(instruction, parts);
  std::vector<std::uint32_t> elements;
  const char letter = list_elements(instruction.operands[0], access, true, elements);
  emit_access(access.is_signed ? "$ld.s" : "$ld.u", access, letter, true, elements,
              instruction.operands[1]);
}

void Lowering::lower_store(const ptx::Instruction& instruction, const Parts& parts) {
  const Access access = read_access(instruction, parts);
  if (access.space == Space::kConst) {
    fail("unknown instruction");
  }
  std::vector<std::uint32_t> elements;
  const char letter = list_elements(instruction.operands[1], access, false, elements);
  emit_access("$st.", access, letter, false, elements, instruction.operands[0]);
}

void Lowering::lower_atomic(const ptx::Instruction& instruction, const Parts& parts) {
  static const std::map<std::string_view, AtomicOperation> kOperations = {
      {"add", AtomicOperation::kAdd},   {"min", AtomicOperation::kMin},
      {"max", AtomicOperation::kMax},   {"inc", AtomicOperation::kInc},
      {"dec", AtomicOperation::kDec},   {"and", AtomicOperation::kAnd},
      {"or", AtomicOperation::kOr},     {"xor", AtomicOperation::kXor},
      {"exch", AtomicOperation::kExch}, {"cas", AtomicOperation::kCas}};
  static const std::map<std::string_view, std::pair<AtomicType, unsigned>> kTypes = {
      {"b16", {AtomicType::kUnsigned, 2}}, {"b32", {AtomicType::kUnsigned, 4}},
      {"u32", {AtomicType::kUnsigned, 4}}, {"s32", {AtomicType::kSigned, 4}},
      {"b64", {AtomicType::kUnsigned, 8}}, {"u64", {AtomicType::kUnsigned, 8}},
      {"s64", {AtomicType::kSigned, 8}},   {"f32", {AtomicType::kF32, 4}},
      {"f64", {AtomicType::kF64, 8}},      {"f16", {AtomicType::kF16, 2}},
      {"bf16", {AtomicType::kBf16, 2}},    {"f16x2", {AtomicType::kF16x2, 4}},
      {"bf16x2", {AtomicType::kBf16x2, 4}}};
  static const Names kScopes = {"cta", "cluster", "gpu", "sys", "noftz"};
  const bool returns = parts[0] == "atom";
  Op draft;
  int operation = -1;
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
    const auto it = kOperations.find(parts[i]);
    if (it != kOperations.end() && operation < 0) {
      operation = static_cast<int>(it->second);
    } else if (kStrong.count(parts[i]) == 0 && kScopes.count(parts[i]) == 0 &&
               !read_space(parts[i], draft.space)) {
      fail("unknown instruction");
    }
  }
  const auto type = kTypes.find(parts.back());
  const bool cas = operation == static_cast<int>(AtomicOperation::kCas);
  const std::size_t expected = (returns ? 1U : 0U) + 2 + (cas ? 1U : 0U);
  if (operation < 0 || type == kTypes.end() || instruction.operands.size() != expected) {
    fail("unknown instruction");
  }
  const bool is_float = type->second.first >= AtomicType::kF32;
  const bool is_scalar_float =
      type->second.first == AtomicType::kF32 || type->second.first == AtomicType::kF64;
  const bool only_add = operation == static_cast<int>(AtomicOperation::kAdd);
  const bool extremum = operation == static_cast<int>(AtomicOperation::kMin) ||
                        operation == static_cast<int>(AtomicOperation::kMax);
  if (is_float && !only_add && (is_scalar_float || !extremum)) {
    fail("unknown instruction");
  }
  const unsigned width = type->second.second;
  const char letter = type->second.first == AtomicType::kF32 ? 'f' : letter_of(width * 8);
  const std::size_t first = returns ? 1 : 0;
  set_address(draft, instruction.operands[first]);
  // cas: compare comes before the new value.
  const std::uint32_t one = read(instruction.operands[first + 1], letter);
  const std::uint32_t two = cas ? read(instruction.operands[first + 2], letter) : kNone;
  const std::uint32_t dst = returns ? written(instruction.operands[0], letter) : kNone;
  Op& op = emit("$atom", dst, {draft.src[0], cas ? two : one, cas ? one : kNone});
  op.space = draft.space;
  op.immediate = draft.immediate;
  op.detail = static_cast<std::uint8_t>((draft.detail & 1) | (operation << 1));
  op.kind = static_cast<std::uint8_t>(type->second.first);
  op.width = static_cast<std::uint8_t>(width);
  op.strong = true;
}

}  // namespace quantjit::sim
