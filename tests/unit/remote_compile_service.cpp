// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cache_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/remote_fixture.hpp"

namespace quantjit::remote {
namespace {

using Request = FakeHttp::Request;

const std::string kRequest(64, 'a');
const std::string kFull = kRequest + "-0123456789abcdef";

}  // namespace

TEST_CASE("Compile service: entries are read and made, and none are taken", "[remote]") {
  const FakeHttp http([](const Request& request, int) {
    return http_answer(200, request.line.starts_with("POST") ? "made" : "read");
  });
  const auto backend = backend_of(http.url("qj+http", "", "/base"));
  REQUIRE(backend->compiles());
  CHECK(backend->get(name_of('a'), generous()).body == "read");
  CHECK(backend->get(name_of('a', "latest"), generous()).body == "read");
  CHECK(backend->compile("{\"traits\":\"x\"}", generous()).body == "made");
  CHECK(backend->put(name_of('a'), "x", Overwrite::kReplace, generous()).outcome ==
        Outcome::kRefused);
  CHECK(backend->remove(name_of('a'), generous()).outcome == Outcome::kRefused);
  CHECK(backend->head(name_of('a'), generous()).found());
  const std::vector<Request> sent = http.requests();
  REQUIRE(sent.size() == 4);
  CHECK(sent[0].line == "GET /base/v1/entries/" + kFull);
  CHECK(sent[1].line == "GET /base/v1/entries/" + kRequest);
  CHECK(sent[2].line == "POST /base/v1/compile");
  CHECK(sent[2].body == "{\"traits\":\"x\"}");
  CHECK(sent[2].has("Content-Type: application/json"));
  CHECK(sent[3].line == "HEAD /base/v1/entries/" + kFull);
}

TEST_CASE("Compile service: what it refuses is told in its words, but no secret", "[remote]") {
  const cache::TemporaryDirectory directory;
  cache::write_file(directory / "token", "h4nter2\n");
  const std::string start = "{\"error\":{\"type\":\"x\",\"message\":\"";

  struct Row {
    int status;
    std::string body;
    std::string outcome;
    std::string says;
  };

  for (const Row& row : std::vector<Row>{
           {400, start + "no such key\"}}", "refused", "the server answered 400: no such key"},
           {422, start + "line 1\\nline 2\"}}", "refused", "the server answered 422: line 1"},
           {429, start + "queue full\"}}", "refused", "the server answered 429: queue full"},
           {503, start + "draining\"}}", "refused", "the server answered 503: draining"},
           {401, start + "h4nter2 is wrong\"}}", "refused", "the server answered 401"},
           {400, start + "\\u0007\"}}", "refused", "the server answered 400"},
           {400, "{\"error\":7}", "refused", "the server answered 400"},
           {400, std::string(10000, '['), "refused", "the server answered 400"},
           {400, "not JSON", "refused", "the server answered 400"},
           {404, start + "nothing here\"}}", "absent", "the server answered 404: nothing here"},
           {200, start + "x\"}}", "found", ""}}) {
    INFO(row.status << " " << row.body.substr(0, 80));
    const FakeHttp http([&](const Request&, int) { return http_answer(row.status, row.body); });
    const auto backend =
        backend_of(http.url("qj+http", "", "?token_file=" + (directory / "token")));
    const Reply reply = backend->compile("{}", generous());
    CHECK(to_string(reply.outcome) == row.outcome);
    CHECK(reply.error == row.says);
    CHECK(reply.of_this == (row.status == 400 || row.status == 422));
    CHECK(http.requests().at(0).has("Authorization: Bearer h4nter2"));
  }
}

}  // namespace quantjit::remote
