// Classifies what a camera sees, picture after picture, until it is ended.
//
//   camera PLAN [--device /dev/video0] [--size 640x480] [--frames N] [--mean M] [--scale S]
//               [--order rgb|bgr] [--labels FILE]
//   camera PLAN --from FILE --size 640x480 ...    pictures in a file, YUYV one after the other
#ifdef __linux__
#include <fcntl.h>
#include <linux/videodev2.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <cerrno>
#include <chrono>
#include <memory>

#include "options.hpp"

namespace {

using namespace pictures;

/// Two pixels in four bytes (brightness, blue, brightness, red; BT.601, limited range) to RGB.
void FromYuyv(const uint8_t* yuyv, Picture& picture) {
  const auto byte = [](double value) {
    return static_cast<uint8_t>(std::min(std::max(value + 0.5, 0.0), 255.0));
  };
  const size_t pixels = picture.rgb.size() / 3;
  for (size_t i = 0; i < pixels; ++i) {
    const uint8_t* pair = yuyv + i / 2 * 4;
    const double y = 1.164 * (pair[i % 2 * 2] - 16);
    const double blue = pair[1] - 128;
    const double red = pair[3] - 128;
    uint8_t* const rgb = &picture.rgb[i * 3];
    rgb[0] = byte(y + 1.596 * red);
    rgb[1] = byte(y - 0.392 * blue - 0.813 * red);
    rgb[2] = byte(y + 2.017 * blue);
  }
}

/// Where pictures come from.
class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;
  /// The next one; false: there is none, and `why` says why unless it was the last.
  virtual bool Next(Picture& picture, std::string* why) = 0;
};

class FileSource : public Source {
 public:
  explicit FileSource(const std::string& file) : stream_(file, std::ios::binary) {}
  bool Next(Picture& picture, std::string* why) override {
    if (!stream_.is_open()) *why = "the file of pictures cannot be read";
    std::vector<uint8_t> yuyv(picture.rgb.size() / 3 * 2);
    stream_.read(reinterpret_cast<char*>(yuyv.data()), static_cast<std::streamsize>(yuyv.size()));
    if (!stream_) return false;
    FromYuyv(yuyv.data(), picture);
    return true;
  }

 private:
  std::ifstream stream_;
};

#ifdef __linux__
/// A camera by Video4Linux, with buffers that driver and program share.
class CameraSource : public Source {
 public:
  CameraSource(const std::string& device, int width, int height) {
    why_ = Open(device, width, height);
  }
  ~CameraSource() override {
    if (descriptor_ < 0) return;
    int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    (void)Call(VIDIOC_STREAMOFF, &type);
    for (const Mapped& mapped : mapped_) {
      if (mapped.data != nullptr) munmap(mapped.data, mapped.bytes);
    }
    close(descriptor_);
  }

  bool Next(Picture& picture, std::string* why) override {
    v4l2_buffer buffer = Buffer();
    if (why_.empty() && !Call(VIDIOC_DQBUF, &buffer)) why_ = Words("waiting for a picture");
    if (!why_.empty()) {
      *why = why_;
      return false;
    }
    FromYuyv(mapped_[buffer.index].data, picture);
    if (!Call(VIDIOC_QBUF, &buffer)) why_ = Words("queueing a buffer");
    return true;
  }

 private:
  static constexpr uint32_t kBuffers = 4;
  struct Mapped {
    uint8_t* data = nullptr;
    size_t bytes = 0;
  };

  /// Starts the camera; why it cannot, or nothing.
  std::string Open(const std::string& device, int width, int height) {
    descriptor_ = open(device.c_str(), O_RDWR);
    if (descriptor_ < 0) return Words(device);
    v4l2_format format{};
    format.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    format.fmt.pix.width = static_cast<uint32_t>(width);
    format.fmt.pix.height = static_cast<uint32_t>(height);
    format.fmt.pix.pixelformat = V4L2_PIX_FMT_YUYV;
    if (!Call(VIDIOC_S_FMT, &format)) return Words(device + ": setting the size");
    if (format.fmt.pix.pixelformat != V4L2_PIX_FMT_YUYV ||
        format.fmt.pix.width != static_cast<uint32_t>(width) ||
        format.fmt.pix.height != static_cast<uint32_t>(height)) {
      return device + " gives no YUYV of this size: try --size " +
             std::to_string(format.fmt.pix.width) + "x" + std::to_string(format.fmt.pix.height);
    }
    v4l2_requestbuffers request{};
    request.count = kBuffers;
    request.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    request.memory = V4L2_MEMORY_MMAP;
    if (!Call(VIDIOC_REQBUFS, &request)) return Words(device + ": asking for buffers");
    for (uint32_t i = 0; i < request.count && i < kBuffers; ++i) {
      v4l2_buffer buffer = Buffer();
      buffer.index = i;
      if (!Call(VIDIOC_QUERYBUF, &buffer)) return Words(device + ": asking for a buffer");
      mapped_[i] = {nullptr, buffer.length};
      void* data = mmap(nullptr, buffer.length, PROT_READ, MAP_SHARED, descriptor_,
                        static_cast<off_t>(buffer.m.offset));
      if (data == MAP_FAILED) return Words(device + ": mapping a buffer");
      mapped_[i].data = static_cast<uint8_t*>(data);
      if (!Call(VIDIOC_QBUF, &buffer)) return Words(device + ": queueing a buffer");
    }
    int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    if (!Call(VIDIOC_STREAMON, &type)) return Words(device + ": starting");
    return "";
  }

  static v4l2_buffer Buffer() {
    v4l2_buffer buffer{};
    buffer.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    buffer.memory = V4L2_MEMORY_MMAP;
    return buffer;
  }
  bool Call(unsigned long request, void* argument) const {
    int result = 0;
    do {
      result = ioctl(descriptor_, request, argument);
    } while (result < 0 && errno == EINTR);
    return result >= 0;
  }
  static std::string Words(const std::string& what) { return what + ": " + std::strerror(errno); }

  int descriptor_ = -1;
  Mapped mapped_[kBuffers];
  std::string why_;
};
#endif

std::unique_ptr<Source> MakeSource(const Arguments& arguments, const Picture& picture) {
  const std::string file = arguments.Option("--from", "");
  if (!file.empty()) return std::make_unique<FileSource>(file);
#ifdef __linux__
  return std::make_unique<CameraSource>(arguments.Option("--device", "/dev/video0"), picture.width,
                                        picture.height);
#else
  (void)picture;
  return nullptr;
#endif
}

/// Classifies pictures as they come. Returns the exit status.
int Watch(const Arguments& arguments, const tenon::Plan& plan, tenon::Session& session,
          Picture picture) {
  using Clock = std::chrono::steady_clock;
  const std::unique_ptr<Source> source = MakeSource(arguments, picture);
  if (source == nullptr) return Complain("no camera on this system: give --from FILE");
  const Preparation preparation = ReadPreparation(arguments);
  const std::vector<std::string> labels = ReadLabels(arguments.Option("--labels", ""));
  const auto most = static_cast<int>(arguments.Number("--frames", 0));
  std::string why;
  int count = 0;
  for (; (most == 0 || count < most) && source->Next(picture, &why); ++count) {
    const auto start = Clock::now();
    if (!Fill(picture, preparation, plan.Input(0), session.InputData(0))) {
      return Complain("the plan does not take one picture: convert its model with --batch 1");
    }
    const auto filled = Clock::now();
    if (const auto error = session.Run()) return Complain(error->message);
    const std::chrono::duration<double, std::milli> before = filled - start;
    const std::chrono::duration<double, std::milli> run = Clock::now() - filled;
    const std::vector<float> scores = ValuesOf(plan.Output(0), session.OutputData(0));
    const size_t best = Best(scores, 1)[0];
    std::printf("%s %.4f (%.2f ms to prepare, %.2f ms to run)\n", LabelOf(labels, best).c_str(),
                static_cast<double>(scores[best]), before.count(), run.count());
    std::fflush(stdout);
  }
  return count == 0 ? Complain(why.empty() ? "not one picture" : why) : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  Picture picture;
  const std::string size = arguments.Option("--size", "640x480");
  const bool has_size = std::sscanf(size.c_str(), "%dx%d", &picture.width, &picture.height) == 2;
  if (arguments.words.size() != 1 || !has_size || picture.width < 2 || picture.height < 1 ||
      picture.width % 2 != 0 || picture.width > 16384 || picture.height > 16384) {
    return Complain(
        "usage: camera PLAN [--device /dev/video0 | --from FILE] [--size 640x480] "
        "[--frames N] [--mean M] [--scale S] [--order rgb|bgr] [--labels FILE]");
  }
  picture.rgb.resize(static_cast<size_t>(picture.width) * static_cast<size_t>(picture.height) * 3);
  auto plan = tenon::Plan::Open(arguments.words[0]);
  if (!plan) return Complain(plan.error().message);
  if (plan->InputCount() != 1 || plan->OutputCount() == 0) {
    return Complain("the plan does not take one picture");
  }
  auto session = tenon::Session::Open(*plan);
  if (!session) return Complain(session.error().message);
  return Watch(arguments, *plan, *session, std::move(picture));
}
