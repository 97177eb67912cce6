#include "base/student_t.h"

#include <boost/math/distributions/students_t.hpp>

#include "base/check.h"

namespace outpace {

double student_t(std::size_t degrees, double confidence) {
  CHECK(degrees > 0 && confidence > 0.0 && confidence < 1.0);
  const boost::math::students_t distribution(static_cast<double>(degrees));
  return boost::math::quantile(boost::math::complement(distribution, 0.5 * (1.0 - confidence)));
}

}  // namespace outpace
