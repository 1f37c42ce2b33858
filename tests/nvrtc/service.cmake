list(APPEND quantjit_nvrtc_sources service_jit.cpp)
