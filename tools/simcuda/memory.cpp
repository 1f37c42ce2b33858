// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include "warp.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <new>
#include <sys/mman.h>
#include <utility>

namespace quantjit::sim {

namespace {

constexpr std::uint64_t kAlignment = 256;
constexpr std::uint64_t kGuard = 4096;
constexpr std::uint64_t kFirstAddress = 0x7000'0000'0000;
/// How many freed ranges are remembered for reports.
constexpr std::size_t kFreedHistory = 65536;

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) {
  return (value + to - 1) / to * to;
}

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string name_of(const std::string& label, std::uint64_t address, std::uint64_t bytes) {
  std::string text = label.empty() ? std::string("allocation") : label;
  text += " [";
  text += hex(address);
  text += ", ";
  text += std::to_string(bytes);
  text += " bytes]";
  return text;
}

}  // namespace

Pages::Pages(std::uint64_t bytes) {
  if (bytes == 0) {
    return;
  }
  void* const p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    throw std::bad_alloc();
  }
  data_ = static_cast<std::uint8_t*>(p);
  size_ = bytes;
}

Pages::~Pages() {
  if (data_ != nullptr) {
    munmap(data_, size_);
  }
}

Pages::Pages(Pages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void Pages::clear() {
  if (data_ != nullptr) {
    madvise(data_, size_, MADV_DONTNEED);
  }
}

struct Memory::Block {
  Allocation view;
  Pages data;
  Pages init;
  Pages writers;
  Pages fine;

  /// `host` is memory of somebody else at `address`, or null.
  Block(std::uint64_t address, std::uint64_t bytes, std::string label, bool read_only,
        std::uint8_t* host = nullptr)
      : data(host == nullptr ? Pages(round_up(bytes, kAlignment)) : Pages()),
        init(round_up(bytes, kAlignment) / 8),
        writers(round_up(bytes, kAlignment)),
        fine(round_up(bytes, kAlignment) * 8) {
    view.address = address;
    view.bytes = bytes;
    view.label = std::move(label);
    view.read_only = read_only;
    view.data = host == nullptr ? data.data() : host;
    view.init = init.data();
    view.writers = reinterpret_cast<std::uint64_t*>(writers.data());
    view.fine = reinterpret_cast<std::uint64_t*>(fine.data());
  }
};

Memory::Memory(std::uint64_t capacity) : capacity_(capacity), next_address_(kFirstAddress) {}

Memory::~Memory() = default;

std::uint64_t Memory::allocate(std::uint64_t bytes, std::string label, bool read_only) {
  bytes = std::max<std::uint64_t>(bytes, 1);
  const std::unique_lock lock(mutex_);
  if (bytes > capacity_ - used_) {
    return 0;
  }
  const std::uint64_t address = next_address_;
  std::unique_ptr<Block> block;
  try {
    block = std::make_unique<Block>(address, bytes, std::move(label), read_only);
  } catch (const std::bad_alloc&) {
    return 0;
  }
  live_.emplace(address, std::move(block));
  used_ += bytes;
  next_address_ = round_up(address + bytes + kGuard, kAlignment);
  return address;
}

bool Memory::free(std::uint64_t address) {
  std::unique_ptr<Block> dead;
  const std::unique_lock lock(mutex_);
  const auto it = live_.find(address);
  if (it == live_.end()) {
    return false;
  }
  dead = std::move(it->second);
  live_.erase(it);
  used_ -= dead->view.bytes;
  if (freed_.size() >= kFreedHistory) {
    freed_.erase(freed_.begin());
  }
  freed_.emplace(address, Freed{dead->view.bytes, dead->view.label});
  return true;
}

std::uint64_t Memory::used() const {
  const std::shared_lock lock(mutex_);
  return used_;
}

const Allocation* Memory::find_locked(std::uint64_t address) const {
  auto it = live_.upper_bound(address);
  if (it == live_.begin()) {
    return nullptr;
  }
  --it;
  const Allocation& view = it->second->view;
  return view.contains(address, 1) ? &view : nullptr;
}

const Allocation* Memory::find(std::uint64_t address) const {
  const std::shared_lock lock(mutex_);
  return find_locked(address);
}

bool Memory::was_freed(std::uint64_t address) const {
  const std::shared_lock lock(mutex_);
  auto it = freed_.upper_bound(address);
  if (it == freed_.begin()) {
    return false;
  }
  --it;
  return address - it->first < it->second.bytes;
}

std::string Memory::describe(std::uint64_t address) const {
  const std::shared_lock lock(mutex_);
  if (const Allocation* in = find_locked(address)) {
    return name_of(in->label, in->address, in->bytes) + " at offset " +
           std::to_string(address - in->address);
  }
  auto freed = freed_.upper_bound(address);
  if (freed != freed_.begin() &&
      address - std::prev(freed)->first < std::prev(freed)->second.bytes) {
    --freed;
    return "freed " + name_of(freed->second.label, freed->first, freed->second.bytes) +
           " at offset " + std::to_string(address - freed->first);
  }
  const auto after = live_.upper_bound(address);
  std::string text;
  std::uint64_t distance = ~std::uint64_t{0};
  if (after != live_.begin()) {
    const Allocation& below = std::prev(after)->second->view;
    distance = address - (below.address + below.bytes);
    text = std::to_string(distance) + " bytes past the end of " +
           name_of(below.label, below.address, below.bytes);
  }
  if (after != live_.end() && after->first - address < distance) {
    const Allocation& above = after->second->view;
    text = std::to_string(above.address - address) + " bytes before " +
           name_of(above.label, above.address, above.bytes);
  }
  return text.empty() ? std::string("no allocation exists") : text;
}

bool Memory::write(std::uint64_t to, const void* from, std::uint64_t bytes) {
  const Allocation* at = find(to);
  if (bytes == 0) {
    return true;
  }
  if (at == nullptr || !at->contains(to, bytes)) {
    return false;
  }
  std::memcpy(at->data + (to - at->address), from, bytes);
  mark_initialized(to, bytes);
  return true;
}

bool Memory::read(void* to, std::uint64_t from, std::uint64_t bytes) const {
  const Allocation* at = find(from);
  if (bytes == 0) {
    return true;
  }
  if (at == nullptr || !at->contains(from, bytes)) {
    return false;
  }
  std::memcpy(to, at->data + (from - at->address), bytes);
  return true;
}

namespace {

bool get_bit(const std::uint8_t* bits, std::uint64_t i) {
  return ((bits[i / 8] >> (i % 8)) & 1) != 0;
}

void set_bits(std::uint8_t* bits, std::uint64_t first, std::uint64_t count, bool value) {
  std::uint64_t i = first;
  const std::uint64_t end = first + count;
  while (i < end) {
    if (i % 8 == 0 && end - i >= 8) {
      std::memset(bits + i / 8, value ? 0xFF : 0, (end - i) / 8);
      i += (end - i) / 8 * 8;
      continue;
    }
    const auto bit = static_cast<std::uint8_t>(1U << (i % 8));
    bits[i / 8] = static_cast<std::uint8_t>(value ? (bits[i / 8] | bit) : (bits[i / 8] & ~bit));
    ++i;
  }
}

void copy_bits(std::uint8_t* to, std::uint64_t at, const std::uint8_t* from, std::uint64_t start,
               std::uint64_t count) {
  if (at % 8 == 0 && start % 8 == 0) {
    std::memmove(to + at / 8, from + start / 8, count / 8);
    for (std::uint64_t i = count / 8 * 8; i < count; ++i) {
      set_bits(to, at + i, 1, get_bit(from, start + i));
    }
    return;
  }
  std::string old(count, '\0');  // the ranges may overlap
  for (std::uint64_t i = 0; i < count; ++i) {
    old[i] = get_bit(from, start + i) ? '\1' : '\0';
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    set_bits(to, at + i, 1, old[i] != '\0');
  }
}

}  // namespace

bool Memory::copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
  if (bytes == 0) {
    return true;
  }
  const Allocation* target = find(to);
  const Allocation* source = find(from);
  if (target == nullptr || source == nullptr || !target->contains(to, bytes) ||
      !source->contains(from, bytes)) {
    return false;
  }
  const std::uint64_t to_offset = to - target->address;
  const std::uint64_t from_offset = from - source->address;
  std::memmove(target->data + to_offset, source->data + from_offset, bytes);
  copy_bits(target->init, to_offset, source->init, from_offset, bytes);
  return true;
}

bool Memory::fill(std::uint64_t to, std::uint32_t value, unsigned width, std::uint64_t count) {
  if (count == 0) {
    return true;
  }
  const Allocation* at = find(to);
  if (at == nullptr || count > at->bytes || !at->contains(to, count * width)) {
    return false;
  }
  std::uint8_t* const first = at->data + (to - at->address);
  if (width == 1) {
    std::memset(first, static_cast<int>(value & 0xFF), count);
  } else {
    for (std::uint64_t i = 0; i < count; ++i) {
      std::memcpy(first + i * width, &value, width);
    }
  }
  mark_initialized(to, count * width);
  return true;
}

bool Memory::initialized(std::uint64_t address, std::uint64_t bytes) const {
  const Allocation* at = find(address);
  if (at == nullptr || !at->contains(address, bytes)) {
    return false;
  }
  const std::uint64_t offset = address - at->address;
  for (std::uint64_t i = 0; i < bytes; ++i) {
    if (!get_bit(at->init, offset + i)) {
      return false;
    }
  }
  return true;
}

void Memory::mark_initialized(std::uint64_t address, std::uint64_t bytes) {
  if (const Allocation* at = find(address)) {
    const std::uint64_t offset = address - at->address;
    set_bits(at->init, offset, std::min(bytes, at->bytes - offset), true);
  }
}

bool Memory::share(void* data, std::uint64_t bytes) {
  constexpr std::uint64_t kStep = 16;  // what the tags of writers divide into
  std::uint64_t first = reinterpret_cast<std::uint64_t>(data) / kStep * kStep;
  std::uint64_t end = reinterpret_cast<std::uint64_t>(data) + bytes;
  if (bytes == 0 || end < first) {
    return false;
  }
  const std::unique_lock lock(mutex_);
  auto from = live_.upper_bound(first);
  if (from != live_.begin() && std::prev(from)->second->view.contains(first, 1)) {
    --from;
  }
  auto to = from;
  for (; to != live_.end() && to->first < end; ++to) {
    const Allocation& view = to->second->view;
    if (view.data != reinterpret_cast<std::uint8_t*>(view.address)) {
      return false;  // an allocation of the device
    }
    if (view.contains(first, end - first)) {
      return true;
    }
    first = std::min(first, view.address);
    end = std::max(end, view.address + view.bytes);
  }
  try {
    auto block = std::make_unique<Block>(first, end - first, "shared host memory", false,
                                         reinterpret_cast<std::uint8_t*>(first));
    set_bits(block->view.init, 0, end - first, true);
    outgrown_.reserve(outgrown_.size() + static_cast<std::size_t>(std::distance(from, to)));
    for (auto outgrown = from; outgrown != to; ++outgrown) {
      outgrown_.push_back(std::move(outgrown->second));
    }
    live_.erase(from, to);
    live_.emplace(first, std::move(block));
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

std::uint64_t Memory::reserve_serials(std::uint64_t count) {
  return next_serial_.fetch_add(count, std::memory_order_relaxed);
}

bool Memory::written_by(std::uint64_t address, std::uint64_t bytes, std::uint64_t first,
                        std::uint64_t count) const {
  const Allocation* at = find(address);
  if (at == nullptr || !at->contains(address, bytes)) {
    return false;
  }
  const std::uint64_t offset = address - at->address;
  for (std::uint64_t i = offset; i < offset + bytes; ++i) {
    const std::uint64_t coarse = __atomic_load_n(at->writers + i / 8, __ATOMIC_RELAXED);
    const std::uint64_t tag =
        coarse == kTagSplit ? __atomic_load_n(at->fine + i, __ATOMIC_RELAXED) : coarse;
    if (tag != 0 && (tag >> kTagSerialShift) - first < count) {
      return true;
    }
  }
  return false;
}

}  // namespace quantjit::sim
