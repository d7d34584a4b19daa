# The project's own building blocks: compile options, and one library per folder of src/ that sees the
# headers of exactly the folders it may include.

add_library(novascope_options INTERFACE)
target_compile_options(novascope_options INTERFACE
  -Wall -Wextra -Wshadow -Werror -Wno-missing-field-initializers -ffp-contract=off
  "-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=")
# nlohmann/json must be one and the same type in code with and without exceptions.
target_compile_definitions(novascope_options INTERFACE
  JSON_NOEXCEPTION=1 "NOVASCOPE_VERSION=\"${PROJECT_VERSION}\"")
if(EMSCRIPTEN)
  target_compile_options(novascope_options INTERFACE -msimd128
    # A variable that only an assert reads is not worth an attribute; the native build still warns.
    -Wno-error=unused-variable -Wno-error=unused-but-set-variable)
elseif(NOVASCOPE_SANITIZE)
  target_compile_options(novascope_options INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_definitions(novascope_options INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(novascope_options INTERFACE -fsanitize=address,undefined)
endif()

# The core does not throw; tests and the command line (whose parser throws) do.
add_library(novascope_no_exceptions INTERFACE)
target_compile_options(novascope_no_exceptions INTERFACE -fno-exceptions)
add_library(novascope_exceptions INTERFACE)
if(EMSCRIPTEN)
  target_compile_options(novascope_exceptions INTERFACE -fwasm-exceptions)
  target_link_options(novascope_exceptions INTERFACE -fwasm-exceptions)
endif()

set(NOVASCOPE_VECTORISERS_OFF -fno-tree-vectorize -fno-tree-slp-vectorize)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(NOVASCOPE_VECTORISERS_OFF -fno-vectorize -fno-slp-vectorize)
endif()

# Only src/kernels is compiled twice for the web: a target with the property NOVASCOPE_RELAXED links the
# variant with relaxed SIMD, every other target the baseline.
set(NOVASCOPE_KERNELS novascope_kernels)
if(EMSCRIPTEN)
  set(NOVASCOPE_KERNELS
    "$<IF:$<BOOL:$<TARGET_PROPERTY:NOVASCOPE_RELAXED>>,novascope_kernels_relaxed,novascope_kernels>")
endif()

# novascope_headers(FOLDER): a target through which the headers of src/FOLDER, and no others, are seen.
function(novascope_headers folder)
  file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/include/${folder}")
  file(CREATE_LINK "${CMAKE_SOURCE_DIR}/src/${folder}" "${CMAKE_BINARY_DIR}/include/${folder}/${folder}"
    SYMBOLIC)
  add_library(novascope_${folder}_headers INTERFACE)
  target_include_directories(novascope_${folder}_headers INTERFACE
    "${CMAKE_BINARY_DIR}/include/${folder}")
endfunction()

# novascope_library(NAME FOLDER folder SOURCES a.cc ... DEPENDS base ...): the library novascope_NAME of
# src/FOLDER. An empty source list makes a header-only library.
function(novascope_library name)
  cmake_parse_arguments(ARG "" "FOLDER" "SOURCES;DEPENDS;LINK" ${ARGN})
  if(NOT ARG_FOLDER)
    set(ARG_FOLDER ${name})
  endif()
  if(NOT TARGET novascope_${ARG_FOLDER}_headers)
    novascope_headers(${ARG_FOLDER})
  endif()
  set(scope INTERFACE)
  foreach(source IN LISTS ARG_SOURCES)
    if(NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
      message(WARNING "src/${ARG_FOLDER}/${source} is listed but missing")
      list(REMOVE_ITEM ARG_SOURCES "${source}")
    endif()
  endforeach()
  if(ARG_SOURCES)
    set(scope PUBLIC)
    add_library(novascope_${name} STATIC ${ARG_SOURCES})
    target_link_libraries(novascope_${name} PRIVATE novascope_options novascope_no_exceptions)
  else()
    add_library(novascope_${name} INTERFACE)
  endif()
  list(TRANSFORM ARG_DEPENDS PREPEND novascope_)
  list(TRANSFORM ARG_DEPENDS REPLACE "^novascope_kernels$" "${NOVASCOPE_KERNELS}")
  target_link_libraries(novascope_${name} ${scope} novascope_${ARG_FOLDER}_headers ${ARG_DEPENDS}
    ${ARG_LINK})
endfunction()

# novascope_node_program(TARGET): a wasm program for node, build/web/test/TARGET.cjs. Never MODULARIZE:
# such a file only defines a factory, prints nothing and exits with 0.
function(novascope_node_program target)
  set_target_properties(${target} PROPERTIES
    SUFFIX ".cjs" RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/test")
  target_link_options(${target} PRIVATE -sENVIRONMENT=node -sNODERAWFS=1 -sEXIT_RUNTIME=1
    -sALLOW_MEMORY_GROWTH=1 -sSTACK_SIZE=1MB -sSTACK_OVERFLOW_CHECK=1)
endfunction()

# novascope_embed(TARGET MODE HEADER NAMESPACE kName=path ...): makes HEADER ("gfx/shaders_data.h") from
# files and lets the sources of TARGET include it.
function(novascope_embed target mode header namespace)
  set(output "${CMAKE_BINARY_DIR}/generated/${header}")
  set(inputs ${ARGN})
  list(TRANSFORM inputs REPLACE "^[^=]*=" "")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DMODE=${mode}" "-DNAMESPACE=${namespace}" "-DOUTPUT=${output}"
            "-DFILES=${ARGN}" -P "${CMAKE_SOURCE_DIR}/cmake/embed.cmake"
    DEPENDS ${inputs} "${CMAKE_SOURCE_DIR}/cmake/embed.cmake"
    VERBATIM)
  target_sources(${target} PRIVATE "${output}")
  target_include_directories(${target} PRIVATE "${CMAKE_BINARY_DIR}/generated")
endfunction()
