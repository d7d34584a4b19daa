# The toolchain of the preset "web": Emscripten's own, at the place em.sh found it.
if(NOT DEFINED ENV{NOVASCOPE_EMSCRIPTEN})
  message(FATAL_ERROR "The preset 'web' needs Emscripten: run tools/toolchain/em.sh cmake --preset web")
endif()
include("$ENV{NOVASCOPE_EMSCRIPTEN}/cmake/Modules/Platform/Emscripten.cmake")
