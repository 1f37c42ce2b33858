// SPDX-License-Identifier: Apache-2.0
#include "cache/counter_log.hpp"

#include <algorithm>
#include <charconv>

namespace quantjit::cache {
namespace {

constexpr std::string_view kTitle = "quantjit-counters 1";
constexpr std::string_view kExtension = ".counts";
constexpr std::size_t kMaxFiles = 16;
constexpr std::size_t kMaxFileSize = 8192;

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

bool take_number(std::string_view& text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) {
    return false;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool any(const CounterValues& values) {
  return std::any_of(values.begin(), values.end(), [](std::uint64_t v) { return v != 0; });
}

std::vector<std::string> counter_files(Context& context, const std::string& directory) {
  std::vector<std::string> names = context.files.list(directory).value;
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(kExtension); });
  return names;
}

}  // namespace

std::string format_counters(const CounterValues& values) {
  std::string text(kTitle);
  text.push_back('\n');
  for (std::size_t number = 0; number < values.size(); ++number) {
    if (values[number] != 0) {
      text += std::to_string(number) + " " + std::to_string(values[number]) + "\n";
    }
  }
  return text.append("end\n");
}

bool add_counters(std::string_view text, CounterValues& sum) {
  if (take_line(text) != kTitle) {
    return false;
  }
  CounterValues values{};
  for (std::string_view line = take_line(text); line != "end"; line = take_line(text)) {
    std::uint64_t number = 0;
    std::uint64_t value = 0;
    if (!take_number(line, number) || !line.starts_with(' ')) {
      return false;
    }
    line.remove_prefix(1);
    if (!take_number(line, value) || !line.empty()) {
      return false;
    }
    if (number < values.size()) {  // else a counter of a later version
      values[number] += value;
    }
  }
  std::transform(sum.begin(), sum.end(), values.begin(), sum.begin(), std::plus<>());
  return true;
}

void CounterLog::flush(Root& root) {
  const std::lock_guard lock(mutex_);
  const CounterValues now = context_.counters->values();
  CounterValues delta{};
  std::transform(now.begin(), now.end(), flushed_.begin(), delta.begin(), std::minus<>());
  if (any(delta) && write_values(root, delta)) {
    flushed_ = now;
    merge(root);
  }
}

bool CounterLog::write_values(Root& root, const CounterValues& values) {
  FileSystem& files = context_.files;
  const std::string directory = root.area_path("counters");
  const std::string token = unique_token();
  const std::string temporary = directory + "/" + std::string(kTemporaryPrefix) + token;
  const std::uint32_t mode = root.state()->file_mode;
  IoResult<int> file = files.create(temporary, mode);
  if (!file.ok() && root.make_directories(directory) == 0) {
    file = files.create(temporary, mode);
  }
  if (!file.ok()) {
    return false;
  }
  IoError error = write_all(files, file.value, 0, format_counters(values));
  const IoError closed = files.close(file.value);
  error = error != 0 ? error : closed;
  if (error == 0) {
    error = files.rename(temporary, directory + "/" + token + std::string(kExtension));
  }
  if (error != 0) {
    static_cast<void>(files.unlink(temporary));
  }
  return error == 0;
}

/// Adds many files up into one. A file is taken by renaming it, which only one process can do.
void CounterLog::merge(Root& root) {
  FileSystem& files = context_.files;
  const std::string directory = root.area_path("counters");
  const std::vector<std::string> names = counter_files(context_, directory);
  if (names.size() <= kMaxFiles) {
    return;
  }
  CounterValues sum{};
  std::vector<std::string> taken;
  for (const std::string& name : names) {
    const std::string mine = directory + "/" + std::string(kTemporaryPrefix) + unique_token();
    if (files.rename(directory + "/" + name, mine) == 0) {
      add_counters(read_small_file(files, mine, kMaxFileSize).value, sum);
      taken.push_back(mine);
    }
  }
  if (!any(sum) || write_values(root, sum)) {
    for (const std::string& path : taken) {
      static_cast<void>(files.unlink(path));
    }
  }
}

CounterValues CounterLog::total(const Root& root) {
  const std::lock_guard lock(mutex_);
  CounterValues sum{};
  const CounterValues now = context_.counters->values();
  std::transform(now.begin(), now.end(), flushed_.begin(), sum.begin(), std::minus<>());
  const std::string directory = root.area_path("counters");
  for (const std::string& name : counter_files(context_, directory)) {
    add_counters(read_small_file(context_.files, directory + "/" + name, kMaxFileSize).value, sum);
  }
  return sum;
}

}  // namespace quantjit::cache
