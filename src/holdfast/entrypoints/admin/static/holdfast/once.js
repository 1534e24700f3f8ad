// A second click would send the form again, and do everything twice.
"use strict";

for (const form of document.querySelectorAll("form[method=post]")) {
  let isSent = false;
  form.addEventListener("submit", (event) => {
    if (isSent) {
      event.preventDefault();
    }
    isSent = true;
  });
  // The browser's back button may show the page as it was left.
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) {
      isSent = false;
    }
  });
}
