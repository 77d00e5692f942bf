// Search in the call trees, and zoom by keyboard and pointer. Without this script, each picture has
// its widest frames.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const WIDTH_PX = 1120;
  const ROW_PX = 18;
  const LETTER_PX = 6.4;
  const BOLD_LETTER_PX = 7.2;
  // Narrower frames than this are not drawn, until the reader zooms to their callers.
  const NARROWEST_PX = 0.7;
  const LABEL_PX = 30;

  function start(figure) {
    const data = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    const frames = data.frames.map(([row, cost, kind, name, callers, named]) => ({
      row, cost, named, kind: data.kinds[kind], name: data.names[name], label: data.labels[name],
      callers: callers.map((caller) => data.names[caller]), caller: null, callees: [], left: 0,
    }));
    // The whole tree is the caller of the thread pools.
    const all = { row: -1, cost: data.total, callees: [], left: 0, caller: null, name: "all threads",
      label: "all threads", callers: [] };
    const open = [all];
    for (const frame of frames) {
      open.length = frame.row + 1;
      frame.caller = open[frame.row];
      const before = frame.caller.callees.at(-1);
      frame.left = before ? before.left + before.cost : frame.caller.left;
      frame.caller.callees.push(frame);
      open.push(frame);
    }
    const svg = figure.querySelector("svg");
    const scroll = figure.querySelector(".scroll");
    let root = all;
    let selected = null;
    let found = [];

    const number = (value) => (value === 0 ? "0" : Number(value.toPrecision(3)).toString());
    const costOf = (cost) => `${number(cost)} ${data.unit} per operation, `
      + `${number(cost / data.total * 100)} %`;
    const own = (frame) => frame.cost - frame.callees.reduce((sum, one) => sum + one.cost, 0);

    function say(frame) {
      if (!frame) { said.textContent = ""; return; }
      const callers = frame.callers.length
        ? `; called by ${frame.callers.at(-1)}, which calls little else` : "";
      const named = frame.named ? "; differs between the variants" : "";
      said.textContent = `${frame.name}: ${costOf(frame.cost)}, of which itself `
        + `${number(Math.max(0, own(frame)))} ${data.unit}${named}${callers}`;
    }

    function element(name, attributes, parent) {
      const made = document.createElementNS(SVG, name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      parent.append(made);
      return made;
    }

    function box(frame, left, width) {
      const row = frame.row;
      const isFound = found.includes(frame);
      const group = element("g", {
        class: [frame.kind[0], frame.named ? "named" : "", isFound ? "found" : "",
          frame === selected ? "selected" : "", found.length && !isFound ? "other" : ""]
          .filter(Boolean).join(" "),
      }, svg);
      element("title", {}, group).textContent = `${frame.name}: ${costOf(frame.cost)} `
        + `(${frame.kind[1]})`;
      element("rect", { x: left.toFixed(1), y: row * ROW_PX, width: width.toFixed(1),
        height: ROW_PX - 1 }, group);
      if (width >= LABEL_PX) {
        const most = Math.floor((width - 6) / (frame.named ? BOLD_LETTER_PX : LETTER_PX));
        const label = frame.label.length > most ? frame.label.slice(0, most - 1) + "…" : frame.label;
        element("text", { x: (left + 3).toFixed(1), y: row * ROW_PX + 12.5 }, group)
          .textContent = label;
      }
      group.addEventListener("click", () => zoom(frame));
      group.addEventListener("pointerenter", () => say(frame));
    }

    // Callers of the root have the full width, so the reader sees where they are.
    function draw() {
      for (const old of svg.querySelectorAll("g")) old.remove();
      const scale = WIDTH_PX / root.cost;
      for (let one = root.caller; one && one.row >= 0; one = one.caller) box(one, 0, WIDTH_PX);
      let deepest = Math.max(root.row, 0);
      const open = root.row < 0 ? [...root.callees] : [root];
      while (open.length) {
        const frame = open.pop();
        const width = frame.cost * scale;
        if (width < NARROWEST_PX) continue;
        box(frame, (frame.left - root.left) * scale, width);
        deepest = Math.max(deepest, frame.row);
        open.push(...frame.callees);
      }
      svg.setAttribute("viewBox", `0 0 ${WIDTH_PX} ${(deepest + 1) * ROW_PX}`);
      back.disabled = root === all;
    }

    function select(frame) {
      if (!frame || frame.row < 0) return;
      selected = frame;
      if (!isShown(frame)) root = shownFrom(frame);
      draw();
      say(frame);
    }

    const isBelow = (frame, top) => {
      for (let one = frame; one; one = one.caller) if (one === top) return true;
      return false;
    };
    const isShown = (frame) => isBelow(root, frame)
      || (isBelow(frame, root) && frame.cost / root.cost * WIDTH_PX >= NARROWEST_PX);

    // The nearest caller below which the frame is wide enough to have a label.
    function shownFrom(frame) {
      let one = frame;
      while (one.caller && frame.cost / one.caller.cost * WIDTH_PX >= LABEL_PX) one = one.caller;
      return one;
    }

    function zoom(frame) {
      root = frame;
      selected = frame.row < 0 ? null : frame;
      draw();
      say(selected);
    }

    const widest = (list) => list.reduce((most, one) => (one.cost > most.cost ? one : most));
    function beside(step) {
      const row = selected.row;
      const same = frames.filter((one) => one.row === row && isShown(one));
      return same[same.indexOf(selected) + step];
    }

    const keys = {
      ArrowDown: () => select(selected ? selected.callees.length && widest(selected.callees)
        : widest(root.callees)),
      ArrowUp: () => select(selected?.caller),
      ArrowLeft: () => selected && select(beside(-1)),
      ArrowRight: () => selected && select(beside(1)),
      Enter: () => selected && zoom(selected),
      Escape: () => zoom(root.caller ?? all),
      Home: () => zoom(all),
      "/": () => search.focus(),
      n: () => next(1),
      N: () => next(-1),
    };
    scroll.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });

    function next(step) {
      if (!found.length) return;
      const at = found.indexOf(selected);
      select(found[(at + step + found.length) % found.length]);
    }

    function look() {
      const wanted = search.value.trim().toLowerCase();
      const has = (frame) => [frame.name, ...frame.callers].some((name) =>
        name.toLowerCase().includes(wanted));
      // The widest match comes first.
      found = wanted ? frames.filter(has).sort((one, other) => other.cost - one.cost) : [];
      // A frame within another one that is found as well does not count twice.
      const outer = found.filter((frame) => {
        for (let one = frame.caller; one; one = one.caller) if (found.includes(one)) return false;
        return true;
      });
      const sum = outer.reduce((cost, frame) => cost + frame.cost, 0);
      const count = found.length === 1 ? "1 frame" : `${found.length} frames`;
      result.textContent = wanted ? `${count}, ${costOf(sum)}` : "";
      draw();
    }

    // The controls are made here, because they do nothing without the script.
    const bar = document.createElement("p");
    bar.className = "controls";
    const label = document.createElement("label");
    const search = document.createElement("input");
    search.type = "search";
    label.append("Search ", search);
    const result = document.createElement("output");
    const back = document.createElement("button");
    back.type = "button";
    back.textContent = "Zoom out";
    back.addEventListener("click", () => zoom(root.caller ?? all));
    const help = document.createElement("small");
    help.textContent = "Keys in the picture: arrows select, Enter zooms, Escape zooms out, "
      + "Home shows all, / searches, n goes to the next match.";
    bar.append(label, " ", back, " ", result, " ", help);
    const said = document.createElement("p");
    said.className = "said";
    said.setAttribute("aria-live", "polite");
    scroll.before(bar);
    scroll.after(said);
    search.addEventListener("input", look);
    search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") next(event.shiftKey ? -1 : 1);
      if (event.key === "Escape") { search.value = ""; look(); scroll.focus(); }
    });
    draw();
    figure.classList.add("ready");
  }

  // A closed section has no width yet, and most readers do not open all of them.
  function startShown() {
    for (const figure of document.querySelectorAll(".icicle:not(.ready)")) {
      if (!figure.closest("details:not([open])")) start(figure);
    }
  }
  for (const fold of document.querySelectorAll("details")) {
    if (fold.querySelector(".icicle")) fold.addEventListener("toggle", startShown);
  }
  startShown();
})();
