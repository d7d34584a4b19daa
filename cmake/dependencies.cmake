# Libraries from elsewhere, all seen as system headers. NOVASCOPE_DEPS is the folder that
# tools/toolchain/deps.sh fills from Debian packages.
if(NOT NOVASCOPE_DEPS)
  set(NOVASCOPE_DEPS "$ENV{NOVASCOPE_DEPS}")
endif()
if(NOT NOVASCOPE_DEPS)
  execute_process(COMMAND "${CMAKE_SOURCE_DIR}/tools/toolchain/deps.sh"
    OUTPUT_VARIABLE NOVASCOPE_DEPS OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "tools/toolchain/deps.sh could not provide the libraries")
  endif()
endif()

add_library(novascope_third_party INTERFACE)
target_include_directories(novascope_third_party SYSTEM INTERFACE "${NOVASCOPE_DEPS}/include")

# Dear ImGui without its demo and file access; the browser build adds the GLFW and OpenGL ES 3 backends.
set(imgui_sources imgui imgui_draw imgui_tables imgui_widgets imgui_demo)
if(EMSCRIPTEN)
  list(APPEND imgui_sources backends/imgui_impl_glfw backends/imgui_impl_opengl3)
endif()
list(TRANSFORM imgui_sources PREPEND "${NOVASCOPE_DEPS}/imgui/")
list(TRANSFORM imgui_sources APPEND ".cpp")
add_library(imgui STATIC EXCLUDE_FROM_ALL ${imgui_sources})
target_include_directories(imgui SYSTEM PUBLIC "${NOVASCOPE_DEPS}/imgui" "${NOVASCOPE_DEPS}/imgui/backends")
target_compile_definitions(imgui PUBLIC
  IMGUI_DISABLE_OBSOLETE_FUNCTIONS IMGUI_DISABLE_DEMO_WINDOWS IMGUI_DISABLE_DEBUG_TOOLS
  IMGUI_DISABLE_FILE_FUNCTIONS IMGUI_DISABLE_DEFAULT_SHELL_FUNCTIONS
  $<$<BOOL:${EMSCRIPTEN}>:IMGUI_IMPL_OPENGL_ES3>)
target_compile_options(imgui PRIVATE -w -fno-exceptions
  $<$<BOOL:${NOVASCOPE_SANITIZE}>:-fsanitize=address,undefined>)
if(EMSCRIPTEN)
  target_compile_options(imgui PRIVATE -sUSE_GLFW=3)
endif()
