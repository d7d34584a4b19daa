#include "ui/font_files.h"

#include "ui/fonts_data.h"

namespace novascope::ui {

FontFile SansFont() { return {kInterRegular, static_cast<int>(sizeof kInterRegular)}; }
FontFile SansBoldFont() { return {kInterSemiBold, static_cast<int>(sizeof kInterSemiBold)}; }
FontFile MonoFont() { return {kJetBrainsMono, static_cast<int>(sizeof kJetBrainsMono)}; }

}  // namespace novascope::ui
