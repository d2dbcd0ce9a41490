// Feeds every file of a corpus folder to a fuzz target, so that ordinary test runs cover what
// fuzzing found. Usage: <target>_replay CORPUS_DIR
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

// Prints the name first: a crash then shows which file did it.
bool Replay(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "%s: cannot be read\n", file.string().c_str());
    return false;
  }
  std::printf("%s\n", file.filename().string().c_str());
  std::fflush(stdout);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  // An exact-size heap copy, as libFuzzer makes one: a read past the end meets the sanitizer.
  const std::vector<std::uint8_t> input(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(input.data(), input.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || !std::filesystem::is_directory(argv[1])) {
    std::fprintf(stderr, "usage: %s CORPUS_DIR\n", argv[0]);
    return 2;
  }
  std::size_t replayed = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[1])) {
    if (!entry.is_regular_file()) continue;
    if (!Replay(entry.path())) return 1;
    ++replayed;
  }
  std::printf("%zu inputs replayed\n", replayed);
  if (replayed == 0) {
    std::fprintf(stderr,
                 "%s: holds no file; a corpus starts with one valid and one refused input\n",
                 argv[1]);
    return 1;
  }
  return 0;
}
