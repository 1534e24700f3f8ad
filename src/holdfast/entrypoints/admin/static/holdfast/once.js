// A second click would send the form again and create everything twice.
"use strict";

for (const form of document.querySelectorAll("form[method=post]")) {
  let isSent = false;
  form.addEventListener("submit", (event) => {
    if (isSent) {
      event.preventDefault();
    }
    isSent = true;
  });
  // The browser's back button shows the page as it was left.
  window.addEventListener("pageshow", () => {
    isSent = false;
  });
}
