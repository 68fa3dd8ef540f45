"use strict";
// Draws a session from the JSON in #data. Texts become text nodes only, never markup.
(() => {
  const DATA = JSON.parse(document.getElementById("data").textContent);
  const [SEQ, TURN, SLOT, WHO, STATE, TOKENS, BEFORE, FLAGS, WHY, TEXT, ORIGINAL] = Array(11).keys();
  const HISTORY = DATA.slots.indexOf("history"), NOW = DATA.slots.indexOf("turn");
  const PARTS = [...DATA.slots, "framing", "outside"];
  const EXACT = 1, PINNED = 2, BATCH = 300, MOST_SHOWN = 100000, MOST_MARKS = 500;
  const IN_REQUEST = ["sent", "truncated", "masked"];
  const LEFT = "in the request";
  const REQUESTS = DATA.requests;
  const found = (id) => document.getElementById(id);
  const number = (value) => value.toLocaleString("en");
  const counted = (value, word, several = `${word}s`) => `${number(value)} ${value === 1 ? word : several}`;
  const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
  const view = { at: DATA.start, state: LEFT, query: "", everywhere: false, drawing: 0 };

  function make(tag, name = "", text = "") {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text) made.textContent = text;
    return made;
  }

  const rowsOf = (request) => {
    const rows = [];
    for (let at = 0; at < request.rows.length; at += 2)
      for (let row = request.rows[at], end = row + request.rows[at + 1]; row < end; row++) rows.push(row);
    return rows;
  };

  // Sizes: the parts of each request, in the order of PARTS

  function sizesOf(request) {
    const sizes = PARTS.map(() => 0);
    for (const at of rowsOf(request)) {
      const row = DATA.rows[at];
      sizes[row[SLOT] === HISTORY && row[TURN] === request.turn ? NOW : row[SLOT]] += row[TOKENS];
    }
    sizes[PARTS.length - 2] = request.framing;
    sizes[PARTS.length - 1] = Math.max(0, request.outside);
    return sizes;
  }
  const SIZES = REQUESTS.map(sizesOf);
  const sum = (sizes) => sizes.reduce((all, each) => all + each, 0);
  const PEAK = REQUESTS.reduce((most, each, at) => Math.max(most, each.size, sum(SIZES[at])), 1);
  const WINDOW = REQUESTS.reduce((most, each) => Math.max(most, each.window), 0);
  const TOP = WINDOW <= 3 * PEAK ? Math.max(WINDOW, PEAK) * 1.06 : PEAK * 1.1;

  // The timeline

  function drawTimeline() {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", `0 0 ${REQUESTS.length} 100`);
    svg.setAttribute("preserveAspectRatio", "none");
    const heights = REQUESTS.map(() => 0);
    PARTS.forEach((name, part) => {
      let shape = "";
      REQUESTS.forEach((_, at) => {
        const low = (100 * (1 - heights[at] / TOP)).toFixed(2);
        heights[at] += SIZES[at][part];
        const high = (100 * (1 - heights[at] / TOP)).toFixed(2);
        const gap = REQUESTS.length <= 120 ? 0.08 : 0;
        shape += `M${at + gap} ${low}V${high}H${at + 1 - gap}V${low}Z`;
      });
      const path = document.createElementNS(svg.namespaceURI, "path");
      path.setAttribute("class", name);
      path.setAttribute("d", shape);
      svg.append(path);
    });
    found("chart").append(svg);
    found("most").textContent = `largest request: ${number(REQUESTS.reduce((most, each) => Math.max(most, each.size), 0))} tokens`;
    if (WINDOW && WINDOW <= TOP) {
      const limit = make("div");
      limit.id = "limit";
      limit.style.top = `${100 * (1 - WINDOW / TOP)}%`;
      found("chart").append(limit);
      found("window").textContent = `dashed: the window, ${number(WINDOW)}`;
    }
    if (REQUESTS.some((each) => each.compacted)) found("compactions").textContent = "▲ compacted before this request";
    REQUESTS.forEach((each, at) => {
      if (!each.compacted) return;
      const mark = make("span", "mark", "▲");
      mark.style.left = `${(100 * (at + 0.5)) / REQUESTS.length}%`;
      found("chart").append(mark);
    });
    found("slide").max = REQUESTS.length;
    const alone = REQUESTS.length < 2;
    for (const id of ["chart", "legend", "steps", "scope"]) found(id).hidden = alone;
  }

  // One request

  const nameOf = (request) => (request.number ? `Request ${number(request.number)}` : "The next request");

  function facts(request) {
    const line = found("facts");
    line.replaceChildren(make("b", "", nameOf(request)));
    const add = (text, name = "") => line.append(" · ", make("span", name, text));
    if (request.number) line.append(` of ${number(DATA.all)}`);
    if (request.purpose && request.purpose !== "turn") add(request.purpose + (request.who ? ` (${request.who})` : ""));
    if (request.model) add(request.model);
    const about = request.reported === null ? "about " : "";
    const share = request.window ? ` = ${percent(request.size / request.window)} of ${number(request.window)}` : "";
    const guess = request.guess ? " (a guess)" : "";
    add(`${about}${number(request.size)} tokens${share}${guess}`, request.size > request.window ? "over" : "");
    if (request.event) add(`up to event ${number(request.event)}`);
    if (request.compacted) add("compacted before it");
    const outside = request.outsideWhy ? `${DATA.outside}: ${request.outsideWhy}` : "";
    found("verdict").textContent = [request.fits ? "" : request.verdict, outside].filter(Boolean).join(" · ");
  }

  function drawBar(request, sizes) {
    const whole = Math.max(request.window, sum(sizes), 1), bar = found("bar"), key = found("key");
    bar.replaceChildren();
    key.replaceChildren();
    const free = Math.max(0, request.window - sum(sizes));
    [...PARTS, "free"].forEach((name, part) => {
      const size = name === "free" ? free : sizes[part];
      if (!size) return;
      const words = name === "outside" ? DATA.outside : name === "turn" ? "current turn" : name;
      const piece = make("span", name);
      piece.style.width = `${(100 * size) / whole}%`;
      piece.title = `${words}: ${number(size)}`;
      if (name !== "free") bar.append(piece);
      const entry = make("span");
      entry.append(make("i", name), `${words} `, make("b", "", number(size)));
      if (name === "outside" && request.outsideWhy) entry.title = request.outsideWhy;
      key.append(entry);
    });
  }

  // Rows

  const lowered = new Map();
  function holds(text, query) {
    if (text < 0) return false;
    if (!lowered.has(text)) lowered.set(text, DATA.texts[text].toLowerCase());
    return lowered.get(text).includes(query);
  }
  function matches(row, query) {
    return !query || holds(row[TEXT], query) || holds(row[ORIGINAL], query) ||
      DATA.words[row[WHO]].toLowerCase().includes(query) || DATA.words[row[WHY]].toLowerCase().includes(query);
  }

  let spans = null;
  function spanOf(row) {
    if (!spans) {
      spans = new Map();
      REQUESTS.forEach((request, at) => {
        for (const each of rowsOf(request)) spans.set(each, [(spans.get(each) || [at])[0], at]);
      });
    }
    return spans.get(row);
  }

  function marked(target, text, query) {
    const low = query ? text.toLowerCase() : "";
    let from = 0, many = 0;
    for (let at; query && low.length === text.length && many < MOST_MARKS; many++, from = at + query.length) {
      at = low.indexOf(query, from);
      if (at < 0) break;
      target.append(text.slice(from, at), make("mark", "", text.slice(at, at + query.length)));
    }
    target.append(text.slice(from));
  }

  function beginning(row) {
    const text = DATA.texts[row[TEXT] >= 0 ? row[TEXT] : row[ORIGINAL]] || "";
    const at = view.query ? text.toLowerCase().indexOf(view.query) : -1;
    const from = at > 30 ? at - 16 : 0;
    return (from ? "…" : "") + text.slice(from, from + 240).replace(/\s+/g, " ");
  }

  function block(body, title, text) {
    if (title) body.append(make("p", "", title));
    const pre = make("pre");
    marked(pre, text.slice(0, MOST_SHOWN), view.query);
    body.append(pre);
    if (text.length <= MOST_SHOWN) return;
    const more = make("button", "", `show all ${number(text.length)} characters`);
    more.addEventListener("click", () => { pre.textContent = text; more.remove(); });
    body.append(more);
  }

  function unfold(details, row) {
    if (details.lastElementChild.tagName !== "SUMMARY") return;
    const body = make("div", "open");
    const size = row[BEFORE] !== row[TOKENS] ? `${number(row[TOKENS])} of ${number(row[BEFORE])}` : number(row[TOKENS]);
    const parts = [row[SEQ] === null ? "" : `event ${number(row[SEQ])}`, row[TURN] ? `turn ${number(row[TURN])}` : "",
      `${size} tokens${row[FLAGS] & EXACT ? "" : ", counted approximately"}`, DATA.states[row[STATE]][1],
      row[FLAGS] & PINNED ? "pinned" : ""];
    body.append(make("p", "", parts.filter(Boolean).join(" · ")));
    if (DATA.words[row[WHY]]) body.append(make("p", "why", DATA.words[row[WHY]]));
    const text = DATA.texts[row[TEXT]], original = DATA.texts[row[ORIGINAL]];
    if (text !== undefined) block(body, original === undefined ? "" : "What was sent:", text);
    if (original !== undefined && (text !== undefined || original)) block(body, text === undefined ? "Not in the request:" : "The original:", original);
    details.append(body);
  }

  function drawRow(at, fresh, largest) {
    const row = DATA.rows[at], [state, words] = DATA.states[row[STATE]];
    const details = make("details", `row ${state}`), head = make("summary");
    if (!IN_REQUEST.includes(state)) details.classList.add("gone");
    if (fresh) {
      details.classList.add("new");
      head.title = "not in the request before";
    }
    const size = details.classList.contains("gone") ? row[BEFORE] : row[TOKENS];
    const tokens = make("span", "tokens", `${row[FLAGS] & EXACT ? "" : "~"}${number(size)}`);
    const share = make("i");
    share.style.width = `${(100 * row[TOKENS]) / largest}%`;
    tokens.append(share);
    const what = make("span", "what");
    if (view.everywhere) {
      const [first, last] = spanOf(at);
      const go = make("button", "", first === last ? nameOf(REQUESTS[first]) : `${nameOf(REQUESTS[first])} to ${number(last + 1)}`);
      go.addEventListener("click", (event) => { event.preventDefault(); found("scope").value = "here"; view.everywhere = false; select(first); });
      what.append(go, " ");
    }
    if (DATA.words[row[WHY]].toLowerCase().includes(view.query) && DATA.words[row[WHY]]) {
      const why = make("em");
      marked(why, DATA.words[row[WHY]], view.query);
      what.append(why, " ");
    }
    marked(what, beginning(row), view.query);
    const who = make("span", "who");
    marked(who, DATA.words[row[WHO]], view.query);
    head.append(make("span", "seq", row[SEQ] === null ? "–" : number(row[SEQ])), who, tokens,
      make("span", "state", words + (row[FLAGS] & PINNED ? " ⚑" : "")), what);
    details.append(head);
    details.addEventListener("toggle", () => { if (details.open) unfold(details, row); });
    return details;
  }

  const stateOf = (at) => DATA.states[DATA.rows[at][STATE]][0];
  const isShown = (at) => !view.state || (view.state === LEFT ? IN_REQUEST.includes(stateOf(at)) : stateOf(at) === view.state);

  function drawStates(rows) {
    const counts = new Map();
    for (const at of rows) counts.set(stateOf(at), (counts.get(stateOf(at)) || 0) + 1);
    const inside = IN_REQUEST.reduce((all, name) => all + (counts.get(name) || 0), 0);
    const chips = found("states");
    chips.replaceChildren();
    const chip = (name, words, many) => {
      const made = make("button", "", `${words} ${number(many)}`);
      made.setAttribute("aria-pressed", String(view.state === name));
      made.addEventListener("click", () => { view.state = name; drawRows(); });
      chips.append(made);
    };
    chip(LEFT, LEFT, inside);
    for (const [name, words] of DATA.states) if (counts.has(name) && name !== "sent") chip(name, words, counts.get(name));
    chip("", "all", rows.length);
  }

  function drawRows() {
    const request = REQUESTS[view.at], list = found("rows"), drawing = ++view.drawing;
    const here = rowsOf(request), all = view.everywhere ? DATA.rows.map((_, at) => at) : here;
    const before = new Set(view.at && !view.everywhere ? rowsOf(REQUESTS[view.at - 1]) : []);
    if (view.state !== LEFT && !all.some(isShown)) view.state = LEFT;
    drawStates(all);
    const hits = all.filter((at) => matches(DATA.rows[at], view.query));
    let shown = hits.filter(isShown);
    if (found("order").value === "size") shown = [...shown].sort((a, b) => DATA.rows[b][TOKENS] - DATA.rows[a][TOKENS]);
    const others = hits.length - shown.length;
    const aside = !view.everywhere && request.aside ? `; ${counted(request.aside, "other is", "others are")} never sent` : "";
    const more = view.query ? (others ? `; ${number(others)} more among the others` : "") : aside;
    found("found").textContent = view.query ? `${number(shown.length)} found${more}` : `${number(shown.length)} of ${counted(all.length, "row")}${more}`;
    const largest = shown.reduce((most, at) => Math.max(most, DATA.rows[at][TOKENS]), 1);
    list.replaceChildren();
    list.dataset.ready = "";
    if (!shown.length) list.append(make("p", "none", here.length || view.everywhere ? "Nothing found." : request.outsideWhy || "No rows."));
    const append = (from) => {
      if (drawing !== view.drawing) return;
      const piece = document.createDocumentFragment();
      for (const at of shown.slice(from, from + BATCH)) piece.append(drawRow(at, before.size && !before.has(at), largest));
      list.append(piece);
      if (from + BATCH < shown.length) setTimeout(append, 0, from + BATCH);
      else list.dataset.ready = "yes";
    };
    append(0);
  }

  function select(at) {
    view.at = Math.max(0, Math.min(REQUESTS.length - 1, at));
    const request = REQUESTS[view.at];
    found("here").style.left = `${(100 * view.at) / REQUESTS.length}%`;
    found("here").style.width = `${100 / REQUESTS.length}%`;
    found("slide").value = view.at + 1;
    found("slide").setAttribute("aria-valuetext", nameOf(request));
    found("earlier").disabled = view.at === 0;
    found("later").disabled = view.at === REQUESTS.length - 1;
    facts(request);
    drawBar(request, SIZES[view.at]);
    drawRows();
  }

  // What the reader does

  function fold(open) {
    for (const each of found("rows").querySelectorAll("details")) each.open = open;
  }
  function nowDark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }
  function nameTheme() { found("theme").textContent = nowDark() ? "Light" : "Dark"; }

  found("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = nowDark() ? "light" : "dark";
    nameTheme();
  });
  found("find").addEventListener("input", () => { view.query = found("find").value.toLowerCase(); drawRows(); });
  found("scope").addEventListener("change", () => { view.everywhere = found("scope").value === "all"; drawRows(); });
  found("order").addEventListener("change", drawRows);
  found("unfold").addEventListener("click", () => fold(true));
  found("fold").addEventListener("click", () => fold(false));
  found("slide").addEventListener("input", () => select(Number(found("slide").value) - 1));
  found("earlier").addEventListener("click", () => select(view.at - 1));
  found("later").addEventListener("click", () => select(view.at + 1));
  found("chart").addEventListener("click", (event) => {
    const box = found("chart").getBoundingClientRect();
    select(Math.floor(((event.clientX - box.left) / box.width) * REQUESTS.length));
  });
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "Escape" && event.target === found("find")) {
      found("find").value = view.query = "";
      drawRows();
    } else if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    else if (event.key === "/") { event.preventDefault(); found("find").focus(); }
    else if (event.key === "ArrowLeft") select(view.at - 1);
    else if (event.key === "ArrowRight") select(view.at + 1);
  });

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", nameTheme);
  nameTheme();
  drawTimeline();
  found("page").hidden = false;
  select(view.at);
})();
