// SPDX-License-Identifier: Apache-2.0
// Arrays that start as zeros without being touched.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace hvsim::host {

/// `size` zeros. Where it is large, memory is taken page by page as entries are used: making one
/// takes no time. Throws std::bad_alloc.
template <class T>
class zeroed_array {
  static_assert(std::is_trivial_v<T>);

 public:
  zeroed_array() = default;
  explicit zeroed_array(std::size_t size)
      : data_(static_cast<T*>(std::calloc(size, sizeof(T)))), size_(size) {
    if (size != 0 && !data_) throw std::bad_alloc();
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }
  T* begin() { return data_.get(); }
  T* end() { return data_.get() + size_; }

 private:
  struct release {
    void operator()(T* p) const { std::free(p); }
  };
  std::unique_ptr<T, release> data_;
  std::size_t size_ = 0;
};

}  // namespace hvsim::host
