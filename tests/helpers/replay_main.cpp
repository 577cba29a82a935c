// The program that runs recorded launches under a sanitizer: replay <records> <results>.
//
// Each launch has buffers of its own, allocated with their exact sizes. Records are 64-bit integers
// unless said otherwise: number of launches; for each: kernel, grid[3], block[3], dynamic shared
// bytes, number of buffers, for each its size and bytes, number of arguments, for each either
// 1, buffer, offset or 0, size and bytes. The results are the buffers' bytes in order.

#include <fstream>

typedef long long Integer;
typedef int (*Launch)(const unsigned *, const unsigned *, size_t, size_t, void **,
                      const host_shim::Schedule *);

static Integer integer(std::ifstream &in) {
  Integer value = 0;
  in.read(reinterpret_cast<char *>(&value), sizeof value);
  return value;
}

static void extents(std::ifstream &in, unsigned *result) {
  for (int k = 0; k < 3; k++) result[k] = static_cast<unsigned>(integer(in));
}

static bool replay(std::ifstream &in, std::ofstream &out, const Launch *kernels) {
  unsigned grid[3], block[3];
  const Integer kernel = integer(in);
  extents(in, grid);
  extents(in, block);
  const Integer shared_bytes = integer(in);
  std::vector<std::pair<char *, Integer>> buffers(integer(in));
  for (auto &buffer : buffers) {
    buffer.second = integer(in);
    buffer.first = static_cast<char *>(malloc(buffer.second));
    in.read(buffer.first, buffer.second);
  }
  std::vector<std::vector<char>> values(integer(in));
  std::vector<void *> arguments;
  for (auto &value : values) {
    if (integer(in)) {
      char *address = buffers[integer(in)].first;
      address += integer(in);
      value.resize(sizeof address);
      memcpy(value.data(), &address, sizeof address);
    } else {
      value.resize(integer(in));
      in.read(value.data(), value.size());
    }
    arguments.push_back(value.data());
  }
  const host_shim::Schedule schedule = {host_shim::FORWARD, 0, 0, 0};
  const bool failed =
      kernels[kernel](grid, block, shared_bytes, 227 << 10, arguments.data(), &schedule);
  if (failed) fprintf(stderr, "launch %s\n", launch_error());
  for (auto &buffer : buffers) {
    out.write(buffer.first, buffer.second);
    free(buffer.first);
  }
  return failed;
}

static int replay_all(char **files, const Launch *kernels) {
  std::ifstream in(files[1], std::ios::binary);
  std::ofstream out(files[2], std::ios::binary);
  for (Integer left = integer(in); left > 0; left--)
    if (replay(in, out, kernels)) return 3;
  return 0;
}
