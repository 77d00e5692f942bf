// Copies a table as CSV. The page is complete without this script.
"use strict";
(() => {
  const text = (cell) => {
    const copy = cell.cloneNode(true);
    // The unit of a heading and the details of a cell stand in small letters.
    copy.querySelectorAll("small").forEach((small) => small.replaceWith(" " + small.textContent));
    return copy.textContent.replace(/\s+/g, " ").trim();
  };
  // A spreadsheet must not take a text of a study for a formula.
  const safe = (value) => (/^[=@\t]|^[+-](?!\d)/.test(value) ? "'" + value : value);
  const quoted = (value) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const csv = (table) => Array.from(table.rows,
    (row) => Array.from(row.cells, (cell) => quoted(safe(text(cell)))).join(",")).join("\r\n") + "\r\n";

  async function copy(content) {
    if (navigator.clipboard && isSecureContext) return navigator.clipboard.writeText(content);
    // A page from a server without TLS has no clipboard, but can copy a selection.
    const area = document.createElement("textarea");
    area.value = content;
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    if (!isCopied) throw new Error("the browser does not allow it");
  }

  for (const region of document.querySelectorAll(".table")) {
    const table = region.querySelector("table");
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy as CSV";
    const label = region.getAttribute("aria-label");
    button.setAttribute("aria-label", `Copy the table as CSV: ${label}`);
    button.addEventListener("click", async () => {
      try {
        await copy(csv(table));
        button.textContent = "Copied";
      } catch (error) {
        button.textContent = `Not copied: ${error.message}`;
      }
      setTimeout(() => { button.textContent = "Copy as CSV"; }, 2000);
    });
    region.after(button);
  }
})();
