// SPDX-License-Identifier: Apache-2.0
#include "grid.hpp"

#include "cta.hpp"

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <thread>
#include <utility>

namespace quantjit::sim {

namespace {

/// The largest dynamic plus static shared memory of a CTA on the supported GPUs.
constexpr std::uint32_t kMaxShared = 227 * 1024;
/// CTAs that a worker takes at a time from the common counter.
constexpr std::uint64_t kBatch = 4;

/// The default floating point environment, whatever the caller's threads run in.
class FloatEnvironment {
 public:
  FloatEnvironment() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }

  ~FloatEnvironment() { std::fesetenv(&saved_); }

  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  std::fenv_t saved_{};
};

std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

[[noreturn]] void refuse(const Kernel& kernel, const std::string& problem) {
  Fault fault;
  fault.kind = FaultKind::kBadLaunch;
  fault.kernel = kernel.name;
  fault.message = "kernel " + kernel.name + " cannot be launched: " + problem;
  throw FaultError(std::move(fault));
}

void check_geometry(const Kernel& kernel, const Dim3& grid, const Dim3& block, std::uint32_t shared,
                    std::size_t parameters) {
  if (grid.count() == 0 || grid.x > 0x7FFFFFFF || grid.y > 65535 || grid.z > 65535) {
    refuse(kernel, "grid " + to_string(grid) + " is outside of (2147483647,65535,65535)");
  }
  if (block.count() == 0 || block.x > 1024 || block.y > 1024 || block.z > 64 ||
      block.count() > 1024) {
    refuse(kernel, "block " + to_string(block) + " is empty or has more than 1024 threads");
  }
  if (kernel.has_required_block && !(block == kernel.required_block)) {
    refuse(kernel, "block " + to_string(block) + " differs from .reqntid " +
                       to_string(kernel.required_block));
  }
  if (block.count() > kernel.max_threads) {
    refuse(kernel, "block " + to_string(block) + " has more threads than .maxntid allows (" +
                       std::to_string(kernel.max_threads) + ")");
  }
  if (shared > kMaxShared) {
    refuse(kernel,
           std::to_string(shared) + " bytes of shared memory exceed " + std::to_string(kMaxShared));
  }
  if (parameters != kernel.parameter_bytes) {
    refuse(kernel, "its parameters take " + std::to_string(kernel.parameter_bytes) +
                       " bytes, not " + std::to_string(parameters));
  }
}

std::uint32_t align_up(std::uint32_t value, std::uint32_t to) {
  return (value + to - 1) / to * to;
}

}  // namespace

// Image ------------------------------------------------------------------------------------------

Image::Image(std::shared_ptr<const Module> module, Memory& memory)
    : module_(std::move(module)), memory_(memory) {
  for (const Variable& variable : module_->variables()) {
    const std::uint64_t address =
        memory_.allocate(variable.bytes, "variable " + variable.name, variable.constant);
    if (address == 0) {
      for (const std::uint64_t done : addresses_) {
        memory_.free(done);
      }
      throw std::bad_alloc();
    }
    addresses_.push_back(address);
    memory_.fill(address, 0, 1, variable.bytes);
    memory_.write(address, variable.initial.data(), variable.initial.size());
  }
}

Image::~Image() {
  for (const std::uint64_t address : addresses_) {
    memory_.free(address);
  }
}

std::uint64_t Image::address(std::string_view name) const {
  const auto& variables = module_->variables();
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].name == name) {
      return addresses_[i];
    }
  }
  return 0;
}

// Grid -------------------------------------------------------------------------------------------

struct Grid::State {
  std::shared_ptr<const Image> image;
  Kernel kernel;
  Launch launch;
  GridStats stats;
  std::vector<std::unique_ptr<Cta>> suspended;
  std::vector<std::uint64_t> started;  ///< linear indices, sorted
  std::atomic<std::uint64_t> next{0};
  std::optional<Fault> fault;
  std::exception_ptr error;

  void record(const Fault& found) {
    const std::lock_guard lock(launch.mutex);
    if (!fault) {
      fault = found;
    }
    launch.stop.store(true);
  }

  /// Runs `body`, turning a fault into the launch's result.
  template <class F>
  void guarded(F&& body) {
    try {
      body();
    } catch (const FaultError& e) {
      record(e.fault());
    } catch (...) {
      const std::lock_guard lock(launch.mutex);
      error = std::current_exception();
      launch.stop.store(true);
    }
  }

  void work();
  void resume();
};

void Grid::State::work() {
  const FloatEnvironment environment;
  guarded([this] {
    Cta cta;
    for (;;) {
      const std::uint64_t first = next.fetch_add(kBatch, std::memory_order_relaxed);
      if (first >= launch.ctas) {
        return;
      }
      const std::uint64_t last = std::min(first + kBatch, launch.ctas);
      for (std::uint64_t i = first; i < last; ++i) {
        if (launch.stop.load(std::memory_order_relaxed)) {
          return;
        }
        if (std::binary_search(started.begin(), started.end(), i)) {
          continue;
        }
        cta.start(launch, i);
        (void)run_cta(cta);
      }
    }
  });
}

void Grid::State::resume() {
  const FloatEnvironment environment;
  for (const std::unique_ptr<Cta>& cta : suspended) {
    if (launch.stop.load()) {
      break;
    }
    cta->prologue = false;
    std::fill(std::begin(cta->cached), std::end(cta->cached), nullptr);
    for (Warp& warp : cta->warps) {
      if (warp.state == WarpState::kAtDependencyWait) {
        warp.state = WarpState::kReady;
      }
    }
    guarded([&] { (void)run_cta(*cta); });
  }
  suspended.clear();
}

Grid::Grid(std::shared_ptr<const Image> image, const Kernel& kernel, Dim3 grid, Dim3 block,
           std::uint32_t dynamic_shared_bytes, std::vector<std::uint8_t> parameters, Memory& memory,
           const GridOptions& options)
    : state_(std::make_unique<State>()) {
  const std::uint32_t shared =
      dynamic_shared_bytes > kMaxShared
          ? kMaxShared + 1
          : align_up(kernel.static_shared_bytes, 16) + dynamic_shared_bytes;
  check_geometry(kernel, grid, block, shared, parameters.size());
  state_->image = std::move(image);
  state_->kernel = kernel;
  Launch& launch = state_->launch;
  launch.kernel = &state_->kernel;
  launch.program = kernel.program.get();
  launch.memory = &memory;
  launch.constants = kernel.program->constants;
  for (const Relocation& r : kernel.program->relocations) {
    const std::uint64_t value =
        state_->image->addresses().at(r.variable) + static_cast<std::uint64_t>(r.addend);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      std::memcpy(launch.constants.data() + r.offset + lane * sizeof value, &value, sizeof value);
    }
  }
  launch.parameter_bytes = static_cast<std::uint32_t>(parameters.size());
  launch.parameters = std::move(parameters);
  launch.parameters.resize(launch.parameter_bytes + 32);
  launch.grid = grid;
  launch.block = block;
  launch.threads = static_cast<std::uint32_t>(block.count());
  launch.shared_bytes = shared;
  launch.dynamic_shared_bytes = dynamic_shared_bytes;
  launch.ctas = grid.count();
  launch.first_serial = memory.reserve_serials(launch.ctas);
  launch.options = options;
  if (launch.options.workers == 0) {
    launch.options.workers = std::max(1U, std::thread::hardware_concurrency());
  }
}

Grid::~Grid() = default;

void Grid::run_until_dependency_wait(double fraction, std::size_t limit) {
  State& s = *state_;
  const FloatEnvironment environment;
  const auto begin = std::chrono::steady_clock::now();
  // A random start and a random stride give a spread-out subset without listing the whole grid.
  const std::uint64_t ctas = s.launch.ctas;
  const auto wanted = std::min<std::uint64_t>(
      static_cast<std::uint64_t>(fraction * static_cast<double>(ctas) + 0.5), limit);
  for (std::uint64_t k = 0; k < wanted; ++k) {
    s.started.push_back(wanted == ctas ? k : mix(s.launch.options.seed * 0x10001 + k) % ctas);
  }
  std::sort(s.started.begin(), s.started.end());
  s.started.erase(std::unique(s.started.begin(), s.started.end()), s.started.end());
  for (const std::uint64_t linear : s.started) {
    if (s.launch.stop.load()) {
      break;
    }
    auto cta = std::make_unique<Cta>();
    cta->prologue = true;
    s.guarded([&] {
      cta->start(s.launch, linear);
      if (!run_cta(*cta)) {
        s.suspended.push_back(std::move(cta));
      }
    });
  }
  s.stats.seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::optional<Fault> Grid::run() {
  State& s = *state_;
  const auto begin = std::chrono::steady_clock::now();
  s.resume();
  const auto batches = (s.launch.ctas + kBatch - 1) / kBatch;
  const auto workers = std::min<std::uint64_t>(s.launch.options.workers, batches);
  std::vector<std::thread> threads;
  for (std::uint64_t i = 1; i < workers; ++i) {
    threads.emplace_back([&s] { s.work(); });
  }
  s.work();
  for (std::thread& thread : threads) {
    thread.join();
  }
  if (s.error) {
    std::rethrow_exception(s.error);
  }
  s.stats.seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  s.stats.lane_instructions = s.launch.lane_instructions.load();
  s.stats.warp_instructions = s.launch.warp_instructions.load();
  s.stats.ctas = s.launch.finished_ctas.load();
  return s.fault;
}

const std::vector<EarlyAccess>& Grid::early_accesses() const {
  return state_->launch.early;
}

Fault Grid::early_access_fault(const EarlyAccess& access, std::string_view predecessor) const {
  const Launch& launch = state_->launch;
  Fault fault;
  fault.kind = FaultKind::kRace;
  fault.kernel = launch.kernel->name;
  fault.block = access.block;
  fault.thread = access.thread;
  fault.ptx_line = access.ptx_line;
  for (const Source& source : launch.program->sources) {
    if (source.line == access.ptx_line) {
      fault.ptx_text = source.text;
    }
  }
  fault.address = access.address;
  fault.allocation = launch.memory->describe(access.address);
  fault.message = "kernel " + fault.kernel + ", block " + to_string(fault.block) + ", thread " +
                  to_string(fault.thread) + (access.write ? " writes " : " reads ") +
                  std::to_string(access.bytes) + " bytes (" + fault.allocation +
                  ") before griddepcontrol.wait, while " + std::string(predecessor) +
                  " may still be running, PTX line " + std::to_string(access.ptx_line) + ": " +
                  fault.ptx_text;
  return fault;
}

std::uint64_t Grid::ctas_without_wait() const {
  return state_->launch.ctas_without_wait.load();
}

Fault Grid::missing_wait_fault() const {
  const Launch& launch = state_->launch;
  Fault fault;
  fault.kind = FaultKind::kRace;
  fault.kernel = launch.kernel->name;
  fault.block = launch.block_without_wait;
  fault.message = "kernel " + fault.kernel + ", block " + to_string(fault.block) +
                  " exits without griddepcontrol.wait (as do " +
                  std::to_string(ctas_without_wait()) +
                  " blocks in all), so that a later launch may overtake the ones before it";
  return fault;
}

bool Grid::launched_dependents() const {
  return state_->launch.launched_dependents.load();
}

bool Grid::wrote(std::uint64_t address, std::uint64_t bytes) const {
  return state_->launch.memory->written_by(address, bytes, state_->launch.first_serial,
                                           state_->launch.ctas);
}

const GridStats& Grid::stats() const {
  return state_->stats;
}

const Kernel& Grid::kernel() const {
  return state_->kernel;
}

}  // namespace quantjit::sim
