// Until the transports speak TLS: refuses to go on unencrypted where TLS is wanted.

#pragma once

#include "base/error.h"
#include "wire/tls_files.h"

namespace outpace::live {

inline void refuse_tls(const wire::TlsFiles& files) {
  if (files.any()) {
    throw usage_error(files.certificate +
                      ": TLS is not possible yet; remove this file, or --tls-cert, and add "
                      "--insecure-no-tls to the server");
  }
}

}  // namespace outpace::live
