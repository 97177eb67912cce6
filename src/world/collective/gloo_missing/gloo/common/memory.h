// Two types of Gloo's own headers that Debian's libgloo-dev leaves out, although its
// gloo/transport/tcp/pair.h includes the file. Only their size and the names matter: the program
// never looks into them. Where Gloo brings the file, this one is not used (CMakeLists.txt).

#pragma once

#include <memory>

namespace gloo {

template <typename T>
class NonOwningPtr final {
  std::shared_ptr<T> pointer_;
};

template <typename T>
class WeakNonOwningPtr final {
  std::weak_ptr<T> pointer_;
};

}  // namespace gloo
