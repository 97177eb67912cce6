# CPack runs this once all components lie in their folders.
execute_process(COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_LIST_DIR}/finish.py ${CPACK_TEMPORARY_DIRECTORY}
                        ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}
                        ${CPACK_DEBIAN_PACKAGE_MAINTAINER}
                RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "the packages' folders were not finished")
endif()
