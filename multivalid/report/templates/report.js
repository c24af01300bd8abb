"use strict";
for (const section of document.querySelectorAll("section.groups")) {
  const table = section.querySelector("table");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const heads = Array.from(table.tHead.rows[0].cells);
  const filter = section.querySelector("input[type=search]");
  const onlyOff = section.querySelector("input[type=checkbox]");
  const shown = section.querySelector("output");

  const show = () => {
    const text = filter.value.trim().toLowerCase();
    let count = 0;
    for (const row of rows) {
      const name = row.cells[0].dataset.value.toLowerCase();
      const keep = name.includes(text) && (!onlyOff.checked || row.dataset.off === "1");
      row.hidden = !keep;
      if (keep) count += 1;
    }
    shown.textContent = count === rows.length ? `${rows.length} groups` : `${count} of ${rows.length} groups`;
  };

  const sort = (column) => {
    const head = heads[column];
    const number = head.dataset.kind === "number";
    const start = number ? "descending" : "ascending";
    const other = number ? "ascending" : "descending";
    const order = head.getAttribute("aria-sort") === start ? other : start;
    const sign = order === "ascending" ? 1 : -1;
    const key = (row) => row.cells[column].dataset.value;
    const compare = number
      ? (a, b) => (key(a) === "" ? 1 : key(b) === "" ? -1 : sign * (Number(key(a)) - Number(key(b))))
      : (a, b) => sign * key(a).localeCompare(key(b), "en", { numeric: true });
    for (const one of heads) if (one.hasAttribute("aria-sort")) one.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", order);
    body.append(...rows.sort(compare));
  };

  heads.forEach((head, column) => {
    const button = head.querySelector("button");
    if (button) button.addEventListener("click", () => sort(column));
  });
  const form = filter.closest("form");
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  filter.addEventListener("input", show);
  onlyOff.addEventListener("change", show);
  show();
}
