
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const root = document.documentElement;
  const data = JSON.parse(byId("data").textContent);
  root.classList.add("scripted");

  // Foreign text only ever becomes a text node.
  const make = (tag, text, kind) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };

  // Theme: the system's, until a reader chooses. A page from disk may have no storage.
  const themes = ["system", "light", "dark"];
  const recall = () => { try { return localStorage.getItem("autoindex-theme"); } catch { return null; } };
  const setTheme = (theme) => {
    if (theme === "system") root.removeAttribute("data-theme");
    else root.setAttribute("data-theme", theme);
    byId("theme").textContent = `Theme: ${theme}`;
    try { localStorage.setItem("autoindex-theme", theme); } catch { /* not kept */ }
  };
  let theme = themes.includes(recall()) ? recall() : "system";
  setTheme(theme);
  byId("theme").addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    setTheme(theme);
  });

  // The program panel: what it is, its changes against its parent, its source.
  const choose = byId("choose");
  const linesOf = (number) => data.sources[data.programs[number].sha256].map((line) => data.lines[line]);
  const CONTEXT = 3;

  const diffLines = (number) => {
    const [parent, blocks] = data.diffs[number];
    const old = linesOf(parent), now = linesOf(number), shown = [];
    let done = 0;
    blocks.forEach(([from, to, start, end], i) => {
      const begin = Math.max(done, start - CONTEXT);
      if (begin > done || i === 0) shown.push(["gap", `@@ line ${begin + 1} @@`]);
      for (let n = begin; n < start; n++) shown.push(["", `  ${now[n]}`]);
      for (let n = from; n < to; n++) shown.push(["removed", `- ${old[n]}`]);
      for (let n = start; n < end; n++) shown.push(["added", `+ ${now[n]}`]);
      const next = i + 1 < blocks.length ? blocks[i + 1][2] : now.length;
      done = Math.min(next, end + CONTEXT);
      for (let n = end; n < done; n++) shown.push(["", `  ${now[n]}`]);
    });
    return shown;
  };

  const showProgram = (number) => {
    const program = data.programs[number], diff = data.diffs[number];
    const wanted = document.querySelector('input[name="view"]:checked').value;
    const asDiff = wanted === "diff" && diff !== null;
    byId("panel-title").textContent = `Program ${program.label}: ${program.fate}`;
    const about = byId("about");
    about.replaceChildren(make("p", program.idea));
    if (program.rationale) about.append(make("p", `Why: ${program.rationale}`, "muted"));
    if (program.reason) about.append(make("p", `${program.fate}: ${program.reason}`, "note"));
    const facts = make("dl", undefined, "facts");
    const rows = [...program.figures, ["sha256", program.sha256]];
    if (program.parents.length) rows.push(["made of", program.parents.join(", ")]);
    for (const [name, value] of rows) {
      const row = make("div");
      row.append(make("dt", name), make("dd", value));
      facts.append(row);
    }
    about.append(facts);
    const code = make("code");
    if (asDiff) {
      const lines = diffLines(number);
      const count = (kind) => lines.filter(([found]) => found === kind).length;
      byId("against").textContent =
        `Against ${data.programs[diff[0]].label}: ${count("added")} lines added, ${count("removed")} removed.`;
      for (const [kind, text] of lines) code.append(make("span", text, `line ${kind}`));
    } else {
      byId("against").textContent = wanted === "diff" ? "It has no parent: this is the whole source." : "";
      code.textContent = linesOf(number).join("\n");
    }
    byId("source").replaceChildren(code);
    byId("source").scrollTop = 0;
    choose.value = String(number);
    byId("previous").disabled = number === 0;
    byId("next").disabled = number === data.programs.length - 1;
  };

  const openProgram = (number) => {
    showProgram(number);
    byId("panel").scrollIntoView();
    byId("panel-title").focus({ preventScroll: true });
  };
  const step = (by) => showProgram(Number(choose.value) + by);
  choose.addEventListener("change", () => showProgram(Number(choose.value)));
  byId("previous").addEventListener("click", () => step(-1));
  byId("next").addEventListener("click", () => step(1));
  for (const view of document.querySelectorAll('input[name="view"]')) view.addEventListener("change", () => step(0));
  showProgram(Number(choose.value));

  document.addEventListener("click", (event) => {
    const target = event.target.closest("[data-program]");
    if (target) openProgram(Number(target.dataset.program));
  });

  // What a point says, beside pointer or focus.
  const tip = byId("tip");
  const showTip = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 12, root.clientWidth - width - 4))}px`;
    tip.style.top = `${y + 16 + height > window.innerHeight ? y - height - 10 : y + 16}px`;
  };
  const hideTip = () => { tip.hidden = true; };
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });

  for (const chart of document.querySelectorAll("[data-roving]")) {
    const points = [...chart.querySelectorAll(".point")];
    points.sort((a, b) => a.dataset.program - b.dataset.program);
    points[0]?.setAttribute("tabindex", "0");
    const beside = (point) => {
      const { right, bottom } = point.getBoundingClientRect();
      showTip(point.getAttribute("aria-label"), right, bottom);
    };
    const go = (to) => {
      if (!to) return;
      for (const point of points) point.setAttribute("tabindex", point === to ? "0" : "-1");
      to.focus();
    };
    for (const point of points) {
      point.addEventListener("pointerenter", () => beside(point));
      point.addEventListener("pointerleave", hideTip);
      point.addEventListener("focus", () => beside(point));
      point.addEventListener("blur", hideTip);
    }
    chart.addEventListener("keydown", (event) => {
      const at = points.indexOf(document.activeElement);
      if (at < 0) return;
      const moves = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: points.length - 1 };
      if (event.key in moves) go(points[moves[event.key]]);
      else if (event.key === "Enter" || event.key === " ") openProgram(Number(points[at].dataset.program));
      else return;
      event.preventDefault();
    });
  }

  // The heatmap: one cell at a time is told.
  const heat = byId("heat"), picture = byId("heat-svg"), cursor = byId("heat-cursor");
  const MEANING = { "+": "better", "-": "worse", "=": "the same", "?": "not evaluated on the whole corpus" };
  const cell = { column: 0, row: 0 };
  const tellCell = (column, row) => {
    if (!data.cells.length || !data.queries.length) return;
    cell.column = Math.max(0, Math.min(data.queries.length - 1, column));
    cell.row = Math.max(0, Math.min(data.cells.length - 1, row));
    cursor.setAttribute("x", cell.column);
    cursor.setAttribute("y", cell.row);
    cursor.setAttribute("visibility", "visible");
    const program = data.programs[cell.row + 1];
    byId("heat-cell").textContent =
      `Query ${data.queries[cell.column]}, program ${program.label}: ${MEANING[data.cells[cell.row][cell.column]]} (${program.idea})`;
  };
  const cellAt = (event) => {
    const box = picture.getBoundingClientRect();
    tellCell(
      Math.floor(((event.clientX - box.left) / box.width) * data.queries.length),
      Math.floor(((event.clientY - box.top) / box.height) * data.cells.length),
    );
  };
  picture.addEventListener("pointermove", cellAt);
  picture.addEventListener("click", (event) => {
    cellAt(event);
    openProgram(cell.row + 1);
  });
  heat.addEventListener("keydown", (event) => {
    const moves = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
    if (event.key in moves) {
      const [x, y] = moves[event.key];
      tellCell(cell.column + x, cell.row + y);
      const at = ((cell.column + 0.5) / data.queries.length) * picture.getBoundingClientRect().width;
      if (at < heat.scrollLeft || at > heat.scrollLeft + heat.clientWidth) heat.scrollLeft = at - heat.clientWidth / 2;
    } else if (event.key === "Enter" && data.cells.length) openProgram(cell.row + 1);
    else return;
    event.preventDefault();
  });

  // Tables: sorted by any column, searched by any words.
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
    const rows = [...body.rows];
    heads.forEach((head, column) => {
      const numeric = head.classList.contains("number") || table.id === "program-table" && column === 0;
      head.querySelector(".sort").addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") === (numeric ? "descending" : "ascending") ? numeric : !numeric;
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const value = (row) => {
          const found = row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
          return numeric ? Number(found) : found;
        };
        const order = (a, b) => (numeric ? a - b : a.localeCompare(b, undefined, { numeric: true }));
        const keyed = rows.map((row) => [value(row), row]);
        keyed.sort(([a], [b]) => (up ? order(a, b) : order(b, a)));
        body.append(...keyed.map(([, row]) => row));
      });
    });
  }
  for (const section of document.querySelectorAll(".queries")) {
    const rows = [...section.querySelectorAll("tbody tr")];
    const texts = new Map();
    const textOf = (row) => {
      if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
      return texts.get(row);
    };
    const search = section.querySelector(".search"), show = section.querySelector(".show");
    const filter = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      let count = 0;
      for (const row of rows) {
        const fits = (!show.value || row.dataset.verdict === show.value) && words.every((word) => textOf(row).includes(word));
        row.hidden = !fits;
        count += fits;
      }
      section.querySelector(".count").textContent = `${count} of ${rows.length} shown`;
    };
    search.addEventListener("input", filter);
    show.addEventListener("change", filter);
    filter();
  }

  // On paper nothing can be unfolded.
  window.addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
})();
