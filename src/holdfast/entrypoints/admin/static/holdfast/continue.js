// Continues work that takes several requests. Without scripts, the person presses the button.
"use strict";

document.querySelector("#progress").closest("form").requestSubmit();
