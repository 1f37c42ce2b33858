// SPDX-License-Identifier: Apache-2.0
// Kernels and images.
#include "src/capi/guard.hpp"
#include "src/capi/handles.hpp"
#include "src/capi/json.hpp"
#include "src/capi/text.hpp"
#include "src/capi/traits.hpp"

#include <quantjit/quantjit.h>

using namespace quantjit;
using namespace quantjit::capi;

qj_status qj_kernel_get(qj_service* service, const char* traits, size_t traits_size, int32_t device,
                        void* stream, qj_kernel** kernel) {
  return guard([&] {
    require(service, "service");
    require(kernel, "kernel");
    *kernel = new qj_kernel(service->service.get(view_of(traits, traits_size, "traits"), device,
                                                 static_cast<Stream>(stream)));
  });
}

qj_status qj_kernel_get_traits(qj_service* service, const qj_traits* traits, int32_t device,
                               void* stream, qj_kernel** kernel) {
  return guard([&] {
    require(service, "service");
    require(kernel, "kernel");
    const Descriptor descriptor = descriptor_of(traits);
    validate(descriptor.traits);
    *kernel = new qj_kernel(service->service.get(descriptor, device, static_cast<Stream>(stream)));
  });
}

void qj_kernel_retain(qj_kernel* kernel) {
  if (kernel != nullptr) {
    kernel->uses.fetch_add(1, std::memory_order_relaxed);
  }
}

void qj_kernel_release(qj_kernel* kernel) {
  if (kernel != nullptr && kernel->uses.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    delete kernel;
  }
}

int32_t qj_kernel_device(const qj_kernel* kernel) {
  return kernel != nullptr ? kernel->kernel.device() : -1;
}

qj_status qj_kernel_info(const qj_kernel* kernel, char** json, size_t* size) {
  return guard([&] {
    require(kernel, "kernel");
    const detail::ImageState& image = *kernel->kernel.state()->image;
    store_text(kernel_json(image.info, image.code->size(), kernel->kernel.device()), json, size);
  });
}

qj_status qj_image_get(qj_service* service, const char* traits, size_t traits_size,
                       const char* arch, size_t arch_size, qj_image** image) {
  return guard([&] {
    require(service, "service");
    require(image, "image");
    ImageSource source = ImageSource::kMemory;
    Image found =
        service->service.get_image(service->service.parse(view_of(traits, traits_size, "traits")),
                                   Arch::parse(view_of(arch, arch_size, "arch")), &source);
    *image = new qj_image{std::move(found), source};
  });
}

void qj_image_release(qj_image* image) {
  delete image;
}

qj_status qj_image_info(const qj_image* image, char** json, size_t* size) {
  return guard([&] {
    require(image, "image");
    store_text(image_json(image->image.info(), image->image.code().size(), image->source), json,
               size);
  });
}

qj_status qj_image_code(const qj_image* image, const void** code, size_t* size) {
  return guard([&] {
    require(image, "image");
    require(code, "code");
    require(size, "size");
    *code = image->image.code().data();
    *size = image->image.code().size();
  });
}
