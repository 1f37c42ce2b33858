// SPDX-License-Identifier: Apache-2.0
#include "lower.hpp"

#include <set>

namespace quantjit::sim {

namespace {

char letter_of(unsigned bits) {
  return bits == 16 ? 'h' : (bits == 32 ? 'w' : 'd');
}

/// Bits of an integer type name without its dot; 0 when it is none.
unsigned integer_bits(std::string_view type) {
  static const std::set<std::string_view> kTypes = {"u8",  "s8",  "u16", "s16",
                                                    "u32", "s32", "u64", "s64"};
  if (kTypes.count(type) == 0) {
    return 0;
  }
  return static_cast<unsigned>(std::stoi(std::string(type.substr(1))));
}

unsigned container_bits(std::string_view type) {
  const unsigned bits = integer_bits(type);
  return bits == 8 ? 16 : bits;
}

}  // namespace

void Lowering::lower_instruction(const ptx::Instruction& instruction) {
  current_ = &instruction;
  guard_ = instruction.guard < 0
               ? kNone
               : instance_->registers[static_cast<std::size_t>(instruction.guard)];
  unguarded_ = false;
  const Parts parts = split_mnemonic(instruction.mnemonic);
  if (lower_control(instruction, parts) || lower_memory(instruction, parts) ||
      lower_hint(instruction, parts)) {
    return;
  }
  if (parts[0] == "mov" && parts.back() != "pred") {
    lower_mov(instruction, parts);
  } else if (parts[0] == "cvta") {
    lower_cvta(instruction, parts);
  } else if (parts[0] == "isspacep") {
    lower_isspacep(instruction, parts);
  } else if (parts[0] != "cvt" || !lower_cvt(instruction, parts)) {
    lower_plain(instruction);
  }
}

void Lowering::lower_plain(const ptx::Instruction& instruction) {
  const Instruction* known = nullptr;
  if (instruction.mnemonic[0] != '$') {
    known = set_.find(instruction.mnemonic, instruction.operands.size());
    if (known == nullptr) {  // an instruction without destination has a '-' in its place
      known = set_.find(instruction.mnemonic, instruction.operands.size() + 1);
      known = known != nullptr && known->operands[0] == '-' ? known : nullptr;
    }
  }
  if (known == nullptr) {
    fail("unknown instruction");
  }
  need(*known);
  std::vector<const ptx::Operand*> operands;
  for (const ptx::Operand& operand : instruction.operands) {
    operands.push_back(&operand);
  }
  lower_known(*known, operands);
}

void Lowering::lower_known(const Instruction& known,
                           const std::vector<const ptx::Operand*>& operands) {
  const std::string& letters = known.operands;
  const bool has_destination = letters[0] != '-';
  std::uint32_t sources[4] = {kNone, kNone, kNone, kNone};
  const std::size_t first = has_destination ? 1 : 0;
  if (operands.size() - first > 4) {
    fail("too many operands");
  }
  for (std::size_t i = first; i < operands.size(); ++i) {
    sources[i - first] = read(*operands[i], letters[has_destination ? i : i + 1]);
  }
  std::uint32_t dst = kNone;
  std::uint32_t dst2 = kNone;
  if (has_destination) {
    const ptx::Operand& to = *operands[0];
    if (to.kind == ptx::OperandKind::kPair) {
      const std::string_view name = current_->mnemonic;
      const bool allowed = name.rfind("setp.", 0) == 0 || name.rfind("shfl.", 0) == 0 ||
                           name.rfind("match.all.", 0) == 0 || name.rfind("elect.", 0) == 0;
      if (!allowed) {
        fail("two destinations");
      }
      dst = written(to.items[0], letters[0]);
      dst2 = to.items[1].kind == ptx::OperandKind::kSink ? kNone : written(to.items[1], 'p');
    } else {
      dst = written(to, letters[0]);
    }
  }
  Op& op = emit(known.run, dst, {sources[0], sources[1], sources[2], sources[3]});
  op.dst2 = dst2;
}

/// cvt between types, at least one of them an integer, may have registers wider than the type.
bool Lowering::lower_cvt(const ptx::Instruction& instruction, const Parts& parts) {
  if (instruction.operands.size() != 2 || parts.size() < 3) {
    return false;
  }
  const Instruction* known = set_.find(instruction.mnemonic, 2);
  if (known == nullptr) {
    return false;
  }
  need(*known);
  const std::string_view to_type = parts[parts.size() - 2];
  const std::string_view from_type = parts.back();
  const ptx::Operand& to = instruction.operands[0];
  const ptx::Operand& from = instruction.operands[1];
  const unsigned to_bits = container_bits(to_type);
  const unsigned from_bits = container_bits(from_type);
  std::uint32_t source = kNone;
  if (from_bits != 0 && bits_of(from) > from_bits) {
    const char wide = letter_of(bits_of(from));
    const char narrow = letter_of(from_bits);
    source = new_register(from_bits);
    unguarded_ = true;
    emit(std::string("$resize.") + narrow + "." + wide, source, {register_of(from)});
    unguarded_ = false;
  } else {
    source = read(from, known->operands[1]);
  }
  if (to_bits != 0 && bits_of(to) > to_bits) {
    const std::uint32_t narrow = new_register(to_bits);
    unguarded_ = true;
    emit(known->run, narrow, {source});
    unguarded_ = false;
    const char* extend = to_type[0] == 's' ? "$sext." : "$zext.";
    emit(std::string(extend) + letter_of(bits_of(to)) + "." + letter_of(to_bits), register_of(to),
         {narrow});
    return true;
  }
  emit(known->run, written(to, known->operands[0]), {source});
  return true;
}

void Lowering::lower_mov(const ptx::Instruction& instruction, const Parts& parts) {
  if (parts.size() != 2 || instruction.operands.size() != 2) {
    fail("unknown instruction");
  }
  const ptx::Operand& to = instruction.operands[0];
  const ptx::Operand& from = instruction.operands[1];
  if (parts[1] == "b128") {
    if (to.kind == ptx::OperandKind::kVector) {
      lower_unpack(instruction, 128);
    } else {
      lower_pack(instruction, 128);
    }
    return;
  }
  const Instruction* known = set_.find(instruction.mnemonic, 2);
  if (known == nullptr) {
    fail("unknown instruction");
  }
  const char letter = known->operands[0];
  const unsigned bits = letter == 'h' ? 16 : (letter == 'w' || letter == 'f' ? 32 : 64);
  if (to.kind == ptx::OperandKind::kVector) {
    lower_unpack(instruction, bits);
  } else if (from.kind == ptx::OperandKind::kVector) {
    lower_pack(instruction, bits);
  } else {
    emit(known->run, written(to, letter), {read(from, letter)});
  }
}

void Lowering::lower_unpack(const ptx::Instruction& instruction, unsigned bits) {
  const ptx::Operand& to = instruction.operands[0];
  const ptx::Operand& from = instruction.operands[1];
  const std::size_t count = to.items.size();
  if (bits == 128) {
    if (count != 2 || bits_of(from) != 128) {
      fail("unknown form of mov.b128");
    }
    for (std::uint32_t i = 0; i < 2; ++i) {
      emit("mov.b64", written(to.items[i], 'd'), {register_of(from) + i});
    }
    return;
  }
  const unsigned piece = count == 0 ? 0 : bits / static_cast<unsigned>(count);
  if (piece != 16 && piece != 32) {
    fail("unknown form of mov");
  }
  std::uint32_t source = read(from, letter_of(bits));
  for (const ptx::Operand& item : to.items) {
    if (item.kind == ptx::OperandKind::kRegister && register_of(item) == source) {
      fail("mov that overwrites what it takes apart");
    }
  }
  const std::string name = std::string("$extract.") + letter_of(piece) + "." + letter_of(bits);
  for (std::size_t i = 0; i < count; ++i) {
    if (to.items[i].kind != ptx::OperandKind::kSink) {
      emit(name, written(to.items[i], letter_of(piece)), {source, constant(32, i * piece)});
    }
  }
}

void Lowering::lower_pack(const ptx::Instruction& instruction, unsigned bits) {
  const ptx::Operand& to = instruction.operands[0];
  const ptx::Operand& from = instruction.operands[1];
  const std::size_t count = from.items.size();
  if (bits == 128) {
    const bool copies = from.kind == ptx::OperandKind::kRegister && bits_of(from) == 128;
    if (bits_of(to) != 128 || (!copies && count != 2)) {
      fail("unknown form of mov.b128");
    }
    for (std::uint32_t i = 0; i < 2; ++i) {
      emit("mov.b64", register_of(to) + i,
           {copies ? register_of(from) + i : read(from.items[i], 'd')});
    }
    return;
  }
  const unsigned piece = count == 0 ? 0 : bits / static_cast<unsigned>(count);
  if (piece != 16 && piece != 32) {
    fail("unknown form of mov");
  }
  std::uint32_t sources[4] = {kNone, kNone, kNone, kNone};
  for (std::size_t i = 0; i < count; ++i) {
    sources[i] = read(from.items[i], letter_of(piece));
  }
  const char* name = count == 4 ? "$pack.4x16" : (piece == 16 ? "$pack.2x16" : "$pack.2x32");
  emit(name, written(to, letter_of(bits)), {sources[0], sources[1], sources[2], sources[3]});
}

void Lowering::lower_cvta(const ptx::Instruction& instruction, const Parts& parts) {
  const bool to_space = parts.size() == 4 && parts[1] == "to";
  const std::string_view space = parts.size() >= 3 ? parts[parts.size() - 2] : "";
  const bool plain = space == "global" || space == "const" || space == "param";
  const bool window = space == "shared" || space == "local";
  if ((!plain && !window) || parts.back() != "u64" || instruction.operands.size() != 2 ||
      parts.size() != (to_space ? 4U : 3U)) {
    fail("unknown instruction");
  }
  const std::uint32_t source = read(instruction.operands[1], 'd');
  const std::uint32_t to = written(instruction.operands[0], 'd');
  if (plain) {
    emit("mov.b64", to, {source});
  } else if (to_space) {
    emit("$out_of_window", to, {source});
  } else {
    emit("$into_window", to,
         {source, constant(64, space == "shared" ? kSharedWindow : kLocalWindow)});
  }
}

void Lowering::lower_isspacep(const ptx::Instruction& instruction, const Parts& parts) {
  std::uint64_t window = 0;
  if (parts.size() != 2 || instruction.operands.size() != 2) {
    fail("unknown instruction");
  }
  if (parts[1] == "shared" || parts[1] == "shared::cta" || parts[1] == "shared::cluster") {
    window = kSharedWindow;
  } else if (parts[1] == "local") {
    window = kLocalWindow;
  } else if (parts[1] == "param" || parts[1] == "param::entry") {
    window = kParamWindow;
  } else if (parts[1] != "global") {
    fail("unknown instruction");
  }
  emit("$is_in_window", written(instruction.operands[0], 'p'),
       {read(instruction.operands[1], 'd'), constant(64, window)});
}

/// Instructions without an effect on results here.
bool Lowering::lower_hint(const ptx::Instruction& instruction, const Parts& parts) {
  static const std::set<std::string_view> kIgnored = {"prefetch", "prefetchu", "applypriority",
                                                      "discard",  "nanosleep", "pmevent"};
  static const std::set<std::string_view> kFence = {
      "fence",   "membar",  "gl",      "cta",   "sys",   "gpu",   "cluster", "sc",
      "acq_rel", "acquire", "release", "proxy", "alias", "async", "global",  "shared::cta"};
  if (kIgnored.count(parts[0]) != 0) {
    emit("$nothing");
    return true;
  }
  if (parts[0] == "fence" || parts[0] == "membar") {
    for (const std::string_view part : parts) {
      if (kFence.count(part) == 0) {
        fail("unknown instruction");
      }
    }
    emit("$nothing");
    return true;
  }
  if (parts[0] == "createpolicy" && !instruction.operands.empty() && parts.back() == "b64") {
    emit("mov.b64", written(instruction.operands[0], 'd'), {constant(64, 0)});
    return true;
  }
  return false;
}

}  // namespace quantjit::sim
