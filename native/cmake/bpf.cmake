# Compile the congestion controls of src/congestion/bpf/ for BPF and embed them in gensink, with
# libbpf to load them. A build without clang or libbpf works; nl_bpf_missing() reports the lack.

set(NL_BPF AUTO CACHE STRING "BPF congestion controls in gensink: ON, OFF or AUTO (if possible)")

# In the order of nl_cc_table in src/congestion/cc_table.c.
set(nl_bpf_cc_names scalable highspeed aimd fast)

function(nl_find_bpf_tools)
  find_program(NL_CLANG NAMES clang-14 clang clang-19 clang-18 clang-17 clang-16 clang-15)
  find_path(NL_BPF_INCLUDE bpf/bpf_helpers.h)
  set(NL_BPF_MISSING "" PARENT_SCOPE)
  if(NOT NL_CLANG)
    set(NL_BPF_MISSING "clang" PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND ${NL_CLANG} --print-targets OUTPUT_VARIABLE targets ERROR_QUIET)
  if(NOT targets MATCHES "bpf")
    set(NL_BPF_MISSING "a clang that compiles for BPF" PARENT_SCOPE)
    return()
  endif()
  # libelf may need zstd in addition to zlib, which a static link has to name.
  include(CheckCSourceCompiles)
  if(NL_STATIC_WORKS AND NOT NL_SANITIZE)
    set(CMAKE_REQUIRED_LINK_OPTIONS -static)
  endif()
  set(probe "#include <bpf/libbpf.h>\nint main(void) { return !bpf_object__open(\"x\"); }")
  foreach(more IN ITEMS "" "zstd")
    set(CMAKE_REQUIRED_LIBRARIES bpf elf z ${more})
    check_c_source_compiles("${probe}" NL_LIBBPF_LINKS_${more})
    if(NL_LIBBPF_LINKS_${more})
      set(NL_BPF_LIBRARIES ${CMAKE_REQUIRED_LIBRARIES} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(NL_BPF_MISSING "libbpf, libelf and zlib (static libraries)" PARENT_SCOPE)
endfunction()

function(nl_add_bpf_cc target)
  if(NL_BPF STREQUAL "OFF")
    target_compile_definitions(core PRIVATE NL_BPF_MISSING="it was switched off by NL_BPF=OFF")
    return()
  endif()
  nl_find_bpf_tools()
  if(NL_BPF_MISSING)
    if(NL_BPF STREQUAL "AUTO")
      # netlab's own messages state it too: pip hides this one
      string(CONCAT lack "the build found no ${NL_BPF_MISSING}: install clang libbpf-dev libelf-dev "
             "zlib1g-dev (apt) or clang libbpf elfutils zlib (conda), and build netlab again")
      message(WARNING "gensink is built without BPF congestion controls: ${lack}")
      target_compile_definitions(core PRIVATE "NL_BPF_MISSING=\"${lack}\"")
      return()
    endif()
    message(FATAL_ERROR "NL_BPF is ON, but this machine lacks ${NL_BPF_MISSING}")
  endif()
  set(here ${CMAKE_CURRENT_SOURCE_DIR})
  set(kernel_headers)
  if(CMAKE_LIBRARY_ARCHITECTURE)
    set(kernel_headers -idirafter /usr/include/${CMAKE_LIBRARY_ARCHITECTURE})
  endif()
  set(objects)
  foreach(cc IN LISTS nl_bpf_cc_names)
    set(object ${generated_dir}/${cc}.bpf.o)
    # no path of this machine in the object, so that its digest depends on the code only
    add_custom_command(OUTPUT ${object}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${generated_dir}
      COMMAND ${NL_CLANG} -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Wno-unused-parameter -Werror
              -ffile-prefix-map=${here}=. -fdebug-compilation-dir=.
              -I${here}/src -isystem ${NL_BPF_INCLUDE} ${kernel_headers}
              -c ${here}/src/congestion/bpf/${cc}.bpf.c -o ${object}
      DEPENDS src/congestion/bpf/${cc}.bpf.c src/congestion/bpf/cc.h src/congestion/cc_params.h
      COMMENT "Congestion control ${cc}")
    list(APPEND objects ${object})
  endforeach()
  set(embedded ${generated_dir}/cc_objects.c)
  add_custom_command(OUTPUT ${embedded}
    COMMAND ${Python_EXECUTABLE} ${here}/cmake/embed.py ${embedded} ${objects}
    DEPENDS ${objects} cmake/embed.py
    COMMENT "Congestion controls as data")
  target_sources(${target} PRIVATE ${embedded})
  target_compile_definitions(${target} PRIVATE NL_BPF)
  target_compile_definitions(core PRIVATE NL_BPF)
  target_link_libraries(${target} PUBLIC ${NL_BPF_LIBRARIES})
endfunction()
