// The one place that names the GL header: GL ES 3.0, which is WebGL2 in the browser.
#pragma once

#include <GLES3/gl3.h>
