// Draws the charts, once the words are there, in the colours of the theme.
// The page is complete without this script except for the charts themselves.
"use strict";
(() => {
  const plots = Array.from(document.querySelectorAll(".plot"));
  const narrow = matchMedia("(max-width: 640px)");
  // A4 and US letter are so wide at least, within the margins that the style sheet gives them.
  const PAPER_PX = 690;
  // Heights on paper: three charts of one row fit on a page, and any chart fits on one.
  const PAPER_ROW_PX = 250;
  const PAPER_ROWS_PX = 520;
  const PAPER_PAGE_PX = 900;
  // Taller charts than this, on the screen, are those of hosts and JVMs with many rows.
  const TALL_PX = 1000;
  // Charts that are printed of a section that the reader has not opened: two pages.
  const PAPER_CHARTS = 6;
  const onPaper = () => document.documentElement.classList.contains("paper");
  let loading = null;

  // The chart library stands in the page packed; it is unpacked and compiled on first use.
  function library() {
    loading ??= unpack();
    return loading;
  }

  async function unpack() {
    const source = document.getElementById("chart-library");
    const packed = Uint8Array.from(atob(source.textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    source.remove();
    document.head.append(script);
  }

  // What stands behind a fold has no width yet: it is drawn when the fold is opened.
  const folded = (plot) => plot.closest("details:not([open])") !== null;

  function color(name) {
    return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  }

  // Colour names of the figures (`@c0`) become the theme's colours; only values of keys that
  // mean a colour are looked at, so no text of a study is ever mistaken for one.
  function themed(value, key) {
    if (Array.isArray(value)) return value.map((item) => themed(item, key));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, themed(v, k)]));
    }
    const named = typeof value === "string" && value[0] === "@" && /color$/.test(key);
    return named ? color(value.slice(1)) : value;
  }

  // 1 / (1 - quantile) as a percentile, with as many digits as it has nines and one more.
  function percentile(x) {
    return ((1 - 1 / x) * 100).toFixed(Math.max(1, Math.floor(Math.log10(x)))) + " %";
  }

  function axis(extra) {
    return {
      gridcolor: color("grid"), zerolinecolor: color("grid"), linecolor: color("rule"),
      title: { font: { size: narrow.matches ? 11 : 12.5 }, standoff: 8 }, tickfont: { size: 12 },
      zeroline: false, ...extra,
    };
  }

  function theme() {
    return {
      layout: {
        paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
        font: { color: color("text"), size: 12.5, family: getComputedStyle(document.body).fontFamily },
        xaxis: axis({ automargin: true }), yaxis: axis({}),
        hoverlabel: { bgcolor: color("bg"), bordercolor: color("rule"), font: { color: color("text") } },
        legend: { orientation: "h", x: 0, xanchor: "left", y: 1.02, yanchor: "bottom",
          font: { size: 12 } },
        margin: { l: 56, r: 16, t: 16, b: 48 },
        modebar: { bgcolor: "rgba(0,0,0,0)", color: color("muted"), activecolor: color("text") },
        dragmode: narrow.matches ? false : "zoom",
        bargap: 0.25, bargroupgap: 0.06,
      },
    };
  }

  // Heights in a figure, as in `plotly.rs` and `plotly/buttons.rs`.
  const MARGINS_PX = 64;
  const LINE_PX = 16;
  const BAND_LABEL_PX = 14;
  // Lines of a panel's title. The text of a longer title is below the figure.
  const TITLE_LINES = 3;
  // Side margins of `theme`, with some pixels for a label at the end of an axis.
  const SIDES_PX = 80;
  const ruler = document.createElement("canvas").getContext("2d");

  function textPx(text, size) {
    ruler.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
    return ruler.measureText(text).width;
  }

  // Breaks a text between words, into lines of at most `room` pixels.
  function wrap(text, size, room) {
    const lines = [];
    for (const word of text.split(" ")) {
      const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
      if (lines.length && textPx(longer, size) <= room) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines;
  }

  // Breaks the titles of panels into lines, and makes the figure higher if the lines need that.
  function fitTitles(layout, room) {
    const titles = layout.annotations?.filter((one) => one.xref === "paper" && one.x === 0) ?? [];
    const axes = Object.entries(layout).filter(([key]) => key.startsWith("yaxis"));
    const domains = axes.map(([, value]) => value.domain).filter(Boolean);
    const panelsPx = layout.height - MARGINS_PX;
    let grow = 1;
    for (const title of titles) {
      const lines = wrap(title.text, title.font.size, room);
      if (lines.length === 1) continue;
      if (lines.length > TITLE_LINES) {
        title.whole = title.text;
        lines.splice(TITLE_LINES, Infinity);
        lines[TITLE_LINES - 1] = lines[TITLE_LINES - 1].replace(/.{0,2}$/, "…");
      }
      title.text = lines.join("<br>");
      title.align = "left";
      const isNote = title.yanchor === "top";
      const edges = isNote
        ? [0, ...titles.map((other) => other.y).filter((y) => y < title.y)]
        : domains.map(([bottom]) => bottom).filter((bottom) => bottom >= title.y);
      const edge = isNote ? Math.max(...edges) : Math.min(...edges);
      // Above the first panel, the figure has the row of its own title only.
      const free = Number.isFinite(edge) ? Math.abs(edge - title.y) * panelsPx : LINE_PX;
      grow = Math.max(grow, (lines.length + (isNote ? 1 : 0.2)) * LINE_PX / free);
    }
    layout.height = MARGINS_PX + panelsPx * Math.min(grow, 4);
  }

  // Arranges the names of bands in rows, so that they do not cover each other in a narrow window.
  function fitBands(layout, data, room) {
    const names = layout.annotations?.filter((one) => one.xref === "x" && one.yref === "paper") ?? [];
    if (!names.length) return;
    const bands = layout.shapes.filter((shape) => shape.xref === "x");
    const places = data.flatMap((trace) => trace.x).filter(Number.isFinite);
    const ends = [...places, ...bands.map((band) => band.x1)];
    const [first, last] = layout.xaxis.range ?? [0, ends.reduce((a, b) => Math.max(a, b), 1)];
    const base = Math.min(...names.map((name) => name.yshift));
    const before = Math.max(...names.map((name) => name.yshift));
    const free = [];
    names.forEach((name) => {
      const width = textPx(name.text, name.font.size) + 6;
      const at = (name.x - first) / (last - first) * room;
      // A name that would leave the figure at the right begins further to the left.
      const from = Math.max(0, Math.min(at, room - width));
      name.xshift = at < 0 || at > room ? 0 : from - at;
      let level = free.findIndex((end) => end <= from);
      if (level < 0) level = free.length;
      free[level] = from + width;
      name.yshift = base + level * BAND_LABEL_PX;
    });
    const more = base + (free.length - 1) * BAND_LABEL_PX - before;
    const lift = more / (layout.height - MARGINS_PX);
    if (layout.legend?.y) layout.legend.y += lift;
    for (const menu of layout.updatemenus ?? []) menu.y += lift;
  }

  // Omits the labels of an axis that would cover the label before.
  function fitTicks(axis, room) {
    if (!axis?.ticktext || !axis.tickvals?.every(Number.isFinite)) return;
    const place = axis.type === "log" ? Math.log10 : (value) => value;
    const all = axis.tickvals.map(place);
    const span = (all.at(-1) - all[0]) || 1;
    let end = -Infinity;
    axis.ticktext = axis.ticktext.map((text, index) => {
      const middle = (all[index] - all[0]) / span * room;
      const half = textPx(text, 12) / 2 + 3;
      if (middle - half < end) return "";
      end = middle + half;
      return text;
    });
  }

  function fit(figure, layout, width) {
    const room = width - SIDES_PX;
    fitTitles(layout, room);
    fitBands(layout, figure.data, room);
    fitTicks(layout.xaxis, room);
    if (!narrow.matches || onPaper()) return;
    // Labels of neighbouring points would cover each other, so the tooltip shows them.
    for (const trace of figure.data) {
      if (!trace.mode?.includes("+text")) continue;
      trace.mode = trace.mode.replace("+text", "");
      trace.hovertemplate = `%{text}: ${trace.hovertemplate}`;
    }
  }

  function paperHeight(height) {
    if (height > TALL_PX) return PAPER_PAGE_PX;
    return Math.min(height, height > 450 ? PAPER_ROWS_PX : PAPER_ROW_PX);
  }

  function draw(plot) {
    const figures = plot.parentElement.querySelectorAll('script[type="application/json"]');
    const select = plot.parentElement.querySelector("select");
    const chosen = figures[select ? select.selectedIndex : 0];
    const figure = themed(JSON.parse(chosen.textContent), "");
    for (const trace of figure.data) {
      if (trace.x?.same !== undefined) trace.x = figure.data[trace.x.same].x;
      if (trace.hovertemplate?.startsWith("%{text}")) trace.text = trace.x.map(percentile);
    }
    const layout = { ...figure.layout, template: theme() };
    fit(figure, layout, onPaper() ? PAPER_PX : plot.clientWidth);
    if (onPaper()) {
      layout.width = PAPER_PX;
      layout.height = paperHeight(layout.height);
      delete layout.updatemenus;
      // A label above the highest point has less room than on the screen.
      for (const trace of figure.data) if (trace.mode?.includes("text")) trace.cliponaxis = false;
    }
    const choice = plot.parentElement.querySelector(".choice");
    if (choice) choice.dataset.chosen = select.selectedOptions[0].text;
    plot.style.height = layout.height + "px";
    plot.querySelector("noscript")?.remove();
    plot.drawn = true;
    showCutNotes(plot, layout);
    const drawn = Plotly.react(plot, figure.data, layout, {
      responsive: true, displaylogo: false, typesetMath: false,
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
      displayModeBar: narrow.matches ? false : "hover",
    });
    return drawn.then(() => keepPanels(plot, layout)).then(() => follow(plot, layout.xaxis));
  }

  // A long legend takes its room from the panels. In a narrow window, the figure becomes higher
  // instead, because its labels need the room of the panels.
  function keepPanels(plot, layout) {
    const missing = layout.height - MARGINS_PX - plot._fullLayout._size.h;
    if (!narrow.matches || onPaper() || missing < LINE_PX) return undefined;
    plot.style.height = layout.height + missing + "px";
    return Plotly.relayout(plot, { height: layout.height + missing });
  }

  // Text of a figure, whose letters `&`, `<` and `>` are entities.
  function plain(text) {
    const area = document.createElement("textarea");
    area.innerHTML = text;
    return area.value;
  }

  // Shows the texts that have more lines than a figure shows below the figure.
  function showCutNotes(plot, layout) {
    plot.parentElement.querySelectorAll(".cut-note").forEach((note) => note.remove());
    for (const { whole } of layout.annotations ?? []) {
      if (!whole) continue;
      const note = document.createElement("p");
      note.className = "foot cut-note";
      note.textContent = plain(whole);
      plot.after(note);
    }
  }

  // Charts over the same time move together: a zoom of one zooms all, and all mark the time at
  // which the reader points.
  const partners = (plot) => plots.filter((one) =>
    one !== plot && one.drawn && one.time && one.time === plot.time && !folded(one));
  let isMoving = false;

  function follow(plot, xaxis) {
    const title = xaxis?.title?.text ?? "";
    plot.time = title.startsWith("seconds since") ? title : null;
    if (plot.isFollowed) return;
    plot.isFollowed = true;
    plot.tabIndex = 0;
    plot.addEventListener("keydown", (event) => key(plot, event));
    plot.on("plotly_relayout", (change) => moved(plot, change));
    plot.addEventListener("pointermove", (event) => mark(plot, pointedAt(plot, event)));
    plot.addEventListener("pointerleave", () => mark(plot, null));
  }

  // The range that a change of the layout gives the horizontal axis: null for the whole, undefined
  // if the change does not concern it.
  function rangeOf(change) {
    if (change["xaxis.autorange"]) return null;
    if (change["xaxis.range"]) return change["xaxis.range"];
    const [from, to] = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
    return from === undefined ? undefined : [from, to];
  }

  const showRange = (plot, range) => Plotly.relayout(plot,
    range ? { "xaxis.range": range, "xaxis.autorange": false } : { "xaxis.autorange": true });

  async function moved(plot, change) {
    const range = rangeOf(change);
    if (isMoving || range === undefined || onPaper()) return;
    remember(plot, range);
    if (!plot.time) return;
    isMoving = true;
    try {
      await Promise.all(partners(plot).map((one) => showRange(one, range)));
    } finally {
      isMoving = false;
    }
  }

  // The place on the horizontal axis at which the reader points, or null beside the panels.
  function pointedAt(plot, event) {
    const axis = plot._fullLayout?.xaxis;
    if (!axis) return null;
    const at = event.clientX - plot.getBoundingClientRect().left - axis._offset;
    return at >= 0 && at <= axis._length ? axis.p2l(at) : null;
  }

  function mark(plot, x) {
    for (const one of plot.time ? partners(plot) : []) {
      let line = one.querySelector(".crosshair");
      const axis = one._fullLayout?.xaxis;
      const size = one._fullLayout?._size;
      const at = axis && typeof x === "number" ? axis.l2p(x) : NaN;
      if (!(at >= 0 && at <= axis._length)) {
        line?.remove();
        continue;
      }
      if (!line) {
        line = document.createElement("div");
        line.className = "crosshair";
        one.append(line);
      }
      line.style.left = `${axis._offset + at}px`;
      line.style.top = `${size.t}px`;
      line.style.height = `${size.h}px`;
    }
  }

  // Arrows move the horizontal axis, + and - zoom it, and 0 shows all of it.
  function key(plot, event) {
    const axis = plot._fullLayout?.xaxis;
    if (!axis || axis.type === "category" || event.target !== plot) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [from, to] = axis.range;
    const width = to - from;
    const ranges = {
      ArrowLeft: [from - width / 4, to - width / 4], ArrowRight: [from + width / 4, to + width / 4],
      "+": [from + width / 4, to - width / 4], "=": [from + width / 4, to - width / 4],
      "-": [from - width / 2, to + width / 2], 0: null,
    };
    if (!(event.key in ranges)) return;
    event.preventDefault();
    showRange(plot, ranges[event.key]);
  }

  // A link to a chart is its section, its number there, the choice and the range:
  // #panels/0/2?x=10,30.
  const siblings = (plot) =>
    Array.from((plot.closest("section") ?? document).querySelectorAll(".plot"));

  function remember(plot, range) {
    const section = plot.closest("section")?.id;
    if (!section) return;
    const select = plot.parentElement.querySelector("select");
    const place = `#${section}/${siblings(plot).indexOf(plot)}/${select ? select.selectedIndex : 0}`;
    const digits = (value) => Number(value).toPrecision(6).replace(/\.?0+$/, "");
    const link = range ? `${place}?x=${range.map(digits).join(",")}` : place;
    history.replaceState(null, "", link);
  }

  async function openLink() {
    const parts = /^#([\w-]+)\/(\d+)\/(\d+)(?:\?x=([-\d.e+]+),([-\d.e+]+))?$/i.exec(location.hash);
    const section = parts && document.getElementById(parts[1]);
    const plot = section?.querySelectorAll(".plot")[Number(parts[2])];
    if (!plot) return;
    openFolds(plot);
    const select = plot.parentElement.querySelector("select");
    if (select && Number(parts[3]) < select.options.length) select.selectedIndex = Number(parts[3]);
    await library();
    await draw(plot);
    const range = [Number(parts[4]), Number(parts[5])];
    if (range.every(Number.isFinite) && range[0] < range[1]) await showRange(plot, range);
    plot.parentElement.scrollIntoView();
  }

  const redraw = () => plots.filter((plot) => plot.drawn).forEach(draw);
  for (const plot of plots) {
    const select = plot.parentElement.querySelector("select");
    select?.addEventListener("change", () => library().then(() => draw(plot)));
  }
  for (const fold of document.querySelectorAll("details")) {
    if (fold.querySelector(".plot")) fold.addEventListener("toggle", () => library().then(drawNew));
  }

  // One by one, from the top, with room for the reader's clicks in between.
  async function drawNew() {
    for (const plot of plots) {
      if (plot.drawn || folded(plot)) continue;
      await draw(plot);
      await new Promise((resume) => setTimeout(resume));
    }
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  // Titles and labels are fitted to the width, so another width needs a new drawing.
  let resized = null;
  let widthPx = innerWidth;
  addEventListener("resize", () => {
    clearTimeout(resized);
    resized = setTimeout(() => {
      if (innerWidth !== widthPx && !onPaper()) redraw();
      widthPx = innerWidth;
    }, 150);
  });

  // A link to what stands behind a fold opens it; newer browsers do that by themselves.
  function reveal() {
    const target = document.getElementById(location.hash.slice(1));
    if (!target?.closest("details:not([open])")) return;
    openFolds(target);
    target.scrollIntoView();
  }

  function openFolds(element) {
    let fold = element.closest("details");
    for (; fold; fold = fold.parentElement.closest("details")) fold.open = true;
  }
  addEventListener("hashchange", () => { reveal(); openLink(); });
  reveal();

  // Paper is always light, and has what the reader has open; its charts are as wide as it is. Of a
  // closed section, it has the first charts: the class hides the rest.
  let opened = null;
  addEventListener("beforeprint", () => {
    document.documentElement.classList.add("paper");
    if (!globalThis.Plotly) return;
    const fold = plots[0]?.closest(".fold:not([open])");
    if (fold) chartsOnly(fold);
    redraw();
  });
  addEventListener("afterprint", () => {
    document.documentElement.classList.remove("paper");
    if (opened) {
      opened.open = false;
      opened.classList.remove("charts");
      opened = null;
    }
    redraw();
  });

  function chartsOnly(fold) {
    fold.open = true;
    fold.classList.add("charts");
    opened = fold;
    const shown = plots.filter((plot) => fold.contains(plot) && !folded(plot)
      && plot.offsetHeight <= TALL_PX).slice(0, PAPER_CHARTS);
    shown.forEach(draw);
    for (const part of fold.querySelectorAll("section, figure")) {
      part.classList.toggle("unprinted", !shown.some((plot) => part.contains(plot)));
    }
  }

  // First the words are on the screen, then the charts. All that are not folded are drawn, seen or
  // not, so that a screenshot of the whole page is whole. Not every place that shows a page paints
  // frames: the timer is for those that do not.
  let begun = false;
  async function begin() {
    if (begun) return;
    begun = true;
    try {
      await library();
    } catch (error) {
      for (const plot of plots) plot.textContent = `The charts cannot be drawn here: ${error}`;
      return;
    }
    await openLink();
    await drawNew();
    document.documentElement.classList.add("drawn");
  }
  requestAnimationFrame(() => requestAnimationFrame(begin));
  setTimeout(begin, 150);
})();
