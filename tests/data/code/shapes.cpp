#include <vector>

namespace geometry {

constexpr int kDefaultSides = 4;

class Shape {
 public:
  explicit Shape(int sides) : sides_(sides) {}
  virtual ~Shape() = default;
  double area() const;
  int sides() const { return sides_; }

 private:
  int sides_;
};

template <typename T>
struct Box {
  T value;
};

enum class Colour { Red, Green };

double Shape::area() const {
  return square(sides_);
}

template <typename T>
T twice(T value) {
  return value + value;
}

}  // namespace geometry
