// SPDX-License-Identifier: Apache-2.0
#include "instruction_table.hpp"

#include <initializer_list>

namespace quantjit::test {

namespace {

using Cases = std::vector<InstructionCase>;
using Texts = std::initializer_list<const char*>;

/// An instruction of the form "name %d, %a, ...;".
void simple(Cases& cases, const std::string& name, const std::string& inputs, char output,
            unsigned min_sm = 0, bool specific = false, bool approximate = false) {
  static const char* const kOperands[] = {"", "%a", "%a, %b", "%a, %b, %c", "%a, %b, %c, %e"};
  cases.push_back({name, name + " %d, " + kOperands[inputs.size()] + ";", inputs, output, min_sm,
                   specific, approximate});
}

/// A comparison: 1 or 0.
void comparison(Cases& cases, const std::string& name, const std::string& inputs) {
  cases.push_back(
      {name, name + " %p, %a, %b;\n  selp.u32 %d, 1, 0, %p;", inputs, 'w', 0, false, false});
}

void add_integers(Cases& cases) {
  for (const char* bits : {"16", "32", "64"}) {
    const char letter = bits[0] == '1' ? 'h' : (bits[0] == '3' ? 'w' : 'd');
    const std::string two(2, letter);
    const std::string three(3, letter);
    for (const char* sign : {"u", "s"}) {
      const std::string type = std::string(".") + sign + bits;
      for (const char* op : {"add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max"}) {
        simple(cases, op + type, two, letter);
      }
      for (const char* op : {"mad.lo", "mad.hi", "sad"}) {
        simple(cases, op + type, three, letter);
      }
      simple(cases, "shr" + type, std::string(1, letter) + "s", letter);
      for (const char* compare : {"eq", "ne", "lt", "le", "gt", "ge"}) {
        comparison(cases, std::string("setp.") + compare + type, two);
      }
      if (letter != 'd') {
        const char wide = letter == 'h' ? 'w' : 'd';
        simple(cases, "mul.wide" + type, two, wide);
        simple(cases, "mad.wide" + type, two + wide, wide);
      }
    }
    simple(cases, std::string("neg.s") + bits, std::string(1, letter), letter);
    simple(cases, std::string("abs.s") + bits, std::string(1, letter), letter);
    for (const char* op : {"and.b", "or.b", "xor.b"}) {
      simple(cases, std::string(op) + bits, two, letter);
    }
    simple(cases, std::string("not.b") + bits, std::string(1, letter), letter);
    simple(cases, std::string("shl.b") + bits, std::string(1, letter) + "s", letter);
  }
}

void add_bit_fields(Cases& cases) {
  for (const char* name : {"popc.b32", "clz.b32", "brev.b32", "bfind.u32", "bfind.s32",
                           "bfind.shiftamt.u32", "bfind.shiftamt.s32"}) {
    simple(cases, name, "w", 'w');
  }
  for (const char* name : {"popc.b64", "clz.b64", "bfind.u64", "bfind.s64", "bfind.shiftamt.u64",
                           "bfind.shiftamt.s64"}) {
    simple(cases, name, "d", 'w');
  }
  simple(cases, "brev.b64", "d", 'd');
  simple(cases, "bfe.u32", "wss", 'w');
  simple(cases, "bfe.s32", "wss", 'w');
  simple(cases, "bfe.u64", "dss", 'd');
  simple(cases, "bfe.s64", "dss", 'd');
  simple(cases, "bfi.b32", "wwss", 'w');
  simple(cases, "bfi.b64", "ddss", 'd');
  for (const char* name :
       {"shf.l.wrap.b32", "shf.l.clamp.b32", "shf.r.wrap.b32", "shf.r.clamp.b32"}) {
    simple(cases, name, "wws", 'w');
  }
  for (const char* name :
       {"prmt.b32", "prmt.b32.f4e", "prmt.b32.b4e", "prmt.b32.rc8", "prmt.b32.ecl", "prmt.b32.ecr",
        "prmt.b32.rc16", "dp4a.u32.u32", "dp4a.s32.s32", "dp4a.u32.s32", "dp4a.s32.u32"}) {
    simple(cases, name, "www", 'w');
  }
  for (const unsigned table : {0x96U, 0xE8U, 0xCAU, 0x1BU, 0xF8U}) {
    const std::string number = std::to_string(table);
    cases.push_back({"lop3.b32." + number, "lop3.b32 %d, %a, %b, %c, " + number + ";", "www", 'w',
                     0, false, false});
  }
  for (const char* name : {"bmsk.clamp.b32", "bmsk.wrap.b32"}) {
    simple(cases, name, "ss", 'w');
  }
  for (const char* name : {"add.sat.s32", "sub.sat.s32", "mul24.lo.u32", "mul24.lo.s32",
                           "mul24.hi.u32", "mul24.hi.s32"}) {
    simple(cases, name, "ww", 'w');
  }
  for (const char* name : {"add.u16x2", "add.s16x2", "min.u16x2", "min.s16x2", "max.u16x2",
                           "max.s16x2", "min.relu.s32", "max.relu.s32"}) {
    simple(cases, name, "ww", 'w', 90);
  }
}

void add_carries(Cases& cases) {
  const auto add = [&](const char* name, const char* text, const char* inputs) {
    cases.push_back({name, text, inputs, 'w', 0, false, false});
  };
  add("add.cc+addc", "add.cc.u32 %t, %a, %b;\n  addc.u32 %d, %c, %e;", "wwww");
  add("sub.cc+subc", "sub.cc.u32 %t, %a, %b;\n  subc.u32 %d, %c, %e;", "wwww");
  add("addc.cc", "add.cc.u32 %t, %a, %b;\n  addc.cc.u32 %t, %c, %e;\n  addc.u32 %d, 0, 0;", "wwww");
  add("mad.lo.cc+madc.hi", "mad.lo.cc.u32 %t, %a, %b, %c;\n  madc.hi.u32 %d, %a, %b, %e;", "wwww");
  add("mad.lo.cc+madc.hi.s32", "mad.lo.cc.s32 %t, %a, %b, %c;\n  madc.hi.s32 %d, %a, %b, %e;",
      "wwww");
}

void add_f32(Cases& cases) {
  for (const char* round : {".rn", ".rz", ".rm", ".rp"}) {
    for (const char* modifiers : {"", ".ftz", ".sat", ".ftz.sat"}) {
      const std::string tail = std::string(round) + modifiers + ".f32";
      simple(cases, "add" + tail, "ff", 'w');
      simple(cases, "sub" + tail, "ff", 'w');
      simple(cases, "mul" + tail, "ff", 'w');
      simple(cases, "fma" + tail, "fff", 'w');
    }
    for (const char* ftz : {"", ".ftz"}) {
      simple(cases, std::string("div") + round + ftz + ".f32", "ff", 'w');
      simple(cases, std::string("rcp") + round + ftz + ".f32", "f", 'w');
      simple(cases, std::string("sqrt") + round + ftz + ".f32", "f", 'w');
      simple(cases, std::string("add") + round + ftz + ".f32x2", "xx", 'd', 100);
      simple(cases, std::string("mul") + round + ftz + ".f32x2", "xx", 'd', 100);
      simple(cases, std::string("fma") + round + ftz + ".f32x2", "xxx", 'd', 100);
    }
  }
  for (const char* ftz : {"", ".ftz"}) {
    for (const char* nan : {"", ".NaN"}) {
      for (const char* sign : {"", ".xorsign.abs"}) {
        simple(cases, std::string("min") + ftz + nan + sign + ".f32", "ff", 'w');
        simple(cases, std::string("max") + ftz + nan + sign + ".f32", "ff", 'w');
      }
    }
    simple(cases, std::string("abs") + ftz + ".f32", "f", 'w');
    simple(cases, std::string("neg") + ftz + ".f32", "f", 'w');
    for (const char* compare : {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu",
                                "gtu", "geu", "num", "nan"}) {
      comparison(cases, std::string("setp.") + compare + ftz + ".f32", "ff");
    }
    simple(cases, std::string("rcp.approx") + ftz + ".f32", "f", 'w');
    simple(cases, std::string("div.approx") + ftz + ".f32", "ff", 'w');
    simple(cases, std::string("div.full") + ftz + ".f32", "ff", 'w');
    for (const char* name : {"rsqrt.approx", "sqrt.approx", "ex2.approx", "lg2.approx"}) {
      simple(cases, std::string(name) + ftz + ".f32", "f", 'w', 0, false, true);
    }
  }
  simple(cases, "tanh.approx.f32", "f", 'w', 0, false, true);
  simple(cases, "copysign.f32", "ff", 'w');
  for (const char* test : {"finite", "infinite", "number", "notanumber", "normal", "subnormal"}) {
    const std::string name = std::string("testp.") + test + ".f32";
    cases.push_back({name, name + " %p, %a;\n  selp.u32 %d, 1, 0, %p;", "f", 'w', 0, false, false});
  }
}

void add_16(Cases& cases) {
  struct Format {
    const char* name;
    char letter;
    char output;
    Texts modifiers;
  };

  const Format formats[] = {{".f16", 'H', 'h', {"", ".ftz", ".sat", ".ftz.sat"}},
                            {".f16x2", 'P', 'w', {"", ".ftz", ".sat", ".ftz.sat"}},
                            {".bf16", 'B', 'h', {""}},
                            {".bf16x2", 'Q', 'w', {""}}};
  for (const Format& format : formats) {
    const std::string one(1, format.letter);
    const bool half = format.letter == 'H' || format.letter == 'P';
    for (const char* modifiers : format.modifiers) {
      const std::string tail = std::string(".rn") + modifiers + format.name;
      simple(cases, "add" + tail, one + one, format.output, 90);
      simple(cases, "sub" + tail, one + one, format.output, 90);
      simple(cases, "mul" + tail, one + one, format.output, 90);
      simple(cases, "fma" + tail, one + one + one, format.output, 90);
    }
    simple(cases, std::string("fma.rn.relu") + format.name, one + one + one, format.output, 90);
    for (const char* nan : {"", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"}) {
      simple(cases, std::string("min") + nan + format.name, one + one, format.output, 90);
      simple(cases, std::string("max") + nan + format.name, one + one, format.output, 90);
    }
    simple(cases, std::string("abs") + format.name, one, format.output, 90);
    simple(cases, std::string("neg") + format.name, one, format.output, 90);
    if (half) {
      simple(cases, std::string("min.ftz") + format.name, one + one, format.output, 90);
      simple(cases, std::string("abs.ftz") + format.name, one, format.output, 90);
    }
    const bool packed = format.output == 'w';
    for (const char* compare : {"eq", "ne", "lt", "leu", "gt", "geu", "num", "nan"}) {
      const std::string name = std::string("setp.") + compare + format.name;
      if (packed) {
        cases.push_back({name,
                         name + " %p|%q, %a, %b;\n  selp.u32 %d, 1, 0, %p;\n  selp.u32 %t, 2, 0, "
                                "%q;\n  or.b32 %d, %d, %t;",
                         one + one, 'w', 90, false, false});
      } else {
        comparison(cases, name, one + one);
      }
    }
    simple(cases, std::string("tanh.approx") + format.name, one, format.output, 90, false, true);
    simple(cases, std::string(half ? "ex2.approx" : "ex2.approx.ftz") + format.name, one,
           format.output, 90, false, true);
  }
}

void add_int_conversions(Cases& cases) {
  struct Int {
    const char* name;
    char letter;
    unsigned bits;

    [[nodiscard]] bool is_signed() const { return name[0] == 's'; }

    [[nodiscard]] bool holds(const Int& other) const {
      return is_signed() == other.is_signed() ? bits >= other.bits
                                              : is_signed() && bits > other.bits;
    }
  };

  const Int ints[] = {{"u8", 'h', 8},   {"s8", 'h', 8},   {"u16", 'h', 16}, {"s16", 'h', 16},
                      {"u32", 'w', 32}, {"s32", 'w', 32}, {"u64", 'd', 64}, {"s64", 'd', 64}};
  for (const Int& to : ints) {
    for (const Int& from : ints) {
      const std::string types = std::string(".") + to.name + "." + from.name;
      if (std::string(to.name) != from.name) {
        simple(cases, "cvt" + types, std::string(1, from.letter), to.letter);
        if (!to.holds(from)) {
          simple(cases, "cvt.sat" + types, std::string(1, from.letter), to.letter);
        }
      }
    }
    const std::string type = std::string(".") + to.name;
    const std::string letter(1, to.letter);
    for (const char* round : {"rn", "rz", "rm", "rp"}) {
      simple(cases, std::string("cvt.") + round + ".f32" + type, letter, 'w');
      simple(cases, std::string("cvt.") + round + ".f16" + type, letter, 'h');
      const std::string whole = std::string("cvt.") + round + "i" + type;
      simple(cases, whole + ".f32", "f", to.letter);
      simple(cases, whole + ".f64", "e", to.letter);
      simple(cases, whole + ".f16", "H", to.letter);
      simple(cases, std::string("cvt.") + round + "i.ftz" + type + ".f32", "f", to.letter);
    }
    simple(cases, "cvt.rn.f64" + type, letter, 'd');
    if (to.bits > 8) {
      simple(cases, "cvt.rn.bf16" + type, letter, 'h', 90);
      simple(cases, "cvt.rzi" + type + ".bf16", "B", to.letter, 90);
    }
  }
  simple(cases, "cvt.pack.sat.s8.s32.b32", "www", 'w');
  simple(cases, "cvt.pack.sat.u8.s32.b32", "www", 'w');
  simple(cases, "cvt.pack.sat.s16.s32", "ww", 'w');
  simple(cases, "cvt.pack.sat.u16.s32", "ww", 'w');
}

void add_float_conversions(Cases& cases) {
  for (const char* round : {"rn", "rz", "rm", "rp"}) {
    const std::string prefix = std::string("cvt.") + round;
    simple(cases, prefix + ".f32.f64", "e", 'w');
    simple(cases, prefix + ".ftz.f32.f64", "e", 'w');
    simple(cases, prefix + ".f16.f32", "f", 'h');
    simple(cases, prefix + ".bf16.f32", "f", 'h', 90);
    simple(cases, prefix + ".f16.f64", "e", 'h');
    for (const char* modifiers : {"", ".ftz", ".sat", ".ftz.sat"}) {
      simple(cases, prefix + "i" + modifiers + ".f32.f32", "f", 'w');
    }
    simple(cases, prefix + "i.f16.f16", "H", 'h');
    simple(cases, prefix + "i.f64.f64", "e", 'd');
  }
  for (const char* round : {".rn", ".rz"}) {
    for (const char* relu : {"", ".relu"}) {
      simple(cases, std::string("cvt") + round + relu + ".f16x2.f32", "ff", 'w');
      simple(cases, std::string("cvt") + round + relu + ".bf16x2.f32", "ff", 'w');
    }
  }
  simple(cases, "cvt.rn.relu.f16.f32", "f", 'h');
  simple(cases, "cvt.rn.relu.bf16.f32", "f", 'h');
  simple(cases, "cvt.f32.f16", "H", 'w');
  simple(cases, "cvt.ftz.f32.f16", "H", 'w');
  simple(cases, "cvt.sat.f32.f16", "H", 'w');
  simple(cases, "cvt.f32.bf16", "B", 'w', 90);
  simple(cases, "cvt.f64.f16", "H", 'd');
  simple(cases, "cvt.f64.f32", "f", 'd');
  simple(cases, "cvt.ftz.f64.f32", "f", 'd');
  simple(cases, "cvt.sat.f32.f32", "f", 'w');
  simple(cases, "cvt.ftz.sat.f32.f32", "f", 'w');
  simple(cases, "cvt.ftz.f32.f32", "f", 'w');
  for (const char* format : {".e4m3x2", ".e5m2x2"}) {
    for (const char* relu : {"", ".relu"}) {
      simple(cases, std::string("cvt.rn.satfinite") + relu + format + ".f32", "ff", 'h', 89);
      simple(cases, std::string("cvt.rn.satfinite") + relu + format + ".f16x2", "P", 'h', 89);
      simple(cases, std::string("cvt.rn") + relu + ".f16x2" + format, "h", 'w', 89);
    }
  }
  for (const char* round : {".rp", ".rz"}) {
    for (const char* finite : {"", ".satfinite"}) {
      simple(cases, std::string("cvt") + round + finite + ".ue8m0x2.f32", "ff", 'h', 100, true);
      simple(cases, std::string("cvt") + round + finite + ".ue8m0x2.bf16x2", "Q", 'h', 100, true);
    }
  }
  simple(cases, "cvt.rn.bf16x2.ue8m0x2", "h", 'w', 100, true);
}

void add_f64(Cases& cases) {
  for (const char* name :
       {"add.rn.f64", "sub.rn.f64", "mul.rn.f64", "div.rn.f64", "min.f64", "max.f64"}) {
    simple(cases, name, "ee", 'd');
  }
  simple(cases, "fma.rn.f64", "eee", 'd');
  for (const char* name : {"rcp.rn.f64", "sqrt.rn.f64", "abs.f64", "neg.f64"}) {
    simple(cases, name, "e", 'd');
  }
  for (const char* compare : {"eq", "ne", "lt", "leu", "gt", "geu", "num", "nan"}) {
    comparison(cases, std::string("setp.") + compare + ".f64", "ee");
  }
}

const char* storage_type(unsigned bytes) {
  return bytes == 2 ? ".b16" : (bytes == 4 ? ".b32" : ".b64");
}

}  // namespace

unsigned operand_bytes(char letter) {
  switch (letter) {
    case 'h':
    case 'H':
    case 'B': return 2;
    case 'd':
    case 'e':
    case 'x': return 8;
    default: return 4;
  }
}

std::vector<InstructionCase> instruction_cases() {
  Cases cases;
  add_integers(cases);
  add_bit_fields(cases);
  add_carries(cases);
  add_f32(cases);
  add_16(cases);
  add_int_conversions(cases);
  add_float_conversions(cases);
  add_f64(cases);
  return cases;
}

std::string instruction_ptx(const InstructionCase& instruction, const std::string& target) {
  static const char* const kNames[] = {"%a", "%b", "%c", "%e"};
  std::string text = ".version 8.7\n.target " + target + "\n.address_size 64\n";
  text += ".visible .entry run(.param .u64 n, .param .u64 out";
  for (std::size_t i = 0; i < instruction.inputs.size(); ++i) {
    text += ", .param .u64 in" + std::to_string(i);
  }
  text +=
      ")\n{\n  .reg .pred %p, %q, %outside;\n  .reg .b32 %t, %block, %size, %thread;\n"
      "  .reg .b64 %i, %count, %at, %base;\n";
  for (std::size_t i = 0; i < instruction.inputs.size(); ++i) {
    text += std::string("  .reg ") + storage_type(operand_bytes(instruction.inputs[i])) + " " +
            kNames[i] + ";\n";
  }
  text += std::string("  .reg ") + storage_type(operand_bytes(instruction.output)) + " %d;\n";
  text +=
      "  mov.u32 %block, %ctaid.x;\n  mov.u32 %size, %ntid.x;\n  mov.u32 %thread, %tid.x;\n"
      "  mul.wide.u32 %i, %block, %size;\n  cvt.u64.u32 %at, %thread;\n"
      "  add.u64 %i, %i, %at;\n  ld.param.u64 %count, [n];\n"
      "  setp.ge.u64 %outside, %i, %count;\n  @%outside bra DONE;\n";
  for (std::size_t i = 0; i < instruction.inputs.size(); ++i) {
    const unsigned bytes = operand_bytes(instruction.inputs[i]);
    text += "  ld.param.u64 %base, [in" + std::to_string(i) + "];\n  mad.lo.u64 %at, %i, " +
            std::to_string(bytes) + ", %base;\n  ld.global" + storage_type(bytes) + " " +
            kNames[i] + ", [%at];\n";
  }
  const unsigned bytes = operand_bytes(instruction.output);
  text += "  " + instruction.text + "\n  ld.param.u64 %base, [out];\n  mad.lo.u64 %at, %i, " +
          std::to_string(bytes) + ", %base;\n  st.global" + storage_type(bytes) +
          " [%at], %d;\nDONE:\n  ret;\n}\n";
  return text;
}

}  // namespace quantjit::test
