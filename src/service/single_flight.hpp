// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <future>
#include <mutex>
#include <unordered_map>

namespace quantjit::service {

/// Runs one producer per key at a time among threads; the others wait for its result, or its
/// exception. It remembers nothing once the producer is done: results live in the caller's map,
/// which the producer must look at again first.
template <typename Key, typename Value, typename Hash = std::hash<Key>>
class SingleFlight {
 public:
  /// @param on_wait called, outside any lock, if this thread has to wait for another one's result
  template <typename Producer, typename OnWait>
  Value run(const Key& key, Producer&& produce, OnWait&& on_wait) {
    std::promise<Value> promise;
    std::shared_future<Value> result;
    {
      const std::lock_guard lock(mutex_);
      const auto [it, inserted] = in_flight_.try_emplace(key);
      if (inserted) {
        it->second = promise.get_future().share();
      } else {
        result = it->second;
      }
    }
    if (result.valid()) {
      on_wait();
      return result.get();
    }
    try {
      Value value = produce();
      promise.set_value(value);
      forget(key);
      return value;
    } catch (...) {  // handed to every waiter and to the caller
      promise.set_exception(std::current_exception());
      forget(key);
      throw;
    }
  }

 private:
  void forget(const Key& key) {
    const std::lock_guard lock(mutex_);
    in_flight_.erase(key);
  }

  std::mutex mutex_;  // guards in_flight_; never held while producing
  std::unordered_map<Key, std::shared_future<Value>, Hash> in_flight_;
};

}  // namespace quantjit::service
