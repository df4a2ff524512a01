// The page of `eyespan view`. Everything that comes from files is set as text, never as markup.

const token = location.hash.slice(1);
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
  if (answer.status === 401) throw new Error("The token is missing or wrong: open this page with #TOKEN after its address.");
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

// --- the tree of files ---------------------------------------------------------------------------------------------

async function fill(list, path) {
  const found = await ask(`api/names?path=${encodeURIComponent(path || ".")}`);
  list.replaceChildren();
  for (const entry of found.entries) {
    const below = path ? `${path}/${entry.name}` : entry.name;
    const item = made("li", undefined, { role: "none" });
    const button = made("button", entry.type === "directory" ? `${entry.name}/` : entry.name, { role: "treeitem", type: "button" });
    item.append(button);
    if (entry.type === "directory") {
      const inner = made("ul", undefined, { role: "group" });
      inner.hidden = true;
      button.setAttribute("aria-expanded", "false");
      button.addEventListener("click", async () => {
        inner.hidden = !inner.hidden;
        button.setAttribute("aria-expanded", String(!inner.hidden));
        if (!inner.hidden && !inner.childElementCount) await fill(inner, below);
      });
      item.append(inner);
    } else {
      button.addEventListener("click", () => {
        for (const other of at("tree").querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
        button.setAttribute("aria-current", "true");
        chosen = below;
        form();
        run();
      });
    }
    list.append(item);
  }
  if (found.error) list.append(made("li", found.error.message));
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
const isPath = (name) => ["path", "file_path", "files", "absolute_path"].includes(name);
const typeOf = (schema) => (Array.isArray(schema.type) ? schema.type[0] : schema.type ?? (schema.anyOf ?? schema.oneOf ?? [{}])[0].type ?? "string");

function pathFor(name) {
  return name === "file_path" || name === "absolute_path" ? `${state.roots[0].replace(/\/$/, "")}/${chosen}` : chosen;
}

function form() {
  const here = dialect(at("dialect").value);
  at("tool-label").hidden = here.tools.length < 2;
  const names = here.tools.map((each) => each.name).join();
  if (at("tool").dataset.names !== names) {
    at("tool").replaceChildren(...here.tools.map((each) => made("option", each.name)));
    at("tool").dataset.names = names;
  }
  const schema = tool(here.name).schema;
  const fields = Object.entries(schema.properties ?? {});
  at("arguments").replaceChildren();
  for (const [name, field] of fields) {
    const label = made("label", name, { title: field.description ?? "" });
    const kind = typeOf(field);
    const input = made("input", undefined, { name });
    input.dataset.kind = kind;
    if (kind === "boolean") input.type = "checkbox";
    else if (field.default !== undefined && field.default !== null) input.placeholder = String(field.default);
    if (isPath(name)) input.value = pathFor(name);
    label.append(input);
    at("arguments").append(label);
  }
  at("arguments").append(made("button", "Read", { type: "submit" }));
}

function given() {
  const values = {};
  for (const input of at("arguments").querySelectorAll("input")) {
    const kind = input.dataset.kind;
    if (kind === "boolean") {
      if (input.checked) values[input.name] = true;
    } else if (input.value !== "") {
      if (kind === "integer" || kind === "number") values[input.name] = Number(input.value);
      else if (kind === "array") values[input.name] = input.value.split(/\s+/);
      else if (kind === "object") {
        try { values[input.name] = JSON.parse(input.value); } catch { values[input.name] = input.value; }
      } else values[input.name] = input.value;
    }
  }
  return values;
}

// --- answers -------------------------------------------------------------------------------------------------------

function shown(name, answer) {
  const part = made("article", undefined, { class: "answer", "aria-label": `The answer of ${name}` });
  part.append(made("h2", `${name}: ${answer.tokens.toLocaleString()} tokens, ${answer.blocks.length} blocks, ${answer.ms} ms`));
  if (answer.error) part.append(made("p", `refused: ${answer.error.code}`, { class: "refused" }));
  for (const block of answer.blocks) {
    if (block.type === "text") {
      part.append(made("p", `text, ${block.tokens.toLocaleString()} tokens`, { class: "facts" }), made("pre", block.text, { tabindex: "0" }));
    } else if (block.type === "image") {
      part.append(made("p", `image, ${block.media_type}`, { class: "facts" }));
      part.append(made("img", undefined, { alt: "The image that the model receives", src: `data:${block.media_type};base64,${block.data}` }));
    } else part.append(made("p", `${block.type}, ${block.media_type}, ${block.data.length} characters of base64`, { class: "facts" }));
  }
  const left = answer.facts.left_out ?? [];
  for (const selector of Array.isArray(left) ? left : [left]) {
    const next = made("button", `read on: ${typeof selector === "string" ? selector : JSON.stringify(selector)}`, { type: "button" });
    next.addEventListener("click", () => readOn(name, selector));
    part.append(next);
  }
  for (const [key, value] of Object.entries(answer.facts)) {
    if (key !== "left_out") part.append(made("p", `${key}: ${JSON.stringify(value)}`, { class: "facts" }));
  }
  for (const note of answer.notes) part.append(made("p", note, { class: "facts" }));
  return part;
}

async function readOn(name, selector) {
  const values = typeof selector === "string" ? { files: [selector] } : { ...given(), ...selector };
  await show([[name, values]]);
}

async function show(calls) {
  trouble("");
  const parts = [];
  for (const [name, values] of calls) {
    const answer = await ask("api/call", { dialect: name, tool: tool(name).name, arguments: values });
    parts.push(shown(name, answer));
  }
  at("answers").replaceChildren(...parts);
}

function otherArguments(name) {
  const values = {};
  for (const field of Object.keys(dialect(name).tools[0].schema.properties ?? {})) {
    if (isPath(field)) {
      const path = pathFor(field);
      values[field] = typeOf(dialect(name).tools[0].schema.properties[field]) === "array" ? [path] : path;
      break;
    }
  }
  return values;
}

async function run() {
  const calls = [[at("dialect").value, given()]];
  if (at("other").value) calls.push([at("other").value, otherArguments(at("other").value)]);
  try { await show(calls); } catch (error) { trouble(error.message); }
}

// --- activity ------------------------------------------------------------------------------------------------------

let last = "";
let events = [];

function row(cells) {
  const line = made("tr");
  for (const cell of cells) line.append(made("td", cell === null || cell === undefined ? "" : String(cell)));
  return line;
}

async function look() {
  if (at("activity").hidden) return;
  try {
    const found = await ask(`api/activity?after=${encodeURIComponent(last)}`);
    last = found.last;
    events = [...events, ...found.events].slice(-5000);
    const bytes = events.reduce((sum, event) => sum + (event.bytes ?? 0), 0);
    const refused = events.filter((event) => event.verdict === "refused").length;
    const tokens = events.reduce((sum, event) => sum + (event.tokens ?? 0), 0);
    at("totals").textContent = `${events.length.toLocaleString()} reads, ${refused} refused, ${bytes.toLocaleString()} bytes, about ${tokens.toLocaleString()} tokens` + (found.log ? `, from ${found.log}` : "");
    at("heat").tBodies[0].replaceChildren(...found.files.slice(0, 100).map((file) =>
      row([file.path, file.reads, file.again, file.refused, file.bytes.toLocaleString(), file.tokens || "", file.ranges.map((range) => typeof range === "string" ? range : JSON.stringify(range)).join(" ")])));
    at("events").tBodies[0].replaceChildren(...events.slice(-200).reverse().map((event) =>
      row([event.time, event.caller, event.dialect, event.canonical ?? event.path, event.verdict + (event.code ? `: ${event.code}` : ""), event.bytes, event.ms])));
    const bars = events.slice(-100);
    const most = Math.max(1, ...bars.map((event) => event.bytes ?? 0));
    at("timeline").replaceChildren(...bars.map((event, place) => {
      const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      const height = Math.max(2, 56 * Math.sqrt((event.bytes ?? 0) / most));
      for (const [key, value] of Object.entries({ x: place * 6, y: 60 - height, width: 5, height })) bar.setAttribute(key, value);
      if (event.verdict === "refused") bar.setAttribute("class", "bad");
      return bar;
    }));
    trouble("");
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
at("dialect").addEventListener("change", () => { form(); if (chosen) run(); });
at("tool").addEventListener("change", () => { form(); });
at("other").addEventListener("change", () => { if (chosen) run(); });

try {
  state = await ask("api/state");
  at("roots").textContent = state.roots.join(", ");
  at("dialect").replaceChildren(...state.dialects.map((each) => made("option", each.name, { title: each.summary })));
  at("other").replaceChildren(made("option", "", { value: "" }), ...state.dialects.map((each) => made("option", each.name)));
  form();
  await fill(at("tree"), "");
  setInterval(look, 1000);
  document.body.dataset.ready = "yes";
} catch (error) {
  trouble(error.message);
}
