(() => {
  "use strict";
  // Rows that do not have every word are hidden as one types; without scripts the server does it.
  const filter = document.querySelector("#filter input");
  const rows = [...document.querySelectorAll("#runs tbody tr")];
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      const button = row.querySelector("button");
      const pinned = button && button.getAttribute("aria-pressed") === "true" ? " pinned" : "";
      const text = row.textContent.toLowerCase() + pinned;
      row.hidden = !words.every(word => text.includes(word));
    }
  });
})();
