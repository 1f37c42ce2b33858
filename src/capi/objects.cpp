// SPDX-License-Identifier: Apache-2.0
#include "src/capi/guard.hpp"
#include "src/capi/text.hpp"

#include <quantjit/error.hpp>
#include <quantjit/quantjit.h>
#include <quantjit/tensor.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

using namespace quantjit;
using namespace quantjit::capi;

namespace {

/// Tensors that were read from objects. Shapes are copied: once the lock is left, the objects' own
/// may change.
class Tensors {
 public:
  explicit Tensors(const qj_object_reader& reader) : reader_(reader) {}

  const qj_dltensor* read(void* object, const char* name) {
    require(object, name);
    Kept& kept = kept_[count_++];
    qj_dltensor& tensor = kept.tensor;
    if (reader_.read(object, &tensor) != 0) {
      throw InvalidArgument(name, "an object that its reader does not take", "it must be a tensor");
    }
    if (tensor.ndim > 0 && tensor.ndim <= TensorView::kMaxDims) {  // others are refused later
      keep(tensor.shape, tensor.ndim, kept.shape);
      keep(tensor.strides, tensor.ndim, kept.strides);
    }
    return &tensor;
  }

 private:
  using Sizes = std::array<std::int64_t, TensorView::kMaxDims>;

  struct Kept {
    qj_dltensor tensor;
    Sizes shape;
    Sizes strides;
  };

  static void keep(std::int64_t*& sizes, std::int32_t ndim, Sizes& room) {
    if (sizes != nullptr) {
      sizes = std::copy_n(sizes, ndim, room.data()) - ndim;
    }
  }

  const qj_object_reader& reader_;
  std::array<Kept, 4> kept_{};
  std::size_t count_ = 0;
};

/// Without the other language's lock: a launch may wait until the stream takes it, perhaps for a
/// thread that wants the lock.
class Left {
 public:
  explicit Left(const qj_object_reader& reader)
      : reader_(reader), state_(reader.leave != nullptr ? reader.leave() : nullptr) {}

  Left(const Left&) = delete;
  Left& operator=(const Left&) = delete;

  ~Left() {
    if (reader_.enter != nullptr) {
      reader_.enter(state_);
    }
  }

 private:
  const qj_object_reader& reader_;
  void* state_;
};

}  // namespace

qj_status qj_launch_objects(const qj_kernel* kernel, const qj_object_reader* reader,
                            const qj_object_operands* operands, void* stream) {
  return guard([&]() -> qj_status {
    require(kernel, "kernel");
    const qj_object_reader how = read_struct(reader, "reader");
    const qj_object_operands objects = read_struct(operands, "operands");
    if (how.read == nullptr) {
      refuse_null("reader.read");
    }
    if ((how.leave == nullptr) != (how.enter == nullptr)) {
      throw InvalidArgument("reader.leave and reader.enter", "one of them",
                            "both are given or none");
    }
    Tensors tensors(how);
    qj_operands given{.struct_size = sizeof(qj_operands),
                      .input = tensors.read(objects.input, "input"),
                      .output_q = tensors.read(objects.output_q, "output_q"),
                      .output_s = tensors.read(objects.output_s, "output_s"),
                      .masked_m = nullptr,
                      .expected_m = objects.expected_m};
    if (objects.masked_m != nullptr) {
      given.masked_m = tensors.read(objects.masked_m, "masked_m");
    }
    const Left left(how);
    return qj_kernel_launch(kernel, &given, stream);
  });
}
