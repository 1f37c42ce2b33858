// SPDX-License-Identifier: Apache-2.0
// Operations that the program registered.
#include "src/service/body.hpp"
#include "src/traits/custom.hpp"

#include <mutex>
#include <utility>
#include <vector>

namespace quantjit {

void KernelService::register_source(Source source) {
  body_->add_operation(std::move(source));
}

Descriptor KernelService::parse(std::string_view text) const {
  const std::size_t colon = text.find(':');
  if (auto operation = body_->find_operation(text.substr(0, colon))) {
    return traits::parse_custom(
        *operation, colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1));
  }
  return parse_descriptor(text);
}

void KernelService::Body::add_operation(Source source) {
  // A file of the library's sources that is hidden would be another kernel than its name says.
  static_cast<void>(sources()->with({{source.path, {}}}));
  replace_operation(traits::make_operation(std::move(source)));
}

const CustomOperation* KernelService::Body::find_operation(std::string_view name) {
  const std::shared_lock lock(operations_mutex_);
  const auto found = operations_.find(name);
  return found == operations_.end() ? nullptr : found->second;
}

void KernelService::Body::replace_operation(const CustomOperation& operation) {
  const CustomOperation* old = nullptr;
  {
    const std::unique_lock lock(operations_mutex_);
    old = std::exchange(operations_[operation.source.op], &operation);
  }
  if (old == nullptr || old == &operation) {
    return;
  }
  const auto is_of_old = [&old](const service::LoadedKey&, const Kernel& kernel) {
    const auto* const custom = std::get_if<CustomTraits>(&kernel.traits());
    return custom != nullptr && custom->operation == old;
  };
  static_cast<void>(take_loaded(is_of_old));
}

void KernelService::Body::reload_operations() {
  std::vector<const CustomOperation*> known;
  {
    const std::shared_lock lock(operations_mutex_);
    for (const auto& [name, operation] : operations_) {
      known.push_back(operation);
    }
  }
  for (const CustomOperation* const operation : known) {
    if (!operation->source.file.empty()) {
      Source source = operation->source;
      source.text.clear();
      replace_operation(traits::make_operation(std::move(source)));
    }
  }
}

}  // namespace quantjit
