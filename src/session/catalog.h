// Everything there is to choose from: every row of every table with its label and source. The
// page's menus, the command line's lists and the scenario's round-trip test walk this.
#pragma once

#include "base/json.h"

namespace novascope::session {

// The hello event.
Json Catalog();

}  // namespace novascope::session
