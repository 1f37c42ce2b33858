// SPDX-License-Identifier: Apache-2.0
// An engine in C++: its kernels are loaded once, a step of two quantizations is captured into a
// CUDA graph, and the graph is replayed on new inputs. What comes out is compared with the CPU
// reference.
#include "../engine_driver.h"

#include <quantjit/quantjit.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

namespace qj = quantjit;

constexpr std::int64_t kTokens = 8;
constexpr std::int64_t kHidden = 1024;

/// Memory of one tensor on the device and on the host.
class Buffer {
 public:
  Buffer(const engine_driver& driver, const qj::TensorSpec& spec)
      : driver_(driver),
        host_(spec.storage_bytes()),
        address_(engine_allocate(&driver, host_.size())),
        view_(spec.over(address_)),
        host_view_(spec.over(host_.data())) {
    upload();
  }

  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  ~Buffer() { driver_.release(number()); }

  [[nodiscard]] const qj::TensorView& device() const { return view_; }

  [[nodiscard]] const qj::TensorView& host() const { return host_view_; }

  void upload() {
    engine_check(driver_.copy_in(number(), host_.data(), host_.size()), "cuMemcpyHtoD");
  }

  /// Whether the device holds what the host does.
  [[nodiscard]] bool is_same() const {
    std::vector<std::byte> bytes(host_.size());
    engine_check(driver_.copy_out(bytes.data(), number(), bytes.size()), "cuMemcpyDtoH");
    return bytes == host_;
  }

 private:
  [[nodiscard]] std::uint64_t number() const { return reinterpret_cast<std::uintptr_t>(address_); }

  const engine_driver& driver_;
  std::vector<std::byte> host_;
  void* address_;
  qj::TensorView view_;
  qj::TensorView host_view_;
};

/// One quantization: its kernel and its tensors.
class Layer {
 public:
  Layer(const engine_driver& driver, qj::KernelService& service, const std::string& text,
        const Buffer& input)
      : descriptor_(service.parse(text)),
        kernel_(service.get(descriptor_, 0)),
        specs_(qj::output_specs(descriptor_.traits, input.device())),
        input_(input),
        q_(driver, specs_.q),
        s_(driver, specs_.s) {}

  void enqueue(qj::Stream stream) const {
    qj::per_token_group_quant(
        kernel_, {.input = input_.device(), .output_q = q_.device(), .output_s = s_.device()},
        stream);
  }

  /// Whether the device did what the CPU reference does.
  [[nodiscard]] bool check() const {
    const qj::reference::Target target{.arch = qj::Arch::parse("sm_90a")};
    qj::reference::per_token_group_quant(std::get<qj::PerTokenGroupQuant>(descriptor_.traits),
                                         target, {input_.host(), q_.host(), s_.host(), {}});
    return q_.is_same() && s_.is_same();
  }

 private:
  qj::Descriptor descriptor_;
  qj::Kernel kernel_;  // loaded before any capture begins, and kept as long as the graph
  qj::OutputSpecs specs_;
  const Buffer& input_;
  Buffer q_;
  Buffer s_;
};

/// A stream and the graph of what was enqueued on it once.
class Graph {
 public:
  template <typename Enqueue>
  Graph(const engine_driver& driver, Enqueue enqueue) : driver_(driver) {
    constexpr unsigned kNonBlocking = 1;
    constexpr int kThreadLocal = 1;
    engine_check(driver.create_stream(&stream_, kNonBlocking), "cuStreamCreate");
    engine_check(driver.begin_capture(stream_, kThreadLocal), "cuStreamBeginCapture");
    enqueue(static_cast<qj::Stream>(stream_));
    void* graph = nullptr;
    engine_check(driver.end_capture(stream_, &graph), "cuStreamEndCapture");
    engine_check(driver.instantiate(&executable_, graph, 0), "cuGraphInstantiate");
    engine_check(driver.destroy_graph(graph), "cuGraphDestroy");
  }

  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  ~Graph() {
    driver_.destroy_executable(executable_);
    driver_.destroy_stream(stream_);
  }

  void replay() {
    engine_check(driver_.launch_graph(executable_, stream_), "cuGraphLaunch");
    engine_check(driver_.synchronize(stream_), "cuStreamSynchronize");
  }

 private:
  const engine_driver& driver_;
  void* stream_ = nullptr;
  void* executable_ = nullptr;
};

bool run() {
  const engine_driver driver = engine_open_driver();
  qj::KernelService service;
  Buffer input(driver, {.dtype = qj::DType::kBF16,
                        .ndim = 2,
                        .shape = {kTokens, kHidden},
                        .strides = {kHidden, 1},
                        .storage_elements = kTokens * kHidden});
  const std::string common = "per_token_group_quant:numerics=exact,";
  const Layer packed(driver, service, common + "scale=ue8m0,layout=col", input);
  const Layer rows(driver, service, common + "scale=f32,layout=row,group=64", input);
  Graph step(driver, [&](qj::Stream stream) {
    packed.enqueue(stream);
    rows.enqueue(stream);
  });
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    qj::reference::generate(qj::reference::InputKind::kNormal, qj::DType::kBF16, seed,
                            kTokens * kHidden, kHidden, input.host().data);
    input.upload();
    step.replay();
    if (!packed.check() || !rows.check()) {
      std::printf("replay %d: the device and the CPU reference DIFFER\n", static_cast<int>(seed));
      return false;
    }
  }
  std::printf("3 replays: the device and the CPU reference agree\n");
  return true;
}

}  // namespace

int main() {
  try {
    return run() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
