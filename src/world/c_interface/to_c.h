// Between C and C++: errors as codes and texts, and what C brings as values.
// Tested by src/world/c_interface/worker_c_test.cc.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "outpace/worker.h"
#include "outpace/worker_c.h"

// What the opaque handle points to.
// NOLINTNEXTLINE(readability-identifier-naming): C's name.
struct outpace_memory {
  std::shared_ptr<const void> held;
};

namespace outpace::c_interface {

template <std::size_t kSize>
void copy_text(const std::string& text,
               char (&out)[kSize]) {  // NOLINT(modernize-avoid-c-arrays): C's.
  const std::size_t length = std::min(text.size(), kSize - 1);
  std::memcpy(out, text.data(), length);
  out[length] = '\0';
}

inline int fail(outpace_error* error, int code, const std::string& message) {
  if (error != nullptr) {
    error->code = code;
    copy_text(message, error->message);
  }
  return code;
}

// Runs what may throw; returns OUTPACE_OK or the error's code.
template <typename Function>
int for_c(outpace_error* error, Function function) noexcept {
  try {
    function();
    return OUTPACE_OK;
  } catch (const WorkerError& thrown) {
    return fail(error, thrown.exit_code(), thrown.what());
  } catch (const Error& thrown) {
    return fail(error, static_cast<int>(thrown.code()), thrown.what());
  } catch (const std::bad_alloc&) {
    return fail(error, OUTPACE_FAILURE, "out of memory");
  } catch (const std::exception& thrown) {
    return fail(error, OUTPACE_FAILURE, thrown.what());
  } catch (...) {
    return fail(error, OUTPACE_FAILURE, "an error that says nothing of itself");
  }
}

inline void require(bool holds, const std::string& message) {
  if (!holds) {
    throw usage_error(message);
  }
}

inline std::string text_or_empty(const char* text) {
  return text == nullptr ? "" : text;
}

// Where the bytes are, and how many; null and 0 if there are none.
inline const void* bytes_of(std::string_view bytes, std::size_t* size) {
  if (size != nullptr) {
    *size = bytes.size();
  }
  return bytes.empty() ? nullptr : bytes.data();
}

// Throws a usage error if a pointer is missing.
[[nodiscard]] std::vector<Parameter> to_parameters(const outpace_job& job);

}  // namespace outpace::c_interface
