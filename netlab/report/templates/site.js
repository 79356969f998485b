(() => {
"use strict";
const FILTER_ABOVE = 8;
const number = text => {
  const found = text.replace(/,(?=\d{3})/g, "").replace("−", "-").match(/^[^\d.+-]*([+-]?\d*\.?\d+)/);
  return found ? parseFloat(found[1]) : NaN;
};
const compare = (a, b) => {
  const [x, y] = [number(a), number(b)];
  if (!isNaN(x) && !isNaN(y) && x !== y) return x - y;
  if (isNaN(x) !== isNaN(y)) return isNaN(x) ? 1 : -1;
  return a.localeCompare(b);
};
const text = (row, column) => (row.cells[column] ? row.cells[column].textContent.trim() : "");
const sortable = (table, head, column) => {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...head.childNodes);
  head.append(button);
  button.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => (down ? -1 : 1) * compare(text(a, column), text(b, column)));
    table.tBodies[0].append(...rows);
  });
};
const filterable = (box, table) => {
  const label = document.createElement("label");
  const field = document.createElement("input");
  const count = document.createElement("output");
  const rows = [...table.tBodies[0].rows];
  field.type = "search";
  label.className = "filter";
  label.append("Filter rows ", field, " ", count);
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const content = row.textContent.toLowerCase();
      row.hidden = !words.every(word => content.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = words.length ? `${shown} of ${rows.length}` : "";
  });
  box.before(label);
};
for (const box of document.querySelectorAll(".netlab-table")) {
  const table = box.querySelector("table");
  if (!table || !table.tHead || !table.tBodies[0] || table.tBodies[0].rows.length < 2) continue;
  [...table.tHead.rows[table.tHead.rows.length - 1].cells].forEach((head, column) => {
    if (head.textContent.trim()) sortable(table, head, column);
  });
  if (table.tBodies[0].rows.length > FILTER_ABOVE) filterable(box, table);
}
const hint = box => {
  const wide = box.clientWidth > 0 && box.scrollWidth > box.clientWidth + 1;
  let said = box.previousElementSibling;
  if (!said || !said.classList.contains("scrolls")) {
    if (!wide) return;
    said = document.createElement("p");
    said.className = "scrolls";
    said.textContent = "Wider than the page: scroll it sideways.";
    box.before(said);
  }
  said.hidden = !wide;
};
const sizes = new ResizeObserver(entries => entries.forEach(entry => hint(entry.target)));
for (const box of document.querySelectorAll(".netlab-table, .netlab-figure")) sizes.observe(box);
const open = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let box = target; box; box = box.parentElement) if (box.tagName === "DETAILS") box.open = true;
};
addEventListener("hashchange", open);
open();
})();
