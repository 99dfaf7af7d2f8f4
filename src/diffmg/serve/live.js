"use strict";
// The box of a served report. Everything from the server becomes text, never markup.
(() => {
  const form = document.getElementById("ask-form");
  const status = document.getElementById("ask-status");
  const place = document.getElementById("ask-answer");
  const { base, verb, item } = form.dataset;
  let asked = 0;

  const made = (tag, inner, kind) => {
    const element = document.createElement(tag);
    if (kind) element.className = kind;
    for (const one of [inner].flat()) element.append(one instanceof Node ? one : String(one ?? ""));
    return element;
  };

  const ask = async (path, query) => {
    const reply = await fetch(`${base}/${path}?${new URLSearchParams(query)}`, { headers: { accept: "application/json" } });
    const body = await reply.json();
    if (!reply.ok) throw new Error(body.error ?? reply.statusText);
    return body;
  };

  const say = (words) => { // for those who do not see the page change
    status.className = "unseen";
    status.textContent = words;
  };

  const number = (value) => (typeof value === "number" && !Number.isInteger(value) ? value.toPrecision(4) : value);
  const percent = (share) => `${share < 0 ? "\u2212" : ""}${(Math.abs(share) * 100).toFixed(1)}\u00a0%`;

  const table = (heads, rows, caption) => {
    const named = (inner, scope) => { const th = made("th", inner); th.scope = scope; return th; };
    const head = made("tr", heads.map((h) => named(h, "col")));
    const body = rows.map((row) => made("tr", row.map((cell, i) => (i ? made("td", cell) : named(cell, "row")))));
    const inner = [made("caption", caption), made("thead", head), made("tbody", body)];
    const box = made("div", made("table", inner), "wide");
    box.tabIndex = 0;
    box.role = "group";
    box.ariaLabel = caption;
    return box;
  };

  const bar = (share) => {
    const inner = made("i", "", share < 0 ? "against" : "");
    inner.style.width = `${Math.min(1, Math.abs(share)) * 100}%`;
    return made("span", [made("span", inner, "gauge"), " ", percent(share)], "share");
  };

  const path = (c, target) => {
    if (c.label || !c.path.length) return made("span", [c.label || target, c.label ? "" : made("small", " itself")]);
    const steps = c.path.flatMap((r) => [" ", made("small", r.name), ` \u2192 ${r.target}`]);
    return made("span", [c.path[0].source, ...steps]);
  };

  const explained = (each) => {
    const rows = each.contributions.slice(0, 8).map((c) => [
      path(c, each.target),
      bar(c.share),
      c.sources.slice(0, 3).map((s) => `${s.node_type} ${s.id} (${percent(s.share)})`).join("; "),
    ]);
    const box = made("div", table(["meta path", "part", "mostly from"], rows, `${each.target} ${each.id}: ${each.answer}`));
    const left = each.contributions.length - rows.length + each.others.count;
    if (left > 0) box.append(made("p", `and ${left} smaller ones`, "note"));
    if (each.note) box.append(made("p", each.note, "note"));
    return box;
  };

  const why = async (query, where) => {
    try {
      const { explanations } = await ask("explain", query);
      const note = made("p", "All parts make 100\u00a0%; a negative one speaks against the others.", "note");
      where.replaceChildren(made("h3", "Where it comes from"), ...explanations.map(explained), note);
      if (where.isConnected) say(`explained below: ${explanations.map((each) => `${each.target} ${each.id}`).join(" and ")}`);
    } catch (error) {
      where.replaceChildren(made("p", error.message, "note"));
    }
  };

  const predicted = (row, id) => {
    const entries = Object.entries(row).slice(1);
    const sure = entries.filter(([name]) => /^p\(.*\)$/s.test(name)).sort((a, b) => b[1] - a[1]);
    const plain = entries.filter(([name]) => !/^p\(.*\)$/s.test(name));
    const found = [];
    for (const [name, value] of plain) found.push(made("p", [number(value), " ", made("small", `${name} of ${id}`)], "big"));
    const rows = sure.slice(0, 10).map(([name, p]) => [name.slice(2, -1), bar(p)]);
    if (rows.length) found.push(table(["class", "probability"], rows, sure.length > 10 ? "The likeliest classes" : "How sure it is"));
    return found;
  };

  const recommended = (rows, id, reasons) => {
    const lines = rows.map((row) => {
      const button = made("button", "why?");
      button.type = "button";
      button.ariaLabel = `why? ${item} ${row[item]}`;
      button.addEventListener("click", () => why({ id, item: row[item] }, reasons));
      return [row.rank, row[item], number(row.score), button];
    });
    if (!lines.length) return [made("p", "Nothing is left to recommend.", "note")];
    return [table(["place", item, "score", "reason"], lines, `For ${id}`)];
  };

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const turn = ++asked;
    const id = form.elements.id.value;
    const query = verb === "recommend" ? { id, k: form.elements.k.value } : { id };
    history.replaceState(null, "", `?${new URLSearchParams(query)}`);
    status.className = "note";
    status.textContent = "…";
    place.replaceChildren();
    try {
      const { rows } = await ask(verb, query);
      if (turn !== asked) return;
      const reasons = made("div", "");
      say(`answered for ${id}`);
      place.replaceChildren(...(verb === "predict" ? predicted(rows[0], id) : recommended(rows, id, reasons)), reasons);
      if (verb === "predict") await why({ id }, reasons);
      else if (rows.length) await why({ id, item: rows[0][item] }, reasons);
    } catch (error) {
      if (turn !== asked) return;
      status.className = "warn";
      status.textContent = error.message;
    }
  });

  const given = new URLSearchParams(location.search); // a link to an answer
  if (given.get("k") && form.elements.k) form.elements.k.value = given.get("k");
  if (given.get("id")) {
    form.elements.id.value = given.get("id");
    form.requestSubmit();
  }
  for (const button of document.querySelectorAll("#ask button.plain")) {
    button.addEventListener("click", () => {
      form.elements.id.value = button.textContent;
      form.requestSubmit();
    });
  }
})();
