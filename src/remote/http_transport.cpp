// SPDX-License-Identifier: Apache-2.0
#include "src/remote/http_transport.hpp"

#include "src/base/sha256.hpp"
#include "src/remote/make_backend.hpp"
#include "src/remote/sigpipe.hpp"

#include <algorithm>
#include <curl/curl.h>
#include <new>
#include <utility>

namespace quantjit::remote {
namespace {

constexpr std::size_t kMaxKept = 8;
// What is kept of the body of an answer that is not the thing asked for.
constexpr std::size_t kMaxComplaint = std::size_t{16} << 10;

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

class HeaderList {
 public:
  void add(const std::string& line) {
    curl_slist* const longer = curl_slist_append(list_.get(), line.c_str());
    if (longer == nullptr) {
      throw std::bad_alloc();
    }
    static_cast<void>(list_.release());
    list_.reset(longer);
  }

  [[nodiscard]] curl_slist* get() const { return list_.get(); }

 private:
  std::unique_ptr<curl_slist, FreeList> list_;
};

/// curl's own set-up, once for the process. It is never undone: others may use curl too.
bool curl_is_ready() {
  static const bool ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return ready;
}

}  // namespace

struct HttpTransport::Handle {
  CURL* curl = curl_is_ready() ? curl_easy_init() : nullptr;

  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  ~Handle() {
    if (curl != nullptr) {
      const SigpipeBlock no_signal;
      curl_easy_cleanup(curl);
    }
  }
};

/// One request on one handle.
class HttpTransport::Call {
 public:
  Call(CURL* curl, const TierSpec& spec, const HttpRequest& request)
      : curl_(curl), spec_(spec), request_(request) {}

  HttpAnswer run(const Deadline& deadline) {
    curl_easy_reset(curl_);  // connections stay
    set_limits(deadline);
    set_target();
    set_method();
    set_authentication();
    for (const std::string& line : request_.headers) {
      headers_.add(line);
    }
    set(CURLOPT_HTTPHEADER, headers_.get());
    const SigpipeBlock no_signal;
    const CURLcode code = option_error_ != CURLE_OK ? option_error_ : curl_easy_perform(curl_);
    if (out_of_memory_ || code == CURLE_OUT_OF_MEMORY) {
      throw std::bad_alloc();
    }
    answer_.status = status();
    answer_.whole = code == CURLE_OK && !cut_;
    if (code == CURLE_FILESIZE_EXCEEDED || cut_) {
      answer_.problem = "the body is longer than what is read";
    } else if (code != CURLE_OK) {
      answer_.problem = curl_easy_strerror(code);
    }
    return std::move(answer_);
  }

 private:
  template <typename Value>
  void set(CURLoption option, Value value) {
    const CURLcode code = curl_easy_setopt(curl_, option, value);
    if (code != CURLE_OK && option_error_ == CURLE_OK) {
      option_error_ = code;
    }
  }

  void set_limits(const Deadline& deadline) {
    const auto left = std::max<std::int64_t>(deadline.remaining().count(), 1);  // 0 is no limit
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(left));
    set(CURLOPT_CONNECTTIMEOUT_MS,
        static_cast<long>(std::min<std::int64_t>(left, spec_.connect_timeout.count())));
    set(CURLOPT_NOSIGNAL, 1L);
    if (request_.method != HttpMethod::kHead) {
      // Refuses a body by its announced length.
      set(CURLOPT_MAXFILESIZE_LARGE,
          static_cast<curl_off_t>(std::max(request_.max_bytes, kMaxComplaint)));
    }
    set(CURLOPT_WRITEFUNCTION, &Call::receive);
    set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  }

  void set_target() {
    set(CURLOPT_URL, request_.url.c_str());
#if LIBCURL_VERSION_NUM >= 0x075500
    set(CURLOPT_PROTOCOLS_STR, "http,https");
#else
    set(CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    // Only the tier's own proxy, none of the environment's; and its headers are no server's.
    set(CURLOPT_PROXY, spec_.proxy.c_str());
    set(CURLOPT_NOPROXY, "");
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    if (!spec_.ca_file.empty()) {
      set(CURLOPT_CAINFO, spec_.ca_file.c_str());
    }
  }

  void set_method() {
    switch (request_.method) {
      case HttpMethod::kGet: set(CURLOPT_HTTPGET, 1L); return;
      case HttpMethod::kHead: set(CURLOPT_NOBODY, 1L); return;
      case HttpMethod::kDelete: set(CURLOPT_CUSTOMREQUEST, "DELETE"); return;
      case HttpMethod::kPut: set_body("PUT", "Content-Type: application/octet-stream"); return;
      case HttpMethod::kPost: set_body("POST", "Content-Type: application/json"); return;
    }
  }

  void set_body(const char* method, const char* type) {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    set(CURLOPT_POSTFIELDS, request_.body.empty() ? "" : request_.body.data());
    set(CURLOPT_CUSTOMREQUEST, method);
    headers_.add(type);
    if (spec_.sigv4_region.empty()) {
      headers_.add("Expect:");  // else curl waits for a permission that few servers give
    } else {
      // S3 gives it. Old versions of curl would sign the header that is not to be sent.
      set(CURLOPT_EXPECT_100_TIMEOUT_MS, 200L);
    }
  }

  void set_authentication() {
    if (spec_.user.empty() && request_.password.empty()) {
      return;
    }
    set(CURLOPT_USERNAME, spec_.user.c_str());
    set(CURLOPT_PASSWORD, request_.password.c_str());
    if (spec_.sigv4_region.empty()) {
      set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
      return;
    }
    const std::string scheme = "aws:amz:" + spec_.sigv4_region + ":s3";
    set(CURLOPT_AWS_SIGV4, scheme.c_str());
    // S3 wants it; curl makes it by itself from 7.88 on only.
    headers_.add("x-amz-content-sha256: " + base::to_hex(base::sha256(request_.body)));
  }

  [[nodiscard]] int status() const {
    long status = 0;
    curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status);
    return static_cast<int>(status);
  }

  static std::size_t receive(char* bytes, std::size_t size, std::size_t count, void* self) {
    return static_cast<Call*>(self)->take({bytes, size * count});
  }

  /// Fewer than there are ends the transfer.
  std::size_t take(std::string_view bytes) noexcept {
    const std::size_t most = status() < 300 ? request_.max_bytes : kMaxComplaint;
    if (bytes.size() > most - std::min(answer_.body.size(), most)) {
      cut_ = true;
      return 0;
    }
    try {
      answer_.body.append(bytes);
    } catch (const std::bad_alloc&) {
      out_of_memory_ = true;
      return 0;
    }
    return bytes.size();
  }

  CURL* curl_;
  const TierSpec& spec_;
  const HttpRequest& request_;
  HeaderList headers_;
  HttpAnswer answer_;
  CURLcode option_error_ = CURLE_OK;
  bool cut_ = false;
  bool out_of_memory_ = false;
};

HttpTransport::HttpTransport(TierSpec spec) : spec_(std::move(spec)) {}

HttpTransport::~HttpTransport() {
  if (home_.left()) {
    for (std::unique_ptr<Handle>& handle : kept_) {
      // The parent's connections: closing them properly would tell the server so.
      static_cast<void>(handle.release());
    }
  }
}

HttpAnswer HttpTransport::run(const HttpRequest& request, const Deadline& deadline) {
  std::unique_ptr<Handle> handle = take();
  if (handle->curl == nullptr) {
    HttpAnswer answer;
    answer.problem = "libcurl could not be set up";
    return answer;
  }
  HttpAnswer answer = Call(handle->curl, spec_, request).run(deadline);
  keep(std::move(handle));
  return answer;
}

std::unique_ptr<HttpTransport::Handle> HttpTransport::take() {
  if (!home_.left()) {
    const std::lock_guard lock(mutex_);
    if (!kept_.empty()) {
      std::unique_ptr<Handle> handle = std::move(kept_.back());
      kept_.pop_back();
      return handle;
    }
  }
  return std::make_unique<Handle>();
}

void HttpTransport::keep(std::unique_ptr<Handle> handle) {
  if (home_.left()) {
    return;
  }
  const std::lock_guard lock(mutex_);
  if (kept_.size() < kMaxKept) {
    kept_.push_back(std::move(handle));
  }
}

std::string http_version() {
  const curl_version_info_data* const found = curl_version_info(CURLVERSION_NOW);
  return found->version;
}

}  // namespace quantjit::remote
