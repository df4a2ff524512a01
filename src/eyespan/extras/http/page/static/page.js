// The page of `eyespan view`. Everything that comes from files is set as text, never as markup.

let token = location.hash.slice(1);
history.replaceState(null, "", location.pathname);
const at = (id) => document.getElementById(id);
const made = (name, text, attributes = {}) => {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};

async function ask(path, body) {
  const options = { headers: { Authorization: `Bearer ${token}` } };
  if (body !== undefined) {
    options.method = "POST";
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const answer = await fetch(path, options);
  if (answer.ok) return answer.json();
  if (answer.status === 401) {
    at("enter").hidden = false;
    throw new Error("The token is missing or wrong.");
  }
  const text = await answer.text();
  let message = `${answer.status} ${text}`;
  try { message = JSON.parse(text).message ?? message; } catch { /* not JSON: the status and the text are shown */ }
  throw new Error(message);
}

function trouble(message) {
  at("trouble").textContent = message;
  at("trouble").hidden = !message;
}

let state;
let chosen = "";
let latest = 0;
let isEdited = false;
let asked = null;
const count = (number, noun) => `${number.toLocaleString()} ${noun}${number === 1 ? "" : "s"}`;

// --- the tree of files ---------------------------------------------------------------------------------------------

function directory(list, name, path) {
  const item = made("li", undefined, { role: "none" });
  const button = made("button", `${name.replace(/\/$/, "")}/`, { role: "treeitem", type: "button", "aria-expanded": "false" });
  const inner = made("ul", undefined, { role: "group" });
  inner.hidden = true;
  button.addEventListener("click", async () => {
    inner.hidden = !inner.hidden;
    button.setAttribute("aria-expanded", String(!inner.hidden));
    if (inner.hidden || inner.childElementCount) return;
    try { await fill(inner, path); } catch (error) { trouble(error.message); }
  });
  item.append(button, inner);
  list.append(item);
  return button;
}

async function fill(list, path) {
  const found = await ask(`api/names?path=${encodeURIComponent(path || ".")}`);
  list.replaceChildren();
  for (const entry of found.entries) {
    const below = path ? `${path.replace(/\/$/, "")}/${entry.name}` : entry.name;
    if (entry.type === "directory") { directory(list, entry.name, below); continue; }
    const item = made("li", undefined, { role: "none" });
    const button = made("button", entry.name, { role: "treeitem", type: "button" });
    button.addEventListener("click", () => {
      for (const other of at("tree").querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
      button.setAttribute("aria-current", "true");
      chosen = below;
      start();
    });
    item.append(button);
    list.append(item);
  }
  if (found.error) list.append(made("li", found.error.message));
  else if (!found.entries.length) list.append(made("li", "(empty)", { class: "facts" }));
  else if (found.is_complete === false) list.append(made("li", "(not all names)", { class: "facts" }));
}

at("tree").addEventListener("keydown", (event) => {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const buttons = [...at("tree").querySelectorAll("button")].filter((button) => button.offsetParent);
  const next = buttons[buttons.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1)];
  if (next) next.focus();
  event.preventDefault();
});

// --- the form of a tool --------------------------------------------------------------------------------------------

const dialect = (name) => state.dialects.find((each) => each.name === name);
const tool = (name) => {
  const tools = dialect(name).tools;
  return tools.find((each) => each.name === at("tool").value) ?? tools[0];
};
const typeOf = (schema) => (Array.isArray(schema.type) ? schema.type[0] : schema.type ?? "any");
const written = (value) => (typeof value === "string" ? value : JSON.stringify(value));

function field(name, schema) {
  if (schema.enum) {
    const select = made("select", undefined, { name });
    select.append(made("option", "", { value: "" }), ...schema.enum.map((each) => made("option", written(each))));
    return select;
  }
  const input = made("input", undefined, { name });
  if (typeOf(schema) === "boolean") input.type = "checkbox";
  else if (schema.default !== undefined && schema.default !== null) input.placeholder = written(schema.default);
  return input;
}

function form(values = {}) {
  const here = dialect(at("dialect").value);
  at("tool-label").hidden = here.tools.length < 2;
  const names = here.tools.map((each) => each.name).join();
  if (at("tool").dataset.names !== names) {
    at("tool").replaceChildren(...here.tools.map((each) => made("option", each.name)));
    at("tool").dataset.names = names;
  }
  at("about").textContent = here.summary;
  const builtFor = `${here.name}/${tool(here.name).name}`;
  if (at("arguments").dataset.tool !== builtFor) build(tool(here.name).schema, builtFor);
  for (const input of at("arguments").querySelectorAll("input, select")) {
    const value = values[input.name];
    if (input.type === "checkbox") input.checked = value === true;
    else input.value = value === undefined ? "" : written(value);
  }
}

function build(schema, builtFor) {
  at("arguments").dataset.tool = builtFor;
  at("arguments").replaceChildren();
  for (const [name, each] of Object.entries(schema.properties ?? {})) {
    const label = made("label", name, { title: each.description ?? "" });
    const input = field(name, each);
    input.dataset.kind = typeOf(each);
    label.append(input);
    at("arguments").append(label);
  }
  at("arguments").append(made("button", "Read", { type: "submit" }));
}

// A value is sent as JSON if it is JSON of the type that the schema names; other text is sent as it is, as a model might.
function valueOf(text, kind) {
  if (kind === "string") return text;
  if (kind === "any" && !/^\s*[[{"]/.test(text)) return text;
  try { return JSON.parse(text); } catch { return kind === "array" ? [text] : text; }
}

function given() {
  const values = {};
  for (const input of at("arguments").querySelectorAll("input, select")) {
    if (input.type === "checkbox") {
      if (input.checked) values[input.name] = true;
    } else if (input.value !== "") values[input.name] = valueOf(input.value, input.dataset.kind);
  }
  return values;
}

// --- answers -------------------------------------------------------------------------------------------------------

function shown(name, toolName, answer) {
  const part = made("article", undefined, { class: "answer", "aria-label": `The answer of ${name}` });
  part.append(made("h2", `${name}: ${count(answer.tokens, "token")}, ${count(answer.blocks.length, "block")}, ${answer.ms} ms`));
  part.append(made("p", `${toolName} ${JSON.stringify(answer.arguments)}`, { class: "facts call" }));
  if (answer.error) part.append(made("p", `refused: ${answer.error.code}` + (answer.rule ? ` (rule ${answer.rule})` : ""), { class: "refused" }));
  for (const block of answer.blocks) {
    const tokens = block.tokens === null ? "" : `, ${count(block.tokens, "token")}`;
    if (block.type === "text") {
      part.append(made("p", `text${tokens}`, { class: "facts" }), made("pre", block.text, { tabindex: "0" }));
    } else {
      part.append(made("p", `${block.type}, ${block.media_type}${tokens}`, { class: "facts" }));
      if (block.type === "image") part.append(made("img", undefined, { alt: "The image that the model receives", src: `data:${block.media_type};base64,${block.data}` }));
    }
  }
  for (const next of answer.next) {
    if (next.arguments) {
      const button = made("button", `read on: ${next.selector}`, { type: "button", class: "next" });
      button.addEventListener("click", () => readOn(name, toolName, next.arguments));
      part.append(button);
    } else part.append(made("p", `left out: ${written(next.selector)}`, { class: "facts" }));
  }
  const facts = Object.entries(answer.facts).filter(([key]) => key !== "left_out" && key !== "tokens");
  part.append(made("p", facts.map(([key, value]) => `${key}: ${typeof value === "number" ? value.toLocaleString() : JSON.stringify(value)}`).join(" · "), { class: "facts" }));
  for (const note of answer.notes) part.append(made("p", note, { class: "facts" }));
  return part;
}

async function call(name, toolName, request) {
  const answer = await ask("api/call", { dialect: name, tool: toolName, ...request });
  return [answer, shown(name, toolName, answer)];
}

// Make one call, and the same read in the other dialect beside it. An answer that comes after a later question is dropped.
async function show(name, toolName, request) {
  const mine = ++latest;
  asked = [name, toolName, request];
  isEdited = false;
  trouble("");
  at("answers").setAttribute("aria-busy", "true");
  try {
    const [answer, part] = await call(name, toolName, request);
    if (mine !== latest) return;
    const parts = [part];
    const other = at("other").value;
    const file = answer.file ?? (chosen ? { path: chosen } : null);
    if (other && file) parts.push((await call(other, dialect(other).tools[0].name, { file }))[1]);
    if (mine !== latest) return;
    if (name === at("dialect").value && !isEdited) form(answer.arguments ?? {});
    at("answers").replaceChildren(...parts);
  } catch (error) {
    if (mine === latest) trouble(error.message);
  } finally {
    if (mine === latest) at("answers").removeAttribute("aria-busy");
  }
}

async function readOn(name, toolName, values) {
  if (dialect(name) && at("dialect").value !== name) { at("dialect").value = name; form(); }
  if ([...at("tool").options].some((option) => option.value === toolName)) at("tool").value = toolName;
  await show(name, toolName, { arguments: values });
  at("answers").focus();
}

const start = () => show(at("dialect").value, tool(at("dialect").value).name, { file: { path: chosen } });
const run = () => show(at("dialect").value, tool(at("dialect").value).name, { arguments: given() });

// --- activity ------------------------------------------------------------------------------------------------------

let last = "";
let events = [];
let isDrawn = false;

function row(cells) {
  const line = made("tr");
  for (const cell of cells) {
    const column = made("td");
    if (cell instanceof Node) column.append(cell);
    else {
      column.textContent = cell === null || cell === undefined ? "" : typeof cell === "number" ? cell.toLocaleString() : cell;
      if (typeof cell === "number") column.className = "number";
    }
    line.append(column);
  }
  return line;
}

function drawn(name, attributes, title) {
  const shape = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) shape.setAttribute(key, value);
  if (title) {
    const text = document.createElementNS("http://www.w3.org/2000/svg", "title");
    text.textContent = title;
    shape.append(text);
  }
  return shape;
}

// The lines of a file from left to right; darker where they were read more often.
function heat(file) {
  if (!file.heat.length) return "";
  const last = file.heat.at(-1).last;
  const most = Math.max(...file.heat.map((part) => part.reads));
  const strip = drawn("svg", { class: "heat", viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img", "aria-label": `lines ${file.ranges.join(", ")}` });
  for (const part of file.heat) {
    const x = (100 * (part.first - 1)) / last;
    const width = Math.max(1, (100 * (part.last - part.first + 1)) / last);
    strip.append(drawn("rect", { x, y: 0, width, height: 10, "fill-opacity": 0.25 + (0.75 * part.reads) / most }, `lines ${part.first}-${part.last}: ${count(part.reads, "read")}`));
  }
  const cell = made("div", undefined, { class: "lines" });
  cell.append(strip, made("span", file.ranges.slice(0, 6).join(", ") + (file.ranges.length > 6 ? " …" : "")));
  return cell;
}

const clock = (time) => {
  const cell = made("time", time ? new Date(time).toLocaleTimeString() : "", { title: time ?? "" });
  if (!time || Number.isNaN(Date.parse(time))) cell.textContent = time ?? "";
  return cell;
};

async function look() {
  if (at("activity").hidden || !state) return;
  try {
    const found = await ask(`api/activity?after=${encodeURIComponent(last)}`);
    last = found.last;
    trouble("");
    if (isDrawn && !found.events.length) return; // what is there stays, so that it can be selected
    isDrawn = true;
    events = [...events, ...found.events].slice(-5000);
    const totals = found.totals;
    at("totals").textContent = `${count(totals.reads, "read")}, ${totals.again.toLocaleString()} of them again, ${totals.refused.toLocaleString()} refused, ${count(totals.bytes, "byte")}, about ${count(totals.tokens, "token")}` + (found.log ? `, from ${found.log}` : "");
    at("nothing").hidden = events.length > 0;
    at("nothing").textContent = found.log
      ? "No reads in the log yet."
      : "No reads yet. Reads of this page appear here, and those of a server with `eyespan view --audit FILE` or `eyespan serve --http ... --view`.";
    at("heat").tBodies[0].replaceChildren(...found.files.slice(0, 100).map((file) =>
      row([file.path, file.reads, file.again, file.refused, file.bytes, file.tokens, heat(file)])));
    at("events").tBodies[0].replaceChildren(...events.slice(-200).reverse().map((event) =>
      row([clock(event.time), event.caller, event.dialect, event.canonical ?? event.path, event.range ?? "", event.verdict + (event.code ? `: ${event.code}` : "") + (event.rule ? ` (${event.rule})` : ""), event.tokens ?? "", event.bytes, event.ms])));
    const bars = events.slice(-100);
    const most = Math.max(1, ...bars.map((event) => event.bytes ?? 0));
    at("timeline").replaceChildren(...bars.map((event, place) => {
      const height = Math.max(2, 56 * Math.sqrt((event.bytes ?? 0) / most));
      const title = `${event.canonical ?? event.path}: ${event.verdict}, ${count(event.bytes ?? 0, "byte")}`;
      return drawn("rect", { x: place * 6, y: 60 - height, width: 5, height, class: event.verdict === "refused" ? "bad" : "read" }, title);
    }));
  } catch (error) { trouble(error.message); }
}

function view(name) {
  at("preview").hidden = name !== "preview";
  at("activity").hidden = name !== "activity";
  at("show-preview").setAttribute("aria-pressed", String(name === "preview"));
  at("show-activity").setAttribute("aria-pressed", String(name === "activity"));
  look();
}

// --- start ---------------------------------------------------------------------------------------------------------

at("show-preview").addEventListener("click", () => view("preview"));
at("show-activity").addEventListener("click", () => view("activity"));
at("arguments").addEventListener("submit", (event) => { event.preventDefault(); run(); });
at("arguments").addEventListener("input", () => { isEdited = true; });
at("dialect").addEventListener("change", () => { form(); if (chosen) start(); });
at("tool").addEventListener("change", () => { form(); if (chosen) start(); });
at("other").addEventListener("change", () => { if (asked) show(...asked); });

async function begin() {
  try {
    state = await ask("api/state");
    at("roots").textContent = state.roots.join(", ");
    at("dialect").replaceChildren(...state.dialects.map((each) => made("option", each.name, { title: each.summary })));
    at("other").replaceChildren(made("option", "", { value: "" }), ...state.dialects.map((each) => made("option", each.name)));
    form();
    at("tree").replaceChildren();
    if (state.roots.length < 2) await fill(at("tree"), "");
    else for (const root of state.roots) directory(at("tree"), root, root);
    document.body.dataset.ready = "yes";
  } catch (error) {
    trouble(error.message);
  }
}

at("enter").addEventListener("submit", (event) => {
  event.preventDefault();
  token = at("token").value;
  at("token").value = "";
  at("enter").hidden = true;
  trouble("");
  begin();
});
begin();
setInterval(look, 1000);
