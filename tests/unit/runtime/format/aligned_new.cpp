// Plans lie in vectors in these tests, and must be aligned to 16. On 64-bit targets all memory is.
#include <cstdlib>
#include <new>

#if __SIZEOF_POINTER__ < 8
[[gnu::noinline]] void* operator new(size_t size) {
  if (void* memory = std::aligned_alloc(16, (size + 16) / 16 * 16)) return memory;
  std::abort();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
#endif
