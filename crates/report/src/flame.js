(() => {
  "use strict";
  const figure = document.querySelector('[data-chart="profile"]');
  if (!figure) return;
  const root = document.documentElement;
  const tip = document.getElementById("tip");
  const sections = [...figure.querySelectorAll("section.profile")];
  const names = sections.map(section => section.querySelector("h3").textContent);
  // Pixels of a row, and the share of the drawing below which a box is not drawn.
  const row = 18, least = 0.001;
  const count = number => number.toLocaleString("en");
  const percent = share => `${(share * 100).toFixed(1)} %`;

  // Trees of calls: nodes know their caller, their calls, all samples below them and their whole path.
  const trees = JSON.parse(document.getElementById("summary").textContent).profiles.map(of => {
    const { objects, functions, nodes } = of.profile.stacks;
    const tree = nodes.map(([parent, named, own]) => ({
      parent, own, total: own, calls: [], caller: null, depth: 0, path: "",
      name: functions[named][0], object: objects[functions[named][1]],
    }));
    for (let at = tree.length - 1; at >= 0; at--) {
      if (tree[at].parent) tree[tree[at].parent - 1].total += tree[at].total;
    }
    const all = { calls: [], total: 0, path: "", depth: -1 };
    const paths = new Map(), anywhere = new Map();
    for (const node of tree) {
      const caller = node.parent ? tree[node.parent - 1] : all;
      node.caller = node.parent ? caller : null;
      node.key = `${node.object}\t${node.name}`;
      node.path = `${caller.path}\n${node.key}`;
      node.depth = caller.depth + 1;
      caller.calls.push(node);
      paths.set(node.path, node);
    }
    for (const node of tree) {
      node.calls.sort((a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
      let within = node.caller;
      while (within && within.key !== node.key) within = within.caller;
      // A function that calls itself counts once.
      if (!within) anywhere.set(node.key, (anywhere.get(node.key) || 0) + node.total);
    }
    all.calls.sort((a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
    all.total = all.calls.reduce((sum, node) => sum + node.total, 0) || 1;
    return { all, paths, anywhere, server: of.server };
  });

  const state = { shown: 0, other: -1, zoom: null, query: "", at: null };
  const make = (name, properties, parent) => {
    const element = Object.assign(document.createElement(name), properties);
    if (parent) parent.append(element);
    return element;
  };
  const bar = make("div", { className: "filters flame-bar" });
  const choice = (words, id, first) => {
    const label = make("label", { textContent: words }, bar);
    const select = make("select", { id }, label);
    if (first) make("option", { value: -1, textContent: first }, select);
    names.forEach((name, value) => make("option", { value, textContent: name }, select));
    return select;
  };
  const shown = choice("shown ", "flame-shown");
  const other = choice("against ", "flame-other", "nothing");
  other.parentElement.hidden = names.length < 2;
  const search = make("input", {
    type: "search", id: "flame-search", placeholder: "search functions and libraries",
  }, bar);
  search.setAttribute("aria-label", "search functions and libraries");
  const reset = make("button", { type: "button", id: "flame-reset", textContent: "whole graph" }, bar);
  const found = make("output", { id: "flame-found" }, bar);
  const note = make("p", { id: "flame-note", className: "dim" });
  sections[0].before(bar, note);

  // Share here and there: of the same path within a server, of the function anywhere between two.
  const shares = node => {
    const here = trees[state.shown], there = trees[state.other];
    if (here.server === there.server) {
      const same = there.paths.get(node.path);
      return [node.total / here.all.total, same ? same.total / there.all.total : 0];
    }
    return [here, there].map(tree => (tree.anywhere.get(node.key) || 0) / tree.all.total);
  };
  const words = node => {
    const total = trees[state.shown].all.total;
    const lines = [node.name, node.object || "thread",
      `${count(node.total)} of ${count(total)} samples, ${percent(node.total / total)}; own ${percent(node.own / total)}`];
    if (state.other >= 0 && node.object) {
      const [here, there] = shares(node), points = (here - there) * 100;
      const anywhere = trees[state.shown].server === trees[state.other].server ? "" : ", called from anywhere";
      lines.push(`${percent(here)} here, ${percent(there)} of ${names[state.other]} ` +
        `(${points < 0 ? "−" : "+"}${Math.abs(points).toFixed(1)} points)${anywhere}`);
    }
    return lines.join("\n");
  };
  const kind = object => object === "" ? "thread"
    : object === "kernel" || object.startsWith("[") ? "kernel" : object.includes(".so") ? "library" : "program";
  const isHit = node => `${node.name} ${node.object}`.toLowerCase().includes(state.query);
  // Samples whose stack has a match, each once.
  const matched = nodes => nodes.reduce((sum, node) => sum + (isHit(node) ? node.total : matched(node.calls)), 0);

  const hide = () => { tip.hidden = true; };
  const show = (node, x, y) => {
    tip.textContent = words(node);
    tip.hidden = false;
    const box = tip.getBoundingClientRect(), wide = root.clientWidth;
    const left = x + 14 + box.width > wide - 6 ? x - 14 - box.width : x + 14;
    const top = Math.min(Math.max(y + 12, 6), innerHeight - box.height - 6);
    tip.style.transform = `translate(${Math.max(6, Math.min(left, wide - box.width - 6))}px, ${top}px)`;
  };

  const draw = () => {
    const { all } = trees[state.shown];
    sections.forEach((section, at) => { section.hidden = at !== state.shown; });
    const flame = sections[state.shown].querySelector(".flame");
    const placed = [];
    const place = (node, left, width) => {
      placed.push({ node, left, width });
      let at = left;
      for (const call of node.calls) {
        const share = width * call.total / node.total;
        if (share >= least) place(call, at, share);
        at += share;
      }
    };
    if (state.zoom) {
      for (let up = state.zoom.caller; up; up = up.caller) placed.push({ node: up, left: 0, width: 1, isCaller: true });
      place(state.zoom, 0, 1);
    } else {
      let at = 0;
      for (const node of all.calls) { place(node, at, node.total / all.total); at += node.total / all.total; }
    }
    const changes = new Map();
    let most = 0.005;
    if (state.other >= 0) {
      for (const { node } of placed.filter(({ node }) => node.object)) {
        const [here, there] = shares(node);
        changes.set(node, here - there);
        most = Math.max(most, Math.abs(here - there));
      }
    }
    const depth = placed.reduce((deepest, { node }) => Math.max(deepest, node.depth), 0);
    flame.style.height = `${(depth + 1) * row}px`;
    flame.replaceChildren(...placed.map(({ node, left, width, isCaller }) => {
      const box = make("i", { className: kind(node.object), textContent: node.name });
      box.style.left = `${left * 100}%`;
      box.style.width = `${width * 100}%`;
      box.style.bottom = `${node.depth * row}px`;
      if (isCaller) box.classList.add("caller");
      if (state.query && isHit(node)) box.classList.add("hit");
      if (state.at === node) box.classList.add("on");
      if (state.other >= 0) {
        const change = changes.get(node) || 0, strength = Math.round(Math.sqrt(Math.abs(change) / most) * 75);
        box.style.background = `color-mix(in srgb, var(--s${change > 0 ? 1 : 0}) ${strength}%, var(--raised))`;
        box.dataset.change = (change * 100).toFixed(2);
      }
      box.node = node;
      return box;
    }));
    flame.classList.toggle("searching", state.query !== "");
    figure.classList.toggle("difference", state.other >= 0);
    reset.disabled = !state.zoom;
    found.textContent = state.query
      ? `in ${percent(matched(all.calls) / all.total)} of the samples` : "";
    note.textContent = state.other < 0 ? ""
      : `Orange: a larger share here than of ${names[state.other]}; blue: a smaller one.`;
  };
  const zoom = node => { state.zoom = node; state.at = null; hide(); draw(); };

  // A function in its place of another tree, where it has one.
  const again = node => node && (trees[state.shown].paths.get(node.path) || null);
  shown.addEventListener("change", () => {
    state.shown = +shown.value;
    if (state.other === state.shown) { state.other = -1; other.value = -1; }
    state.zoom = again(state.zoom);
    state.at = null;
    draw();
  });
  other.addEventListener("change", () => {
    state.other = +other.value === state.shown ? -1 : +other.value;
    other.value = state.other;
    draw();
  });
  search.addEventListener("input", () => { state.query = search.value.trim().toLowerCase(); draw(); });
  reset.addEventListener("click", () => zoom(null));
  for (const section of sections) {
    const flame = section.querySelector(".flame");
    flame.addEventListener("click", event => { if (event.target.node) zoom(event.target.node); });
    flame.addEventListener("pointermove", event => {
      if (event.target.node) show(event.target.node, event.clientX, event.clientY); else hide();
    });
    flame.addEventListener("pointerleave", hide);
    flame.addEventListener("blur", hide);
    flame.addEventListener("keydown", event => {
      const largest = nodes => nodes.reduce((a, b) => a && a.total >= b.total ? a : b, null);
      const { all } = trees[state.shown], at = state.at || state.zoom;
      const beside = by => {
        const siblings = at ? (at.caller || all).calls : all.calls;
        return siblings[(siblings.indexOf(at) + by + siblings.length) % siblings.length];
      };
      const step = {
        ArrowUp: () => largest(at ? at.calls : all.calls) || at, ArrowDown: () => at && at.caller || at,
        ArrowLeft: () => beside(-1), ArrowRight: () => beside(1),
      }[event.key];
      if (event.key === "Enter" && at) zoom(at);
      else if (event.key === "Escape") zoom(null);
      else if (step) {
        state.at = step();
        draw();
        const box = [...flame.children].find(box => box.node === state.at);
        if (box) {
          const place = box.getBoundingClientRect();
          show(state.at, place.left, place.bottom);
        }
      } else return;
      event.preventDefault();
    });
  }
  addEventListener("scroll", hide, { passive: true });
  draw();
})();
