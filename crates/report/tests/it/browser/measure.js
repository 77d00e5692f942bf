// Measures the boxes of all visible texts of a page. Returns sentences about texts that are cut off,
// and about texts that cover each other.
"use strict";
(() => {
  const problems = [];
  const TOLERANCE_PX = 1.5;
  // Share of the smaller box that the larger box may cover. Boxes include the space above and below
  // letters, so neighbouring lines may touch.
  const COVERED_MAX = 0.25;

  const short = (text) => JSON.stringify(text.trim().replace(/\s+/g, " ").slice(0, 40));
  const isVisible = (element) =>
    element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });

  // Corners of an SVG text on the screen, also if the text is rotated.
  function svgCorners(text) {
    const box = text.getBBox();
    const matrix = text.getScreenCTM();
    const at = (x, y) => new DOMPoint(x, y).matrixTransform(matrix);
    return [at(box.x, box.y), at(box.x + box.width, box.y),
      at(box.x + box.width, box.y + box.height), at(box.x, box.y + box.height)];
  }

  function rectCorners({ left, top, right, bottom }) {
    return [{ x: left, y: top }, { x: right, y: top }, { x: right, y: bottom }, { x: left, y: bottom }];
  }

  function area(corners) {
    let sum = 0;
    corners.forEach((a, i) => {
      const b = corners[(i + 1) % corners.length];
      sum += a.x * b.y - b.x * a.y;
    });
    return Math.abs(sum) / 2;
  }

  // Intersection of two convex polygons with the same orientation (Sutherland and Hodgman, 1974).
  function intersection(subject, clip) {
    let result = subject;
    clip.forEach((a, i) => {
      const b = clip[(i + 1) % clip.length];
      const side = (p) => (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
      const next = [];
      result.forEach((p, j) => {
        const q = result[(j + 1) % result.length];
        const [sideP, sideQ] = [side(p), side(q)];
        if (sideP >= 0) next.push(p);
        if ((sideP >= 0) !== (sideQ >= 0)) {
          const t = sideP / (sideP - sideQ);
          next.push({ x: p.x + t * (q.x - p.x), y: p.y + t * (q.y - p.y) });
        }
      });
      result = next;
    });
    return result;
  }

  // The nearest ancestor that cuts off its content and does not scroll.
  function clipOf(element) {
    for (let at = element.parentElement; at && at !== document.body; at = at.parentElement) {
      const style = getComputedStyle(at);
      if (/auto|scroll/.test(style.overflowX + style.overflowY)) return null;
      if (/hidden|clip/.test(style.overflowX) || /hidden|clip/.test(style.overflowY)) return at;
    }
    return null;
  }

  const texts = [];
  function add(element, text, corners) {
    const size = area(corners);
    if (size < 1) return;
    const xs = corners.map((p) => p.x);
    const ys = corners.map((p) => p.y);
    const bounds = { left: Math.min(...xs), right: Math.max(...xs),
      top: Math.min(...ys), bottom: Math.max(...ys) };
    const clip = clipOf(element);
    if (clip) {
      const frame = clip.getBoundingClientRect();
      const beyond = Math.max(frame.left - bounds.left, bounds.right - frame.right,
        frame.top - bounds.top, bounds.bottom - frame.bottom);
      if (beyond > TOLERANCE_PX) problems.push(`${short(text)} is cut off by ${beyond.toFixed(0)} px`);
    }
    texts.push({ element, text, corners, size, bounds });
  }

  for (const text of document.querySelectorAll("svg text")) {
    if (text.textContent.trim() && isVisible(text)) add(text, text.textContent, svgCorners(text));
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest("svg, script, style, noscript, option") || !isVisible(parent)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) add(parent, node.data, rectCorners(rect));
  }

  // Only texts in the same band of the page can cover each other.
  const BAND_PX = 64;
  const bands = new Map();
  texts.forEach((one, index) => {
    for (let band = Math.floor(one.bounds.top / BAND_PX); band <= one.bounds.bottom / BAND_PX; band += 1) {
      if (!bands.has(band)) bands.set(band, []);
      bands.get(band).push(index);
    }
  });
  const compared = new Set();
  for (const members of bands.values()) {
    members.forEach((i, at) => {
      for (const j of members.slice(at + 1)) {
        const [a, b] = [texts[i], texts[j]];
        if (a.bounds.right < b.bounds.left || b.bounds.right < a.bounds.left
          || a.bounds.bottom < b.bounds.top || b.bounds.bottom < a.bounds.top) continue;
        const key = i * texts.length + j;
        if (compared.has(key)) continue;
        compared.add(key);
        const shared = intersection(a.corners, b.corners);
        if (shared.length > 2 && area(shared) > COVERED_MAX * Math.min(a.size, b.size)) {
          problems.push(`${short(a.text)} and ${short(b.text)} cover each other`);
        }
      }
    });
  }

  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (wide > TOLERANCE_PX) problems.push(`the page is ${wide} px wider than the window`);
  return { texts: texts.length, problems };
})();
