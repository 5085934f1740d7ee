// Script of the site's pages in place of mdBook's own, which Debian's package lacks: colors of code,
// by the style sheet that suits the page's theme.
"use strict";
const isDark = ["navy", "coal", "ayu"].some(name => document.documentElement.classList.contains(name));
document.getElementById("highlight-css").disabled = isDark;
document.getElementById("tomorrow-night-css").disabled = !isDark;
document.getElementById("ayu-highlight-css").disabled = true;
for (const code of document.querySelectorAll("pre code")) {
  code.classList.add("hljs");
  if (/\blanguage-(sh|json|toml|lua)\b/.test(code.className)) hljs.highlightBlock(code);
}
