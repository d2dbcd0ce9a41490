// SPDX-License-Identifier: Apache-2.0
// A program that does what a test says, as an exec plugin and for the tests of child processes:
//   words WORD...       prints each word in brackets
//   variable NAME       prints the variable's value
//   print FILE          prints the file; "FILE.count" gets one byte more
//   fail STATUS TEXT    prints TEXT on standard error
//   fill BYTES          prints as many
//   hang FILE           makes the file and ends only when it is killed
//   input               prints how many bytes standard input has
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

// mingw's C runtime would expand "*".
extern "C" int _dowildcard;
int _dowildcard = 0;

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) return 2;
  const std::string& what = words[0];
  if (what == "words") {
    for (std::size_t i = 1; i < words.size(); ++i) std::cout << "[" << words[i] << "]";
  } else if (what == "variable") {
    const char* const value = std::getenv(words.at(1).c_str());
    std::cout << (value == nullptr ? "(unset)" : value);
  } else if (what == "print") {
    std::ofstream(words.at(1) + ".count", std::ios::app) << "x";
    std::cout << std::ifstream(words.at(1), std::ios::binary).rdbuf();
  } else if (what == "fail") {
    std::cerr << words.at(2) << "\n";
    return std::stoi(words.at(1));
  } else if (what == "fill") {
    std::cout << std::string(std::stoul(words.at(1)), 'x');
  } else if (what == "hang") {
    std::ofstream file(words.at(1));
    file << "x" << std::flush;
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  } else if (what == "input") {
    int bytes = 0;
    while (std::getchar() != EOF) ++bytes;
    std::cout << bytes;
  }
  return 0;
}
