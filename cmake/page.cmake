# The files of the page, as text in the program: src/see/dashboard/page/ and Debian's chart.js.

set(page_header ${CMAKE_BINARY_DIR}/page/page_bodies.h)
find_file(OUTPACE_CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js REQUIRED NO_CACHE)
set(page_folder ${CMAKE_SOURCE_DIR}/src/see/dashboard/page)
set(page_files ${page_folder}/index.html ${page_folder}/page.css ${page_folder}/page.js
               ${page_folder}/report.js ${OUTPACE_CHART_JS})
add_custom_command(
  OUTPUT ${page_header}
  COMMAND ${OUTPACE_PYTHON} ${CMAKE_SOURCE_DIR}/cmake/embed.py ${page_header}
          kIndexHtml=${page_folder}/index.html kPageCss=${page_folder}/page.css
          kPageJs=${page_folder}/page.js kReportJs=${page_folder}/report.js kChartJs=${OUTPACE_CHART_JS}
  DEPENDS ${page_files} ${CMAKE_SOURCE_DIR}/cmake/embed.py VERBATIM)
add_custom_target(page_bodies DEPENDS ${page_header})
add_dependencies(outpace_dashboard page_bodies)
target_include_directories(outpace_dashboard PRIVATE ${CMAKE_BINARY_DIR}/page)
# It takes half a minute by itself; in a file with others each of them would.
set_source_files_properties(src/see/dashboard/page_server.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
