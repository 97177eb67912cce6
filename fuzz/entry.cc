// What libFuzzer calls. OUTPACE_FUZZ_TARGET is the name of the target of this program.

#include "targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  outpace::fuzz::OUTPACE_FUZZ_TARGET(outpace::fuzz::Bytes(data, size));
  return 0;
}
