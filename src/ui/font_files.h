// The page's fonts, embedded at build as subsets of Inter and JetBrains Mono.
#pragma once

#include "ui/theme.h"

namespace novascope::ui {

FontFile SansFont();
FontFile SansBoldFont();
FontFile MonoFont();

}  // namespace novascope::ui
