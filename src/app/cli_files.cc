#include "cli_files.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#ifdef __EMSCRIPTEN__
#include <emscripten/em_js.h>
#include <emscripten/em_macros.h>
#endif

#include "base/utf8.h"

namespace novascope::cli {

Result<std::string> ReadFile(const std::string& path, const char* field) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  std::string bytes;
  bool whole = file != nullptr;
  if (file != nullptr) {
    char buffer[1 << 16];
    for (size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;)
      bytes.append(buffer, n);
    whole = std::ferror(file) == 0;
    std::fclose(file);
  }
  if (whole) return bytes;
  return Error{ErrorCode::kBadFile, field, Excerpt(path, 76), "This file cannot be read.",
               "Check that it exists, is a file, and may be read."};
}

Status WriteFile(const std::string& path, const std::string& bytes, const char* field) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  bool whole = file != nullptr;
  if (file != nullptr) {
    whole = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    whole = std::fclose(file) == 0 && whole;
  }
  if (whole) return Ok{};
  return Error{ErrorCode::kInput, field, Excerpt(path, 76), "This file cannot be written.",
               "Check that its folder exists and may be written to."};
}

namespace {

#ifdef __EMSCRIPTEN__
// The environment of node itself; Emscripten's own is made up.
EM_JS_DEPS(novascope_environment, "$UTF8ToString,$stringToUTF8");
EM_JS(void, NodeEnvironment, (const char* name, char* value, int size), {
  stringToUTF8(process.env[UTF8ToString(name)] || "", value, size);
});
std::string Environment(const char* name) {
  char value[4096] = "";
  NodeEnvironment(name, value, sizeof value);
  return value;
}
#else
std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}
#endif

bool Exists(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace

// The folder of scope-micro: under NOVASCOPE_ASSETS, else beside or above the program.
Result<std::string> FindModelDir(const char* program) {
  const char* kInside = "models/scope-micro";
  if (const std::string assets = Environment("NOVASCOPE_ASSETS"); !assets.empty()) {
    return (std::filesystem::path(assets) / kInside).string();
  }
  std::error_code error;
  std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
#ifdef __EMSCRIPTEN__
  self.clear();  // that one is node
#endif
  if (self.empty()) self = std::filesystem::absolute(program, error);
  for (std::filesystem::path at = self.parent_path(); !at.empty(); at = at.parent_path()) {
    const std::filesystem::path dir = at / "assets" / kInside;
    if (Exists(dir / "config.json")) return dir.string();
    if (at == at.root_path()) break;
  }
#ifdef NOVASCOPE_ASSETS_DIR
  return (std::filesystem::path(NOVASCOPE_ASSETS_DIR) / kInside).string();
#else
  return Error{ErrorCode::kBadFile, "model_dir", "",
               "The model's folder was not found near the program.",
               "Give --model-dir, or set NOVASCOPE_ASSETS to the assets folder."};
#endif
}

}  // namespace novascope::cli
