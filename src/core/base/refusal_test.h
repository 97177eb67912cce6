// How tests ask what bad input is answered with.

#pragma once

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "base/error.h"

namespace outpace {

// The message of the usage error that `call` throws; "accepted" if it throws none.
inline std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return error.what();
  }
  return "accepted";
}

}  // namespace outpace
