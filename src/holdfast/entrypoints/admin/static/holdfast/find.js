// The key "/" leads to the search box, unless somebody is typing.
"use strict";
document.addEventListener("keydown", (event) => {
  const box = document.getElementById("find-box");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || !box) return;
  const at = event.target;
  if (at instanceof Element && at.closest("input, textarea, select, [contenteditable]")) return;
  event.preventDefault();
  box.focus();
  box.select();
});
