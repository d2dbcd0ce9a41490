// SPDX-License-Identifier: Apache-2.0
// Dies as a test would that calls through a null pointer: its end must be a failure.
#include <thread>

int main() {
  std::thread([] { std::this_thread::yield(); }).join();
  void (*volatile function)() = nullptr;
  function();
}
