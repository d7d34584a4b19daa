// What only the browser has: attaching the input listeners to the module's canvas, once the window and its
// context exist, and giving the DOM fields the page's own font.
#pragma once

namespace novascope::platform {

void AttachInput();
// TrueType or OpenType bytes; must stay until the page is gone.
void ShareMonospaceFont(const void* data, int size);

}  // namespace novascope::platform
