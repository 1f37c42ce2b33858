// SPDX-License-Identifier: Apache-2.0
#include "ptx_reader.hpp"

namespace quantjit::sim::ptx {

namespace {

bool read_space(std::string_view word, Space& space) {
  static const std::map<std::string_view, Space> kSpaces = {{".global", Space::kGlobal},
                                                            {".const", Space::kConst},
                                                            {".shared", Space::kShared},
                                                            {".local", Space::kLocal},
                                                            {".param", Space::kParam}};
  const auto it = kSpaces.find(word);
  if (it == kSpaces.end()) {
    return false;
  }
  space = it->second;
  return true;
}

Dim3 read_dims(Cursor& cursor) {
  Dim3 dims;
  dims.x = static_cast<std::uint32_t>(cursor.integer());
  if (cursor.accept(",")) {
    dims.y = static_cast<std::uint32_t>(cursor.integer());
    if (cursor.accept(",")) {
      dims.z = static_cast<std::uint32_t>(cursor.integer());
    }
  }
  return dims;
}

}  // namespace

Function FunctionReader::read(bool entry) {
  function_ = {};
  function_.entry = entry;
  function_.line = cursor_.peek().line;
  scopes_.assign(1, {});
  open_scopes_.assign(1, 0);
  if (!entry && cursor_.at("(")) {
    read_formals(function_.results);
  }
  function_.name = cursor_.word("a function's name");
  if (cursor_.at("(")) {
    read_formals(function_.parameters);
  }
  read_tuning();
  if (cursor_.accept(";")) {
    return std::move(function_);
  }
  function_.defined = true;
  read_body();
  return std::move(function_);
}

void FunctionReader::declare(const std::string& name, Meaning meaning) {
  if (!scopes_.back().emplace(name, meaning).second) {
    cursor_.fail("'" + name + "' is declared twice");
  }
}

void FunctionReader::read_formals(std::vector<Formal>& formals) {
  cursor_.expect("(");
  while (!cursor_.accept(")")) {
    Formal formal;
    if (cursor_.accept(".reg")) {
      const unsigned bits = type_bits(cursor_.word("a type"));
      const std::string name = cursor_.word("a register's name");
      if (bits == 0 || bits == 8) {
        cursor_.fail("register of an unknown type");
      }
      formal = {true, static_cast<std::uint32_t>(function_.registers.size())};
      function_.registers.push_back(bits);
      declare(name, {true, formal.index});
    } else {
      cursor_.expect(".param");
      formal.index = static_cast<std::uint32_t>(function_.variables.size());
      function_.variables.push_back(read_variable(cursor_, Space::kParam, false));
      declare(function_.variables.back().name, {false, formal.index});
    }
    formals.push_back(formal);
    cursor_.accept(",");
  }
}

void FunctionReader::read_tuning() {
  while (!cursor_.at("{") && !cursor_.at(";")) {
    const Token token = cursor_.take();
    if (token.text == ".maxntid") {
      function_.max_block = read_dims(cursor_);
    } else if (token.text == ".reqntid") {
      function_.required_block = read_dims(cursor_);
    } else if (token.text == ".minnctapersm" || token.text == ".maxnreg" ||
               token.text == ".maxnctapersm") {
      cursor_.integer();
    } else if (token.text == ".pragma") {
      cursor_.take();
      cursor_.expect(";");
    } else if (token.text != ".noreturn" && token.text != ".blocksareclusters") {
      cursor_.fail_at(token, "unknown performance directive");
    }
  }
}

void FunctionReader::read_body() {
  cursor_.expect("{");
  std::size_t depth = 1;
  while (depth > 0) {
    if (cursor_.peek().kind == Token::Kind::kEnd) {
      cursor_.fail("function without an end");
    }
    if (cursor_.accept("{")) {
      scopes_.emplace_back();
      function_.scope_parents.push_back(open_scopes_.back());
      open_scopes_.push_back(static_cast<std::uint32_t>(function_.scope_parents.size() - 1));
      ++depth;
    } else if (cursor_.accept("}")) {
      scopes_.pop_back();
      open_scopes_.pop_back();
      --depth;
    } else {
      read_statement();
    }
  }
}

void FunctionReader::read_statement() {
  if (cursor_.accept(";")) {
    return;
  }
  const Token& token = cursor_.peek();
  if (token.kind == Token::Kind::kWord && cursor_.peek(1).text == ":") {
    read_label();
  } else if (token.kind == Token::Kind::kWord && token.text[0] == '.') {
    read_declaration();
  } else {
    read_instruction();
  }
}

void FunctionReader::read_label() {
  const std::string name(cursor_.take().text);
  cursor_.expect(":");
  if (cursor_.at(".branchtargets")) {
    read_target_list(name);
    return;
  }
  if (cursor_.at(".callprototype") || cursor_.at(".calltargets")) {
    cursor_.fail("indirect calls are not supported");
  }
  function_.labels.push_back(
      {name, open_scopes_.back(), static_cast<std::uint32_t>(function_.code.size())});
}

void FunctionReader::read_target_list(const std::string& name) {
  cursor_.expect(".branchtargets");
  TargetList list{name, {}};
  do {
    list.labels.push_back(cursor_.word("a label"));
  } while (cursor_.accept(","));
  cursor_.expect(";");
  function_.target_lists.push_back(std::move(list));
}

void FunctionReader::read_declaration() {
  const Token token = cursor_.take();
  Space space{};
  if (token.text == ".reg") {
    read_registers();
  } else if (token.text == ".pragma") {
    cursor_.take();
    cursor_.expect(";");
  } else if (read_space(token.text, space)) {
    read_variables(space);
  } else {
    cursor_.fail_at(token, "unknown directive");
  }
}

void FunctionReader::read_registers() {
  const unsigned bits = type_bits(cursor_.word("a type"));
  if (bits == 0 || bits == 8) {
    cursor_.fail("register of an unknown type");
  }
  do {
    const std::string name = cursor_.word("a register's name");
    std::uint64_t count = 1;
    const bool numbered = cursor_.accept("<");
    if (numbered) {
      count = cursor_.integer();
      cursor_.expect(">");
    }
    if (count > 1000000) {
      cursor_.fail("too many registers");
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      declare(numbered ? name + std::to_string(i) : name,
              {true, static_cast<std::uint32_t>(function_.registers.size())});
      function_.registers.push_back(bits);
    }
  } while (cursor_.accept(","));
  cursor_.expect(";");
}

void FunctionReader::read_variables(Space space) {
  if (space == Space::kGlobal || space == Space::kConst) {
    cursor_.fail("global variable inside a function");
  }
  do {
    function_.variables.push_back(read_variable(cursor_, space, false));
    declare(function_.variables.back().name,
            {false, static_cast<std::uint32_t>(function_.variables.size() - 1)});
  } while (cursor_.accept(","));
  cursor_.expect(";");
}

Text read(std::string_view ptx) {
  Cursor cursor(ptx);
  Text text;
  while (cursor.peek().kind != Token::Kind::kEnd) {
    const Token token = cursor.take();
    Space space{};
    bool external = false;
    std::string_view word = token.text;
    while (word == ".visible" || word == ".weak" || word == ".extern" || word == ".common") {
      external = external || word == ".extern";
      word = cursor.take().text;
    }
    if (word == ".version") {
      cursor.take();
    } else if (word == ".address_size") {
      if (cursor.integer() != 64) {
        cursor.fail_at(token, "only 64-bit addresses are supported");
      }
    } else if (word == ".target") {
      text.target.text = cursor.word("a target");
      while (cursor.accept(",")) {
        cursor.word("a target option");
      }
    } else if (word == ".func" || word == ".entry") {
      Function function = FunctionReader(cursor, text).read(word == ".entry");
      Function& known = text.functions[function.name];
      if (known.defined && function.defined) {
        cursor.fail_at(token, "function '" + function.name + "' is defined twice");
      }
      if (function.defined || known.name.empty()) {
        if (known.name.empty()) {
          text.order.push_back(function.name);
        }
        known = std::move(function);
      }
    } else if (read_space(word, space) && space != Space::kLocal && space != Space::kParam) {
      text.variables.push_back(read_variable(cursor, space, external));
      cursor.expect(";");
    } else {
      cursor.fail_at(token, "unknown directive");
    }
  }
  const std::string& name = text.target.text;
  std::size_t digits = 3;
  while (digits < name.size() && name[digits] >= '0' && name[digits] <= '9') {
    ++digits;
  }
  std::uint64_t sm = 0;
  const bool suffixed = digits + 1 == name.size() && (name[digits] == 'a' || name[digits] == 'f');
  if (name.rfind("sm_", 0) != 0 || !parse_integer(name.substr(3, digits - 3), sm) ||
      !(suffixed || digits == name.size())) {
    throw ParseError(1, name, "unknown target");
  }
  text.target.sm = static_cast<unsigned>(sm);
  text.target.suffix = suffixed ? name.back() : '\0';
  return text;
}

}  // namespace quantjit::sim::ptx
