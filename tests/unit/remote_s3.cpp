// SPDX-License-Identifier: Apache-2.0
// Requests to S3, checked as S3 checks them: signature version 4.
#include "src/base/sha256.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/remote_fixture.hpp"

#include <span>
#include <sstream>

namespace quantjit::remote {
namespace {

using Request = FakeHttp::Request;

/// What stands between `begin` and the next of `ends`.
std::string between(const std::string& text, const std::string& begin, const std::string& ends) {
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) {
    return {};
  }
  const std::size_t first = at + begin.size();
  return text.substr(first, text.find_first_of(ends, first) - first);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    parts.push_back(part);
  }
  return parts;
}

/// The value of a header, whose name may be in any case; "?" if it was not sent.
std::string header(const Request& request, const std::string& name) {
  for (const std::string& line : split(request.headers, '\n')) {
    std::string start = line.substr(0, line.find(':'));
    for (char& character : start) {
      character =
          static_cast<char>(character >= 'A' && character <= 'Z' ? character | 0x20 : character);
    }
    if (start == name) {
      return between(line, ": ", "\r");
    }
  }
  return "?";
}

std::string hmac(const std::string& key, const std::string& text) {
  const base::Sha256Digest digest =
      base::hmac_sha256(key, std::as_bytes(std::span(text.data(), text.size())));
  return {digest.begin(), digest.end()};
}

/// The signature that a request should carry.
std::string signature(const Request& request, const std::string& secret_key) {
  const std::string authorization = header(request, "authorization");
  const std::string scope = between(authorization, "Credential=access/", ",");
  const std::string signed_headers = between(authorization, "SignedHeaders=", ",");
  const std::vector<std::string> line = split(request.line, ' ');
  std::string canonical = line.at(0) + "\n" + line.at(1) + "\n\n";
  for (const std::string& name : split(signed_headers, ';')) {
    canonical += name + ":" + header(request, name) + "\n";
  }
  canonical += "\n" + signed_headers + "\n" + base::to_hex(base::sha256(request.body));
  std::string key = "AWS4" + secret_key;
  for (const std::string& part : split(scope, '/')) {
    key = hmac(key, part);
  }
  const base::Sha256Digest hash = base::sha256(canonical);
  const std::string digest = hmac(key, "AWS4-HMAC-SHA256\n" + header(request, "x-amz-date") + "\n" +
                                           scope + "\n" + base::to_hex(hash));
  return base::to_hex(
      std::span(reinterpret_cast<const std::uint8_t*>(digest.data()), digest.size()));
}

}  // namespace

TEST_CASE("HTTP tier: requests to S3 carry a right signature, and the secret key stays here",
          "[remote]") {
  const FakeHttp http([](const Request&, int) { return http_answer(200); });
  const auto backend = backend_of(http.url("http", "access:h4nter2@", "/bucket?sigv4=eu-west-1"));
  const Name name = name_of('a');
  CHECK(backend->put(name, "bytes", Overwrite::kReplace, generous()).found());
  CHECK(backend->put(name, "bytes", Overwrite::kKeep, generous()).found());
  CHECK(backend->get(name, generous()).found());
  CHECK(backend->head(name, generous()).found());
  CHECK(backend->remove(name, generous()).found());
  const std::vector<Request> sent = http.requests();
  REQUIRE(sent.size() == 5);
  for (const Request& request : sent) {
    INFO(request.line << "\n" << request.headers);
    const std::string authorization = header(request, "authorization");
    CHECK(
        between(authorization, "Credential=access/", ",").ends_with("/eu-west-1/s3/aws4_request"));
    CHECK(between(authorization, "Signature=", ",") == signature(request, "h4nter2"));
    CHECK(header(request, "x-amz-content-sha256") == base::to_hex(base::sha256(request.body)));
    CHECK(request.headers.find("h4nter2") == std::string::npos);
  }
}

}  // namespace quantjit::remote
