# Libraries from elsewhere, all seen as system headers. NOVASCOPE_DEPS is the folder that
# tools/toolchain/deps.sh fills from Debian packages.
set(NOVASCOPE_DEPS "$ENV{NOVASCOPE_DEPS}" CACHE PATH "Folder made by tools/toolchain/deps.sh")
if(NOT NOVASCOPE_DEPS)
  execute_process(COMMAND "${CMAKE_SOURCE_DIR}/tools/toolchain/deps.sh"
    OUTPUT_VARIABLE deps OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "tools/toolchain/deps.sh could not provide the libraries")
  endif()
  set(NOVASCOPE_DEPS "${deps}" CACHE PATH "" FORCE)
endif()

add_library(novascope_third_party INTERFACE)
target_include_directories(novascope_third_party SYSTEM INTERFACE "${NOVASCOPE_DEPS}/include")
