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
const tables = root => {
  for (const box of root.querySelectorAll(".netlab-table")) {
    const table = box.querySelector("table");
    if (!table || !table.tHead || !table.tBodies[0] || table.tBodies[0].rows.length < 2) continue;
    [...table.tHead.rows[table.tHead.rows.length - 1].cells].forEach((head, column) => {
      if (head.textContent.trim()) sortable(table, head, column);
    });
    if (table.tBodies[0].rows.length > FILTER_ABOVE) filterable(box, table);
  }
};
