(() => {
  "use strict";
  const root = document.documentElement;
  const tip = document.getElementById("tip");

  const button = document.getElementById("theme");
  const isDark = () => root.dataset.theme
    ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  if (location.hash === "#dark" || location.hash === "#light") root.dataset.theme = location.hash.slice(1);
  button.hidden = false;
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; });

  // The words of a mark become its label, or the browser would show a second tooltip.
  const words = mark => {
    const title = mark.querySelector("title");
    if (title) { mark.setAttribute("aria-label", title.textContent); title.remove(); }
    return mark.getAttribute("aria-label");
  };
  let shown = null;
  const hide = () => {
    if (!shown) return;
    shown.mark.classList.remove("on");
    shown.crosshair.style.visibility = "hidden";
    tip.hidden = true;
    shown = null;
  };
  const show = (svg, mark) => {
    if (shown && shown.mark === mark) return;
    hide();
    const crosshair = svg.querySelector(".crosshair");
    shown = { mark, crosshair };
    mark.classList.add("on");
    crosshair.setAttribute("x1", mark.dataset.cx);
    crosshair.setAttribute("x2", mark.dataset.cx);
    crosshair.style.visibility = "visible";
    tip.textContent = words(mark);
    tip.hidden = false;
    const at = new DOMPoint(+mark.dataset.cx, +mark.dataset.cy).matrixTransform(svg.getScreenCTM());
    const box = tip.getBoundingClientRect();
    const wide = root.clientWidth;
    const left = at.x + 16 + box.width > wide - 6 ? at.x - 16 - box.width : at.x + 16;
    const top = Math.min(Math.max(at.y - box.height / 2, 6), innerHeight - box.height - 6);
    tip.style.transform = `translate(${Math.max(6, Math.min(left, wide - box.width - 6))}px, ${top}px)`;
  };

  for (const svg of document.querySelectorAll("svg[data-nearest]")) {
    const marks = [...svg.querySelectorAll(".mark")];
    if (!marks.length) continue;
    const byTime = svg.dataset.nearest === "x";
    const distance = (mark, point) => {
      const data = mark.dataset;
      if (byTime) return Math.max(+data.x0 - point.x, point.x - +data.x1, 0);
      return Math.hypot(+data.cx - point.x, +data.cy - point.y);
    };
    svg.addEventListener("pointermove", event => {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      let best = null, least = byTime ? 30 : 48;
      for (const mark of marks) {
        const away = distance(mark, point);
        if (away < least) { least = away; best = mark; }
      }
      if (best) show(svg, best); else hide();
    });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", event => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (event.key === "Escape") hide();
      if (!step) return;
      event.preventDefault();
      const now = shown ? marks.indexOf(shown.mark) : step > 0 ? -1 : marks.length;
      show(svg, marks[(now + step + marks.length) % marks.length]);
    });
  }
  addEventListener("scroll", hide, { passive: true });

  // Show the trials of one server, or the void ones.
  const table = document.getElementById("trials");
  if (table) {
    const rows = [...table.tBodies[0].rows];
    const bar = document.createElement("div");
    bar.className = "filters";
    const add = (name, keep) => {
      const choice = document.createElement("button");
      choice.type = "button";
      choice.textContent = name;
      choice.addEventListener("click", () => {
        for (const other of bar.children) other.setAttribute("aria-pressed", other === choice);
        for (const row of rows) row.hidden = !keep(row);
      });
      bar.append(choice);
      return choice;
    };
    add("all", () => true).setAttribute("aria-pressed", "true");
    for (const server of new Set(rows.map(row => row.dataset.server))) {
      add(server, row => row.dataset.server === server);
    }
    if (rows.some(row => row.dataset.void === "true")) add("void", row => row.dataset.void === "true");
    table.parentElement.before(bar);
  }
})();
