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
      title: { font: { size: 12.5 }, standoff: 8 }, tickfont: { size: 12 },
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
    return Plotly.react(plot, figure.data, layout, {
      responsive: true, displaylogo: false, typesetMath: false,
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
      displayModeBar: narrow.matches ? false : "hover",
    });
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

  // A link to what stands behind a fold opens it; newer browsers do that by themselves.
  function reveal() {
    const target = document.getElementById(location.hash.slice(1));
    let fold = target?.closest("details:not([open])");
    if (!fold) return;
    for (; fold; fold = fold.parentElement.closest("details")) fold.open = true;
    target.scrollIntoView();
  }
  addEventListener("hashchange", reveal);
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
    await drawNew();
    document.documentElement.classList.add("drawn");
  }
  requestAnimationFrame(() => requestAnimationFrame(begin));
  setTimeout(begin, 150);
})();
