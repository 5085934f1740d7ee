(() => {
  "use strict";
  const live = document.getElementById("live");
  const now = document.getElementById("now"), told = document.getElementById("told");
  const run = encodeURIComponent(live.dataset.run);
  let next = +live.dataset.next, trials = +live.dataset.trials;
  // The page is made anew by the server; only what trials amount to is taken from it.
  const redraw = async () => {
    const text = await (await fetch(`/live?run=${run}`)).text();
    const drawn = new DOMParser().parseFromString(text, "text/html").getElementById("so-far");
    document.getElementById("so-far").replaceChildren(...drawn.childNodes);
  };
  const look = async () => {
    let wait = 1000;
    try {
      const answer = await fetch(`/progress?run=${run}&from=${next}`);
      if (!answer.ok) throw new Error(answer.status);
      const seen = await answer.json();
      for (const line of seen.lines) {
        const item = document.createElement("li");
        item.textContent = line;
        told.append(item);
      }
      while (told.children.length > +live.dataset.lines) told.firstChild.remove();
      next = seen.next;
      now.textContent = seen.is_running ? seen.now : "This run has ended.";
      if (seen.trials !== trials) {
        trials = seen.trials;
        await redraw();
      }
      if (seen.has_report) { location.replace(seen.report); return; }
      if (!seen.is_running) return;
    } catch (error) {
      now.textContent = `No answer (${error.message}); asking again.`;
      wait = 5000;
    }
    setTimeout(look, wait);
  };
  look();
})();
