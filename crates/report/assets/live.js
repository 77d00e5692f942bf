// Updates the page of a running run by the server's events. Without this script, the page loads
// again every few seconds.
"use strict";
(() => {
  const source = new EventSource("events");

  source.addEventListener("update", (event) => {
    for (const [id, html] of Object.entries(JSON.parse(event.data))) {
      const element = document.getElementById(id);
      if (element !== null && html === "") {
        element.remove();
      } else if (element !== null) {
        element.outerHTML = html;
      } else if (html !== "") {
        // The page has a new section. Its place is known only to the server.
        location.reload();
        return;
      }
    }
  });

  // The run has ended: the same address now has the report.
  source.addEventListener("over", () => {
    source.close();
    location.reload();
  });

  const lost = (isLost) => document.documentElement.classList.toggle("lost", isLost);
  source.onopen = () => lost(false);
  source.onerror = () => lost(true);
})();
