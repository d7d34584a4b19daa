// Files and folders, for the command line.
#pragma once

#include <string>

#include "base/result.h"

namespace novascope::cli {

Result<std::string> ReadFile(const std::string& path, const char* field);
Status WriteFile(const std::string& path, const std::string& bytes, const char* field);

// The folder of scope-micro: under NOVASCOPE_ASSETS, else in an assets folder beside or above the
// program.
Result<std::string> FindModelDir(const char* program);

}  // namespace novascope::cli
