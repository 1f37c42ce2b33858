// SPDX-License-Identifier: Apache-2.0
// The set of simulated devices: created from the environment, in the order that is visible.
#include "device.hpp"

#include "settings.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <pthread.h>

namespace quantjit::simdriver {

namespace {

// Devices' address ranges are disjoint, as unified addressing promises, and far from any host
// address.
constexpr CUdeviceptr kFirstAddress = 0x0007000000000000;
constexpr CUdeviceptr kAddressesPerDevice = CUdeviceptr{1} << 44;
constexpr std::size_t kMaxDevices = 64;

struct Driver {
  std::once_flag once;
  CUresult result = CUDA_ERROR_NOT_INITIALIZED;
  std::atomic<bool> ready{false};
  std::atomic<bool> forked{false};
  std::vector<std::unique_ptr<Device>> all;
  std::vector<Device*> visible;
};

// Never destroyed: other threads may still be in a call while the process exits.
Driver& the_driver() {
  static auto* driver = new Driver;
  return *driver;
}

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> items;
  while (true) {
    const std::size_t comma = list.find(',');
    std::string_view item = list.substr(0, comma);
    while (!item.empty() && item.front() == ' ') {
      item.remove_prefix(1);
    }
    while (!item.empty() && item.back() == ' ') {
      item.remove_suffix(1);
    }
    items.push_back(item);
    if (comma == std::string_view::npos) {
      return items;
    }
    list.remove_prefix(comma + 1);
  }
}

std::string uuid_text(const Device& device) {
  const CUuuid uuid = device.uuid();
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += digits;
    if (i == 3 || i == 5 || i == 7 || i == 9) {
      text += '-';
    }
  }
  return text;
}

Device* select(const std::vector<std::unique_ptr<Device>>& all, std::string_view item) {
  if (item.substr(0, 4) == "GPU-") {
    Device* match = nullptr;
    for (const auto& device : all) {
      if (std::string_view(uuid_text(*device)).substr(0, item.size()) == item) {
        if (match != nullptr) {
          return nullptr;  // an ambiguous prefix selects nothing
        }
        match = device.get();
      }
    }
    return match;
  }
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), index);
  const bool whole = error == std::errc() && end == item.data() + item.size();
  return whole && index < all.size() ? all[index].get() : nullptr;
}

// As the real driver reads CUDA_VISIBLE_DEVICES: the list ends at the first entry that names no
// device, and a device named twice hides them all.
std::vector<Device*> visible_subset(const std::vector<std::unique_ptr<Device>>& all,
                                    std::string_view list) {
  std::vector<Device*> chosen;
  for (const std::string_view item : split(list)) {
    Device* device = select(all, item);
    if (device == nullptr) {
      break;
    }
    if (std::find(chosen.begin(), chosen.end(), device) != chosen.end()) {
      return {};
    }
    chosen.push_back(device);
  }
  return chosen;
}

CUresult create_devices(Driver& driver) {
  const Environment environment = read_environment();
  for (const std::string_view arch : split(environment.devices)) {
    const ArchSpec* spec = find_arch(arch);
    if (spec == nullptr || driver.all.size() == kMaxDevices) {
      std::fprintf(
          stderr,
          "simulated CUDA driver: QUANTJIT_SIM_DEVICES=%s has no device: entry '%s' is not "
          "one of %s, or there are more than %zu entries\n",
          environment.devices.c_str(), std::string(arch).c_str(), known_archs().c_str(),
          kMaxDevices);
      return CUDA_ERROR_NO_DEVICE;
    }
    driver.all.push_back(std::make_unique<Device>(*spec, static_cast<int>(driver.all.size())));
  }
  if (environment.visible) {
    driver.visible = visible_subset(driver.all, *environment.visible);
  } else {
    for (const auto& device : driver.all) {
      driver.visible.push_back(device.get());
    }
  }
  for (std::size_t i = 0; i < driver.visible.size(); ++i) {
    driver.visible[i]->ordinal = static_cast<int>(i);
  }
  return driver.visible.empty() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

}  // namespace

Device::Device(const ArchSpec& spec_, int slot_)
    : spec(spec_), slot(slot_), memory(spec_.memory_mib << 20) {
  memory.set_first_address(kFirstAddress + static_cast<CUdeviceptr>(slot_) * kAddressesPerDevice);
}

bool Device::spans(CUdeviceptr address) const {
  const CUdeviceptr first = kFirstAddress + static_cast<CUdeviceptr>(slot) * kAddressesPerDevice;
  return address >= first && address - first < kAddressesPerDevice;
}

CUdeviceptr Device::allocate(std::uint64_t bytes, CUcontext context) {
  const CUdeviceptr address = memory.allocate(bytes);
  if (address != 0) {
    const std::lock_guard lock(owners_mutex_);
    owners_[address] = {bytes, context};
  }
  return address;
}

bool Device::release(CUdeviceptr address) {
  const std::lock_guard lock(owners_mutex_);
  return owners_.erase(address) == 1 && memory.free(address);
}

void Device::release_all(CUcontext context) {
  const std::lock_guard lock(owners_mutex_);
  for (auto entry = owners_.begin(); entry != owners_.end();) {
    if (entry->second.context == context) {
      memory.free(entry->first);
      entry = owners_.erase(entry);
    } else {
      ++entry;
    }
  }
}

std::optional<std::pair<CUdeviceptr, AllocationOwner>> Device::owner(CUdeviceptr address) const {
  const std::lock_guard lock(owners_mutex_);
  auto entry = owners_.upper_bound(address);
  if (entry == owners_.begin()) {
    return std::nullopt;
  }
  --entry;
  if (address - entry->first >= entry->second.bytes) {
    return std::nullopt;
  }
  return *entry;
}

CUuuid Device::uuid() const {
  CUuuid uuid{};
  std::memcpy(uuid.bytes, "qj-sim", 6);
  uuid.bytes[8] = static_cast<char>(spec.sm);
  uuid.bytes[15] = static_cast<char>(slot + 1);
  return uuid;
}

std::string Device::pci_bus_id() const {
  char text[16];
  std::snprintf(text, sizeof(text), "0000:%02x:00.0", static_cast<unsigned>(slot + 1));
  return text;
}

CUresult initialize_driver() {
  Driver& driver = the_driver();
  std::call_once(driver.once, [&] {
    driver.result = create_devices(driver);
    if (driver.result == CUDA_SUCCESS) {
      pthread_atfork(nullptr, nullptr, [] { the_driver().forked = true; });
      driver.ready = true;
    }
  });
  return driver.forked ? CUDA_ERROR_NOT_INITIALIZED : driver.result;
}

void require_initialized() {
  const Driver& driver = the_driver();
  require(driver.ready && !driver.forked, CUDA_ERROR_NOT_INITIALIZED);
}

const std::vector<Device*>& visible_devices() {
  require_initialized();
  return the_driver().visible;
}

Device& device_at(int ordinal) {
  const std::vector<Device*>& devices = visible_devices();
  require(ordinal >= 0 && static_cast<std::size_t>(ordinal) < devices.size(),
          CUDA_ERROR_INVALID_DEVICE);
  return *devices[static_cast<std::size_t>(ordinal)];
}

Device* device_of(CUdeviceptr address) {
  for (Device* device : visible_devices()) {
    if (device->spans(address)) {
      return device;
    }
  }
  return nullptr;
}

}  // namespace quantjit::simdriver
