#include "sim/special_functions.h"

#include <cmath>

#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/gamma.hpp>

#include "base/check.h"

namespace outpace::sim {

double gamma_cdf(double shape, double x) {
  CHECK(shape > 0);
  if (x <= 0) {
    return 0.0;
  }
  return std::isinf(x) ? 1.0 : boost::math::gamma_p(shape, x);
}

double beta_cdf(BetaShape shape, double x) {
  CHECK(shape.a > 0 && shape.b > 0 && x >= 0 && x <= 1);
  return boost::math::ibeta(shape.a, shape.b, x);
}

}  // namespace outpace::sim
