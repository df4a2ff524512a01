// The page of `eyespan view`. Everything that comes from files is set as text, never as markup.

const at = (id) => document.getElementById(id);
const made = (name, text, attributes = {}) => {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};
const drawn = (name, attributes, title) => {
  const shape = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) shape.setAttribute(key, value);
  if (title) {
    const text = document.createElementNS("http://www.w3.org/2000/svg", "title");
    text.textContent = title;
    shape.append(text);
  }
  return shape;
};
const count = (number, noun) => `${number.toLocaleString()} ${noun}${number === 1 ? "" : "s"}`;
const strong = (number) => made("strong", number.toLocaleString());
const written = (value) => (typeof value === "string" ? value : JSON.stringify(value));

// --- session and requests ------------------------------------------------------------------------------------------

// The address of the page holds its state after "#?". Anything else after "#" is a token that works
// once, of `eyespan view`. That of `eyespan serve` lasts, so it is not taken from an address, which stays in the history.
const KEY = `eyespan ${location.pathname}`;
if (location.hash.length > 1 && !location.hash.startsWith("#?")) {
  if (!location.pathname.startsWith("/view/")) sessionStorage.setItem(KEY, location.hash.slice(1));
  history.replaceState(null, "", location.pathname);
}

async function ask(path, body) {
  const options = { headers: { Authorization: `Bearer ${sessionStorage.getItem(KEY) ?? ""}` } };
  if (body !== undefined) {
    options.method = "POST";
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const answer = await fetch(path, options).catch(() => {
    throw new Error("The server does not answer. Is the command that started this page still running?");
  });
  if (answer.ok) return answer.json();
  if (answer.status === 401) {
    at("enter").hidden = false;
    throw new Error("The token is missing or wrong.");
  }
  const text = await answer.text();
  let message = `${answer.status} ${text}`;
  try {
    message = JSON.parse(text).message ?? message;
  } catch {
    /* not JSON: the status and the text are shown */
  }
  throw new Error(message);
}

function trouble(message) {
  at("trouble").textContent = message;
  at("trouble").hidden = !message;
}

// --- state in the address ------------------------------------------------------------------------------------------

// view, file, lines, dialect, tool, args (JSON), compare, diff; and the filters of the activity: caller, by, verdict, match.
const FIELDS = ["view", "file", "lines", "dialect", "tool", "args", "compare", "diff", "caller", "by", "verdict", "match"];
const place = () => Object.fromEntries(new URLSearchParams(location.hash.startsWith("#?") ? location.hash.slice(2) : ""));
const link = (values) => {
  const kept = FIELDS.filter((name) => values[name]).map((name) => [name, values[name]]);
  return `#?${new URLSearchParams(kept)}`;
};

function go(changes, isReplaced = false) {
  const next = link({ ...place(), ...changes });
  if (next === location.hash) {
    apply();
    return;
  }
  history[isReplaced ? "replaceState" : "pushState"](null, "", next);
  apply();
}

let server;
const isNarrow = () => matchMedia("(max-width: 900px)").matches;
const dialect = (name) => server.dialects.find((each) => each.name === name);
const has = (name) => dialect(name) !== undefined;
const firstDialect = () => (has("native") ? "native" : server.dialects[0].name);
const toolOf = (name, toolName) => {
  const tools = dialect(name).tools;
  return tools.find((each) => each.name === toolName) ?? tools[0];
};

// Show what the address says. A call is made again only if it is another one.
const VIEWS = { preview: "", activity: "Activity", why: "Transcripts" };
let shownCall = "";
function apply() {
  if (!server) return;
  const now = place();
  const view = Object.hasOwn(VIEWS, now.view) ? now.view : "preview";
  for (const each of Object.keys(VIEWS)) {
    at(each).hidden = each !== view;
    at(`show-${each}`).href = link({ ...now, view: each === "preview" ? "" : each });
    if (each === view) at(`show-${each}`).setAttribute("aria-current", "page");
    else at(`show-${each}`).removeAttribute("aria-current");
  }
  document.title = VIEWS[view]
    ? `${VIEWS[view]} · eyespan`
    : now.file
      ? `${now.file} · eyespan`
      : "eyespan: what your agent sees";
  if (view === "activity") {
    showFilters(now);
    look();
    return;
  }
  if (view === "why") {
    lookWhy();
    return;
  }
  const name = has(now.dialect) ? now.dialect : firstDialect();
  at("dialect").value = name;
  at("other").value = has(now.compare) ? now.compare : "";
  at("differences").hidden = !at("other").value;
  at("differences").setAttribute("aria-pressed", String(now.diff === "1"));
  const isCall = Boolean(now.file || now.args);
  at("overview").hidden = isCall;
  at("question").hidden = at("answers").hidden = !isCall;
  if (!isCall) at("outline").hidden = true;
  markFile(now.file);
  if (!isCall) {
    shownCall = "";
    showOverview();
    return;
  }
  if (isNarrow()) at("files").open = false; // the answer comes first
  at("file-name").textContent = now.file ?? "";
  form(name, now.tool);
  const call = JSON.stringify([now.file, now.lines, name, now.tool, now.args, now.compare]);
  if (call === shownCall) {
    arrange();
    return;
  }
  shownCall = call;
  show(name, toolOf(name, now.tool).name, requestOf(now));
}

function requestOf(now) {
  if (now.args) {
    try {
      return { arguments: JSON.parse(now.args) };
    } catch {
      trouble("The address has arguments that are not JSON.");
    }
  }
  const [first, last] = (now.lines ?? "").split("-").map(Number);
  return { file: { path: now.file ?? "", ...(first ? { first, last: last || first } : {}) } };
}

const openFile = (file) => go({ view: "", file, lines: "", args: "", tool: "" });

// --- the tree of files ---------------------------------------------------------------------------------------------

const directories = new Map(); // how to open and close each directory, by its path

function treeItem(list, name, path) {
  const item = made("li", undefined, { role: "none" });
  const button = made("button", name, { role: "treeitem", type: "button", tabindex: "-1" });
  button.dataset.path = path;
  item.append(button);
  list.append(item);
  return button;
}

function directory(list, name, path) {
  const button = treeItem(list, `${name.replace(/\/$/, "")}/`, path);
  button.setAttribute("aria-expanded", "false");
  const inner = made("ul", undefined, { role: "group" });
  inner.hidden = true;
  const turn = async (isOpen) => {
    inner.hidden = !isOpen;
    button.setAttribute("aria-expanded", String(isOpen));
    if (!isOpen || inner.childElementCount) return;
    try {
      await fill(inner, path);
    } catch (error) {
      trouble(error.message);
    }
  };
  button.addEventListener("click", () => turn(inner.hidden));
  directories.set(path, turn);
  button.parentElement.append(inner);
}

// Open the directories above a file.
async function reveal(file) {
  for (let slash = file.indexOf("/"); slash > -1; slash = file.indexOf("/", slash + 1))
    await directories.get(file.slice(0, slash))?.(true);
}

async function fill(list, path) {
  const found = await ask(`api/names?path=${encodeURIComponent(path || ".")}`);
  list.replaceChildren();
  const isDirectory = (entry) => entry.type === "directory";
  for (const entry of [...found.entries.filter(isDirectory), ...found.entries.filter((each) => !isDirectory(each))]) {
    const below = path ? `${path.replace(/\/$/, "")}/${entry.name}` : entry.name;
    if (isDirectory(entry)) directory(list, entry.name, below);
    else treeItem(list, entry.name, below).addEventListener("click", () => openFile(below));
  }
  const note = found.error?.message ?? (!found.entries.length ? "(empty)" : found.is_complete === false ? "(not all names)" : "");
  if (note) list.append(made("li", note, { role: "treeitem", "aria-disabled": "true", class: "facts" }));
  setStop(stop() ?? items()[0]);
  markFile(place().file);
}

const items = () => [...at("tree").querySelectorAll("button")].filter((button) => button.offsetParent);
const stop = () => at("tree").querySelector("button[tabindex='0']");

// The tree is one stop of the Tab key: the entry that was used last.
function setStop(button) {
  if (!button) return;
  stop()?.setAttribute("tabindex", "-1");
  button.setAttribute("tabindex", "0");
}

function markFile(file) {
  for (const button of at("tree").querySelectorAll("button")) {
    if (button.dataset.path === file) {
      button.setAttribute("aria-current", "true");
      setStop(button);
      button.scrollIntoView({ block: "nearest" });
    } else button.removeAttribute("aria-current");
  }
}

at("tree").addEventListener("focusin", (event) => setStop(event.target.closest("button")));
at("tree").addEventListener("keydown", (event) => {
  const here = event.target.closest("button");
  const all = items();
  const index = all.indexOf(here);
  const isOpen = here?.getAttribute("aria-expanded") === "true";
  let next;
  if (event.key === "ArrowDown") next = all[index + 1];
  else if (event.key === "ArrowUp") next = all[index - 1];
  else if (event.key === "Home") next = all[0];
  else if (event.key === "End") next = all.at(-1);
  else if (event.key === "ArrowRight" && here?.hasAttribute("aria-expanded")) {
    if (isOpen) next = all[index + 1];
    else here.click();
  } else if (event.key === "ArrowLeft") {
    if (isOpen) here.click();
    else next = here?.closest("ul[role=group]")?.parentElement.querySelector("button");
  } else return;
  event.preventDefault();
  next?.focus();
});

// --- search --------------------------------------------------------------------------------------------------------

const MAX_FOUND = 50;

function search() {
  const words = at("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  at("found").hidden = !words.length;
  at("tree").hidden = words.length > 0;
  if (!words.length) {
    at("found-count").textContent = "";
    return;
  }
  const name = (path) => path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  const hits = (survey?.files ?? [])
    .map(([path]) => path)
    .filter((path) => words.every((word) => path.toLowerCase().includes(word)));
  hits.sort(
    (one, other) =>
      words.filter((word) => name(other).includes(word)).length - words.filter((word) => name(one).includes(word)).length ||
      one.length - other.length,
  );
  const isPartial = survey && (!survey.is_complete || survey.count > survey.files.length);
  at("found-count").textContent =
    `${count(hits.length, "file")}${hits.length > MAX_FOUND ? `, the first ${MAX_FOUND}` : ""}${isPartial ? "; not all files were searched" : ""}`;
  at("found").replaceChildren(
    ...hits.slice(0, MAX_FOUND).map((path) => {
      const item = made("li");
      item.append(fileLink(path));
      return item;
    }),
  );
}

at("search").addEventListener("input", search);
document.addEventListener("keydown", (event) => {
  const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.target === at("search")) {
    if (event.key === "Escape") {
      at("search").value = "";
      search();
    }
    if (event.key === "Enter" || event.key === "ArrowDown") {
      const first = at("found").querySelector("a");
      if (event.key === "Enter") first?.click();
      else first?.focus();
      event.preventDefault();
    }
  } else if (at("found").contains(event.target) && /^Arrow(Up|Down)$/.test(event.key)) {
    const links = [...at("found").querySelectorAll("a")];
    (links[links.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : -1)] ?? at("search")).focus();
    event.preventDefault();
  } else if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  else if (event.key === "/" && !at("preview").hidden) {
    at("files").open = true;
    at("search").focus();
    event.preventDefault();
  } else if (event.key === "?") at("help").showModal();
});

// --- the start: what reading costs ---------------------------------------------------------------------------------

const AT_START = 300; // files that are measured without a click
const BATCH = 4;
let survey;
let costs = {}; // by dialect, then by file: tokens and is_whole; null if the tool refuses the file
let isMeasuring = false;
let progress = "";

async function loadFiles() {
  try {
    survey = await ask("api/files");
  } catch (error) {
    at("cost").textContent = error.message;
    return;
  }
  search();
  if (server.is_local) measure(AT_START);
  showOverview();
}

const bySize = () => [...(survey?.files ?? [])].sort((one, other) => other[1] - one[1] || (one[0] < other[0] ? -1 : 1));

// Measure the largest files that are not measured yet, in the host's tool and with native, until `limit` files are.
async function measure(limit) {
  if (isMeasuring) return;
  isMeasuring = true;
  const names = [...new Set([at("host").value, has("native") ? "native" : at("host").value])];
  const isSlow = (path) => /\.(pdf|docx?|pptx?|xlsx?|od[tps])$/i.test(path); // decoded, so that they come last
  const paths = bySize()
    .slice(0, limit)
    .map(([path]) => path)
    .sort((one, other) => isSlow(one) - isSlow(other));
  try {
    for (let start = 0; start < paths.length; start += BATCH) {
      progress = `Measuring: ${start.toLocaleString()} of ${count(paths.length, "file")}. `;
      for (const name of names) {
        const known = (costs[name] ??= {});
        let missing = paths.slice(start, start + BATCH).filter((path) => !(path in known));
        while (missing.length) {
          const found = (await ask("api/call", { dialect: name, files: missing })).costs;
          found.forEach((cost, index) => {
            known[missing[index]] = cost;
          });
          missing = missing.slice(found.length);
        }
      }
      showOverview();
    }
  } catch (error) {
    trouble(error.message);
  } finally {
    isMeasuring = false;
  }
  showOverview();
}

const costText = (cost) =>
  cost === null
    ? made("span", "refused", { class: "number" })
    : cost === undefined
      ? ""
      : cost.is_whole
        ? cost.tokens
        : made("span", `over ${cost.tokens.toLocaleString()}`, { class: "number" });

function showOverview() {
  if (!survey || at("overview").hidden) return;
  const host = at("host").value;
  const isCompared = has("native") && host !== "native";
  const here = costs[host] ?? {};
  const native = costs[has("native") ? "native" : host] ?? {};
  const files = bySize();
  const measured = files.map(([path]) => path).filter((path) => path in here && path in native);
  const both = measured.filter((path) => here[path]?.is_whole && native[path]?.is_whole);
  const sum = (known) => both.reduce((total, path) => total + known[path].tokens, 0);
  const [before, after] = [sum(here), sum(native)];
  if (!measured.length) {
    const text = `There ${survey.count === 1 ? "is" : "are"} ${survey.count ? count(survey.count, "file") : "no files"} here.`;
    const advice = isMeasuring ? " Measuring what reading them costs…" : " Choose one, or measure what reading them costs.";
    at("cost").textContent = survey.count ? text + advice : text;
  } else {
    const which =
      both.length === survey.count
        ? `these ${count(both.length, "file")}`
        : `${both.length.toLocaleString()} of these ${count(survey.count, "file")}`;
    at("cost").replaceChildren(`Reading ${which} costs `, strong(before), ` tokens in your host’s tool (${host})`);
    if (isCompared) {
      at("cost").append(", ", strong(after), " with native");
      const percent = Math.round((100 * after) / before - 100);
      if (before) at("cost").append(`: ${Math.abs(percent)} % ${percent > 0 ? "more" : "less"}`);
    }
    at("cost").append(".");
  }
  const most = Math.max(before, after, 1);
  at("bars").replaceChildren();
  const bars = both.length ? [[host, before, "host"]] : [];
  if (both.length && isCompared) bars.push(["native", after, "native"]);
  for (const [name, number, kind] of bars) {
    const bar = drawn("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
    bar.append(drawn("rect", { width: (100 * number) / most, height: 10, class: kind }));
    at("bars").append(made("span", name), bar, made("span", number.toLocaleString(), { class: "number" }));
  }
  const refused = measured.filter((path) => here[path] === null).length;
  const lost = measured.filter((path) => native[path] === null).length;
  const notes = isMeasuring ? [progress] : [];
  if (measured.length)
    notes.push(
      "Each number is for the whole file, in as many calls as the tool needs; what a tool cuts from long lines is not counted.",
    );
  if (both.length && isCompared)
    notes.push("A whole file is the dearest read: native saves most where it reads parts, such as symbols and matches.");
  if (both.some((path) => path.endsWith(".pdf")))
    notes.push("Of a PDF, native counts the text, and tools that send its pages as images count those.");
  if (refused) notes.push(`${host} refuses ${count(refused, "file")}; ${refused === 1 ? "it does" : "they do"} not count.`);
  if (lost && isCompared) notes.push(`native refuses ${count(lost, "file")}.`);
  const long = measured.length - both.length - measured.filter((path) => here[path] === null || native[path] === null).length;
  if (long > 0)
    notes.push(
      `${count(long, "file")} cannot be read whole by both, or not in 20 calls, and ${long === 1 ? "does" : "do"} not count.`,
    );
  if (!survey.is_complete || survey.count > survey.files.length) notes.push("There are more files than are listed here.");
  notes.push(
    "Directories of version control and of installed packages, and what ignore files name, are left out.",
    ...survey.errors,
  );
  at("cost-note").textContent = notes.join(" ");
  const left = survey.files.length - measured.length;
  at("measure").hidden = isMeasuring || left < 1;
  at("measure").textContent = measured.length ? `Measure the other ${left.toLocaleString()}` : `Measure ${count(left, "file")}`;
  at("choice").hidden = at("sizes").hidden = !survey.count;
  at("largest-host").textContent = host;
  at("largest").tBodies[0].replaceChildren(
    ...files.slice(0, 10).map(([path, size]) => row([fileLink(path), size, costText(here[path]), costText(native[path])])),
  );
  at("hidden-rules").replaceChildren();
  if (survey.hidden === null)
    at("hidden-text").textContent =
      "The rules of this server hide names that its callers may not read. A read of one names its rule.";
  else {
    const total = survey.hidden.reduce((all, [, number]) => all + number, 0);
    at("hidden-text").textContent = total
      ? `Rules hide ${count(total, "name")} from every tool:`
      : "Nothing here. Names such as .env or private keys would be hidden from every tool.";
    at("hidden-rules").append(...survey.hidden.map(([rule, number]) => made("li", `${rule}  ×${number.toLocaleString()}`)));
  }
}

// A link to a file, which breaks after a slash if it can.
function fileLink(path) {
  if (!path) return "";
  const found = made("a", undefined, { href: link({ ...place(), view: "", file: path, lines: "", args: "", tool: "" }) });
  found.append(...path.split(/(?<=\/)/).flatMap((name) => [made("wbr"), name]));
  return found;
}
at("measure").addEventListener("click", () => measure(survey.files.length));
at("host").addEventListener("change", () => {
  showOverview();
  if (server.is_local) measure(AT_START);
});

// --- the form of a tool --------------------------------------------------------------------------------------------

const typeOf = (schema) => (Array.isArray(schema.type) ? schema.type[0] : (schema.type ?? "any"));

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

function form(name, toolName) {
  const here = dialect(name);
  at("tool-label").hidden = here.tools.length < 2;
  at("tool").replaceChildren(...here.tools.map((each) => made("option", each.name)));
  const chosen = toolOf(name, toolName);
  at("tool").value = chosen.name;
  at("about").textContent = here.summary;
  const builtFor = `${name}/${chosen.name}`;
  if (at("arguments").dataset.tool === builtFor) return;
  at("arguments").dataset.tool = builtFor;
  at("arguments").replaceChildren();
  for (const [key, each] of Object.entries(chosen.schema.properties ?? {})) {
    const label = made("label", key, { title: each.description ?? "" });
    const input = field(key, each);
    input.dataset.kind = typeOf(each);
    label.append(input);
    at("arguments").append(label);
  }
  at("arguments").append(made("button", "Read", { type: "submit", class: "primary" }));
}

function setForm(values) {
  for (const input of at("arguments").querySelectorAll("input, select")) {
    const value = values[input.name];
    if (input.type === "checkbox") input.checked = value === true;
    else input.value = value === undefined ? "" : written(value);
  }
}

// A value is sent as JSON if it is JSON of the type that the schema names; other text is sent as it is, as a model might.
function valueOf(text, kind) {
  if (kind === "string") return text;
  if (kind === "any" && !/^\s*[[{"]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return kind === "array" ? [text] : text;
  }
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

// What a long line wraps to stands beneath its text, not beneath its number.
const hang = (line, gutter) => {
  const columns = [...gutter].reduce((sum, each) => sum + (each === "\t" ? 4 - (sum % 4) : 1), 0);
  line.style.setProperty("--hang", `${columns}ch`);
  return line;
};

// The text of a block: line numbers apart, the rest in the styles that the server found.
function codeOf(block) {
  if (!block.text) return made("p", "an empty text", { class: "facts" });
  const pre = made("pre", undefined, { tabindex: "0" });
  if (!block.styles) {
    pre.textContent = block.text;
    return pre;
  }
  block.text.split("\n").forEach((line, index, lines) => {
    const [size, pieces] = block.styles[index];
    const characters = [...line]; // lengths count characters, not units of UTF-16
    const isOwn = line.startsWith(">");
    const gutter = characters.slice(0, size).join("");
    const part = hang(made("span", undefined, { class: "line" }), isOwn ? "> " : gutter);
    if (size) part.append(made("span", gutter, { class: isOwn ? "own" : "gutter" }));
    let start = size;
    for (const [length, style] of pieces) {
      const text = characters.slice(start, start + length).join("");
      part.append(style ? made("span", text, { class: style === "number" ? "number-token" : style }) : text);
      start += length;
    }
    if (index + 1 < lines.length) part.append("\n");
    pre.append(part);
  });
  return pre;
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const python = (value) =>
  JSON.stringify(value, null, 1)
    .replace(/\n\s*/g, " ")
    .replace(
      /("(?:[^"\\]|\\.)*")|\btrue\b|\bfalse\b|\bnull\b/g,
      (all, text) => text ?? { true: "True", false: "False", null: "None" }[all],
    );

const COPY_TITLES = {
  Call: "the call as JSON",
  Answer: "the text that the model receives",
  curl: "the call to a server over HTTP",
  Python: "the call as a program",
  Setup: "the command that adds this tool to a host",
};

// What the copy buttons copy.
function copies(name, toolName, answer) {
  const call = { name: toolName, arguments: answer.arguments };
  const root = server.roots[0];
  const address = server.is_local ? "http://127.0.0.1:8765/mcp" : new URL("../mcp", location.href).href;
  const message = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: call });
  const only = dialect(name).tools.length === 1;
  return {
    Call: JSON.stringify(call, null, 2),
    Answer: answer.blocks.map((block) => block.text ?? `[${block.type}, ${block.media_type}]`).join("\n"),
    curl: [
      `curl -s ${address} \\`,
      `  -H @<(printf 'Authorization: Bearer %s' "$EYESPAN_TOKEN") \\`,
      "  -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \\",
      `  -d ${quoted(message)}`,
    ].join("\n"),
    Python: [
      "from eyespan import Workspace",
      "",
      `with Workspace(${python(root)}) as workspace:`,
      only
        ? `    tool = workspace.tool(${python(name)})`
        : `    tool = {tool.spec.name: tool for tool in workspace.toolset(${python(name)})}[${python(toolName)}]`,
      `    reply = tool.call(${python(answer.arguments)})`,
      "    print(reply.text)",
    ].join("\n"),
    Setup: server.is_local
      ? ["eyespan setup claude-code --dialect", name, ...server.roots.map((each) => `--root ${quoted(each)}`)].join(" ")
      : `claude mcp add --transport http eyespan ${address} --header "Authorization: Bearer $EYESPAN_TOKEN"`,
  };
}

let toast;
async function copy(title, text) {
  try {
    await navigator.clipboard.writeText(text);
    at("copied").textContent = `${title}: copied`;
  } catch {
    at("copied").textContent = "The browser does not allow copying here.";
  }
  clearTimeout(toast);
  toast = setTimeout(() => {
    at("copied").textContent = "";
  }, 3000);
}

function shown(name, toolName, answer) {
  const part = made("article", undefined, { class: "answer card", "aria-label": `The answer of ${name}` });
  const title = made("h2", `${name}: `);
  title.append(
    made("strong", count(answer.tokens, "token")),
    " ",
    made("small", `${count(answer.blocks.length, "block")}, ${answer.ms < 1000 ? `${answer.ms} ms` : `${(answer.ms / 1000).toFixed(1)} s`}`, { class: "facts" }),
  );
  part.append(title);
  part.append(made("p", `${toolName} ${JSON.stringify(answer.arguments)}`, { class: "facts call" }));
  const tools = made("div", undefined, { class: "tools", role: "group", "aria-label": "Copy" });
  tools.append(made("span", "Copy", { class: "facts" }));
  for (const [what, text] of Object.entries(copies(name, toolName, answer))) {
    const button = made("button", what, { type: "button", title: COPY_TITLES[what], "aria-label": `Copy: ${what}` });
    button.addEventListener("click", () => copy(what, text));
    tools.append(button);
  }
  part.append(tools);
  if (answer.error)
    part.append(made("p", `refused: ${answer.error.code}` + (answer.rule ? ` (rule ${answer.rule})` : ""), { class: "refused" }));
  const isMixed = new Set(answer.blocks.map((block) => block.type === "text")).size > 1; // pages beside their text
  const blocks = made("div", undefined, { class: isMixed ? "blocks beside" : "blocks" });
  for (const block of answer.blocks) {
    const tokens = block.tokens === null ? "" : `, ${count(block.tokens, "token")}`;
    const cell = made("div", undefined, { class: block.type === "text" ? "text" : "other" });
    if (block.type === "text" && answer.blocks.length === 1) cell.append(codeOf(block));
    else if (block.type === "text") cell.append(made("p", `text${tokens}`, { class: "facts" }), codeOf(block));
    else cell.append(made("p", `${block.media_type}${tokens}`, { class: "facts" }));
    if (block.type === "image")
      cell.append(
        made("img", undefined, {
          alt: "The image that the model receives",
          src: `data:${block.media_type};base64,${block.data}`,
        }),
      );
    blocks.append(cell);
  }
  part.append(blocks);
  for (const next of answer.next) {
    if (next.arguments) part.append(nextButton(`read on: ${next.selector}`, name, toolName, next.arguments));
    else part.append(made("p", `left out: ${written(next.selector)}`, { class: "facts" }));
  }
  if (name === "native" && /\.pdf$/i.test(answer.file?.path ?? "") && !isMixed && !answer.error) {
    part.append(nextButton("Show the first pages beside the text", name, toolName, { files: `${answer.file.path}:p1-4` }));
  }
  const facts = Object.entries(answer.facts)
    .filter(([key]) => key !== "left_out" && key !== "tokens")
    .map(([key, value]) => `${key.replaceAll("_", " ")}: ${typeof value === "number" ? value.toLocaleString() : JSON.stringify(value)}`);
  part.append(made("p", facts.join(" · "), { class: "facts" }));
  for (const note of answer.notes) part.append(made("p", note, { class: "facts" }));
  return part;
}

function nextButton(text, name, toolName, values) {
  const button = made("button", text, { type: "button", class: "next" });
  button.addEventListener("click", () => {
    go({ dialect: name, tool: toolName, args: JSON.stringify(values), lines: "" });
    at("answers").focus();
  });
  return button;
}

let latest = 0;
let results = []; // [dialect, tool, answer] of the call and of the one to compare

// Make one call, and the same read in the other dialect beside it. An answer that comes after a later question is dropped.
async function show(name, toolName, request) {
  const mine = ++latest;
  trouble("");
  at("answers").setAttribute("aria-busy", "true");
  setForm(request.arguments ?? {});
  try {
    const answer = await ask("api/call", { dialect: name, tool: toolName, ...request });
    if (mine !== latest) return;
    const found = [[name, toolName, answer]];
    const other = at("other").value;
    const file = answer.file ?? (place().file && !place().args ? { path: place().file } : null);
    if (other && file) {
      const otherTool = dialect(other).tools[0].name;
      found.push([other, otherTool, await ask("api/call", { dialect: other, tool: otherTool, file })]);
    }
    if (mine !== latest) return;
    if (editedCall !== latest) setForm(answer.arguments ?? {});
    results = found;
    at("file-name").textContent = answer.file?.path ?? (place().args ? "" : place().file);
    note(found[0]);
    arrange();
    showOutline();
  } catch (error) {
    if (mine === latest) {
      trouble(error.message);
      shownCall = "";
    }
  } finally {
    if (mine === latest) at("answers").removeAttribute("aria-busy");
  }
}

let editedCall = 0;

function arrange() {
  const isDiff = place().diff === "1" && results.length === 2;
  at("answers").replaceChildren(...(isDiff ? [difference(...results)] : results.map((each) => shown(...each))));
}

// --- differences ---------------------------------------------------------------------------------------------------

const LOOKED_AHEAD = 400;
const bare = (line) => line.replace(/^ *L?\d+(?:\t|→|: | \| )/, "");

// Pairs of lines of two texts: equal ones without their numbers side by side, others alone.
function pairs(one, other) {
  const rows = [];
  let [left, right] = [0, 0];
  while (left < one.length && right < other.length) {
    let step = 0;
    let [skipLeft, skipRight] = [-1, -1];
    for (; step < LOOKED_AHEAD && skipLeft < 0; step += 1) {
      for (let part = 0; part <= step && skipLeft < 0; part += step || 1) {
        // A few lines of one side alone are likelier than a change of both: look along both edges only.
        if (
          left + part < one.length &&
          right + step - part < other.length &&
          bare(one[left + part]) === bare(other[right + step - part])
        )
          [skipLeft, skipRight] = [part, step - part];
      }
    }
    if (skipLeft < 0) {
      rows.push([one[left++], null], [null, other[right++]]);
      continue;
    }
    while (skipLeft-- > 0) rows.push([one[left++], null]);
    while (skipRight-- > 0) rows.push([null, other[right++]]);
    rows.push([one[left++], other[right++]]);
  }
  while (left < one.length) rows.push([one[left++], null]);
  while (right < other.length) rows.push([null, other[right++]]);
  return rows;
}

function difference([name, , answer], [other, , otherAnswer]) {
  const lines = (each) =>
    each.blocks
      .map((block) => block.text ?? `[${block.type}, ${block.media_type}]`)
      .join("\n")
      .split("\n");
  const part = made("article", undefined, { class: "answer card", "aria-label": `Differences of ${name} and ${other}` });
  const saved = answer.tokens - otherAnswer.tokens;
  part.append(made("h2", `${name}: ${count(answer.tokens, "token")}, ${other}: ${count(otherAnswer.tokens, "token")}`));
  part.append(
    made("p", saved ? `${saved > 0 ? other : name} needs ${count(Math.abs(saved), "token")} fewer.` : "Both need the same.", {
      class: "facts",
    }),
  );
  const table = made("table", undefined, { class: "diff" });
  const head = made("thead");
  head.append(made("tr"));
  head.firstChild.append(made("th", name, { scope: "col" }), made("th", other, { scope: "col" }));
  const body = made("tbody");
  for (const [one, two] of pairs(lines(answer), lines(otherAnswer))) {
    const line = made("tr");
    const cell = (text, kind) => {
      const gutter = text.slice(0, text.length - bare(text).length);
      const shown = hang(made("td", undefined, { class: kind }), gutter);
      shown.append(made("span", gutter, { class: "gutter" }), bare(text));
      return shown;
    };
    line.append(
      cell(one ?? "", two === null ? "left" : one === null ? "" : "same"),
      cell(two ?? "", one === null ? "right" : two === null ? "" : "same"),
    );
    body.append(line);
  }
  table.append(head, body);
  part.append(table);
  return part;
}

// --- outline and history -------------------------------------------------------------------------------------------

let outlineOf = "";
async function showOutline() {
  const file = results[0]?.[2].file?.path;
  at("outline").hidden = !has("native") || !file;
  if (!at("outline").open || at("outline").hidden || outlineOf === file) return;
  outlineOf = file;
  at("symbols").replaceChildren(made("li", "Looking for symbols…", { class: "facts" }));
  try {
    const answer = await ask("api/call", { dialect: "native", arguments: { files: file, outline: true } });
    if (outlineOf !== file) return;
    const symbols = (answer.blocks[0]?.text ?? "")
      .split("\n")
      .map((line) => /^( *)(\d+)(?:-(\d+))? (.*)$/.exec(line))
      .filter(Boolean);
    at("symbols").replaceChildren(
      ...symbols.map(([, indent, first, last, text]) => {
        const item = made("li", undefined, { class: `depth-${Math.min(3, indent.length / 2)}` });
        const button = made("button", text, { type: "button", title: `lines ${first}-${last ?? first}` });
        button.addEventListener("click", () => go({ file, lines: `${first}-${last ?? first}`, args: "", tool: "" }));
        item.append(button);
        return item;
      }),
    );
    if (!symbols.length) at("symbols").append(made("li", "No symbols were found in this file.", { class: "facts" }));
  } catch (error) {
    trouble(error.message);
    outlineOf = "";
  }
}

const MAX_CALLS = 50;
const calls = () => {
  try {
    return JSON.parse(sessionStorage.getItem(`${KEY} calls`)) ?? [];
  } catch {
    return [];
  }
};

function note([name, toolName, answer]) {
  const entry = {
    hash: location.hash,
    text: `${name}: ${toolName} ${JSON.stringify(answer.arguments)}`,
    tokens: answer.tokens,
    time: Date.now(),
  };
  sessionStorage.setItem(
    `${KEY} calls`,
    JSON.stringify([entry, ...calls().filter((each) => each.hash !== entry.hash)].slice(0, MAX_CALLS)),
  );
  showCalls();
}

function showCalls() {
  at("calls").replaceChildren(
    ...calls().map((entry) => {
      const item = made("li");
      item.append(
        made("a", `${entry.text} · ${count(entry.tokens, "token")}`, {
          href: entry.hash,
          title: new Date(entry.time).toLocaleTimeString(),
        }),
      );
      return item;
    }),
  );
  at("history").hidden = !calls().length;
}

// --- activity ------------------------------------------------------------------------------------------------------

let last = "";
let events = [];
let activity = null;

function row(cells) {
  const line = made("tr");
  for (const cell of cells) {
    const column = made("td");
    if (cell instanceof Node) {
      column.append(cell);
      column.className = { A: "path", SPAN: cell.className }[cell.tagName] ?? "";
    } else {
      column.textContent = cell === null || cell === undefined ? "" : typeof cell === "number" ? cell.toLocaleString() : cell;
      if (typeof cell === "number") column.className = "number";
    }
    line.append(column);
  }
  return line;
}

// The lines of a file from left to right, in a stronger colour where they were read more often.
function heat(file) {
  if (!file.heat.length) return "";
  const end = file.heat.at(-1).last;
  const most = Math.max(...file.heat.map((part) => part.reads));
  const strip = drawn("svg", {
    class: "heat",
    viewBox: "0 0 100 10",
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": `lines 1 to ${end}`,
  });
  for (const part of file.heat) {
    const x = (100 * (part.first - 1)) / end;
    const width = Math.max(1, (100 * (part.last - part.first + 1)) / end);
    strip.append(
      drawn(
        "rect",
        { x, y: 0, width, height: 10, class: "native", "fill-opacity": 0.25 + (0.75 * part.reads) / most },
        `lines ${part.first}-${part.last}: ${count(part.reads, "read")}`,
      ),
    );
  }
  const cell = made("div", undefined, { class: "lines" });
  const ranges = [];
  for (const { first, last } of file.heat) {
    if (ranges.at(-1)?.[1] === first - 1) ranges.at(-1)[1] = last;
    else ranges.push([first, last]);
  }
  cell.append(
    strip,
    made(
      "span",
      ranges
        .slice(0, 6)
        .map(([from, to]) => (from === to ? from : `${from}-${to}`))
        .join(", ") + (ranges.length > 6 ? " …" : ""),
      { class: "facts" },
    ),
  );
  return cell;
}

const clock = (time) =>
  made("time", Number.isNaN(Date.parse(time)) ? (time ?? "") : new Date(time).toLocaleTimeString(), { title: time ?? "" });
const pathOf = (event) => String(event.canonical ?? event.path ?? "");
const resultOf = (event) => event.verdict + (event.code ? `: ${event.code}` : "");
const FILTERS = { caller: (event) => event.caller, by: (event) => event.dialect, verdict: resultOf };

function showFilters(now) {
  for (const [name, valueFor] of Object.entries(FILTERS)) {
    const select = at("filters").elements[name];
    const values = [...new Set([...events.map(valueFor), now[name]].filter(Boolean))].sort();
    const wanted = ["", ...values].join("\n");
    if (select.dataset.values !== wanted) {
      select.dataset.values = wanted;
      select.replaceChildren(made("option", "all", { value: "" }), ...values.map((value) => made("option", value, { value })));
    }
    select.value = now[name] ?? "";
  }
  if (document.activeElement !== at("filters").elements.match) at("filters").elements.match.value = now.match ?? "";
}

const duration = (seconds) =>
  seconds < 120
    ? count(Math.round(seconds), "second")
    : seconds < 7200
      ? `${Math.round(seconds / 60)} minutes`
      : `${Math.round(seconds / 3600)} hours`;

// Tokens and calls in equal steps of time.
function chart(some) {
  const times = some.map((event) => Date.parse(event.time)).filter((time) => !Number.isNaN(time));
  at("timeline").replaceChildren();
  at("chart-range").textContent = "";
  at("timeline").setAttribute("aria-label", "No reads");
  if (!times.length) return;
  const start = Math.min(...times);
  const range = Math.max(...times) - start + 1;
  const step = Math.max(1000, range / 60);
  const bins = Array.from({ length: Math.max(20, Math.ceil(range / step)) }, () => ({ tokens: 0, calls: 0 }));
  at("timeline").setAttribute("viewBox", `0 0 ${10 * bins.length} 80`);
  for (const event of some) {
    const bin = bins[Math.floor((Date.parse(event.time) - start) / step)];
    if (bin) {
      bin.tokens += event.tokens ?? 0;
      bin.calls += 1;
    }
  }
  const [tokens, reads] = [Math.max(1, ...bins.map((bin) => bin.tokens)), Math.max(1, ...bins.map((bin) => bin.calls))];
  bins.forEach((bin, index) => {
    if (!bin.calls) return;
    const time = new Date(start + index * step).toLocaleTimeString();
    const title = `${time}: ${count(bin.tokens, "token")}, ${count(bin.calls, "call")}`;
    const bar = (kind, y, height) => drawn("rect", { class: kind, x: index * 10 + 1, y, width: 8, height }, title);
    const [above, below] = [(58 * bin.tokens) / tokens, (18 * bin.calls) / reads];
    at("timeline").append(bar("native", 60 - above, above), bar("host", 61, below));
  });
  const most = `at most ${count(tokens, "token")} and ${count(reads, "call")} in ${duration(step / 1000)}`;
  at("timeline").setAttribute("aria-label", most);
  at("chart-range").textContent =
    `${new Date(start).toLocaleString()} to ${new Date(Math.max(...times)).toLocaleString()}, ${most}`;
}

function showActivity() {
  const now = place();
  showFilters(now);
  const { totals, log } = activity;
  at("totals").replaceChildren(
    ...[
      [totals.reads, "reads"],
      [totals.tokens, "tokens (estimated)"],
      [totals.bytes, "bytes"],
      [totals.refused, "refused"],
      [totals.again_tokens, `tokens read again unchanged, in ${count(totals.again, "read")}`],
    ].map(([number, text]) => {
      const box = made("div");
      box.append(made("strong", number.toLocaleString()), made("span", text));
      return box;
    }),
  );
  at("reads").hidden = !events.length;
  at("nothing").hidden = events.length > 0;
  at("nothing-start").hidden = Boolean(log) || !server.is_local;
  const others = server.is_local ? ". Those of a server appear with its audit log:" : ", and so do the other calls with your token.";
  at("nothing-text").textContent = log ? `They appear here as they are added to ${log}.` : `The reads of this page appear here${others}`;
  const match = (now.match ?? "").toLowerCase();
  const some = events.filter(
    (event) =>
      Object.entries(FILTERS).every(([name, valueFor]) => !now[name] || valueFor(event) === now[name]) &&
      pathOf(event).toLowerCase().includes(match),
  );
  at("filtered").textContent =
    `${some.length.toLocaleString()} of ${count(events.length, "call")}, ${count(
      some.reduce((sum, event) => sum + (event.tokens ?? 0), 0),
      "token",
    )}` +
    (some.length > 200 ? "; the latest 200 are listed" : "") +
    (log ? `; from ${log}` : "");
  chart(some);
  const paths = new Set(some.map(pathOf));
  const isFiltered = some.length < events.length;
  at("heat-title").textContent = isFiltered ? "Files of these reads, with the sums of all their reads" : "Files";
  at("heat").tBodies[0].replaceChildren(
    ...activity.files
      .filter((file) => !isFiltered || paths.has(file.path))
      .slice(0, 100)
      .map((file) => row([fileLink(file.path), file.reads, file.again, file.refused, file.bytes, file.tokens, heat(file)])),
  );
  at("events").tBodies[0].replaceChildren(
    ...some
      .slice(0, 200)
      .map((event) =>
        row([
          clock(event.time),
          event.caller,
          event.dialect,
          fileLink(pathOf(event)),
          event.range ?? "",
          resultOf(event) + (event.rule ? ` (${event.rule})` : ""),
          event.tokens ?? "",
          event.bytes,
          event.ms,
        ]),
      ),
  );
}

async function look() {
  if (at("activity").hidden || !server) return;
  try {
    const found = await ask(`api/activity?after=${encodeURIComponent(last)}`);
    last = found.last;
    trouble("");
    const isNew = activity === null || found.events.length > 0;
    activity = found;
    if (isNew) {
      const latestFirst = (one, other) => (Date.parse(other.time) || 0) - (Date.parse(one.time) || 0);
      events = [...found.events.reverse(), ...events].sort(latestFirst).slice(0, 5000);
      showActivity();
    } // otherwise what is there stays, so that it can be selected
  } catch (error) {
    trouble(error.message);
  }
}

at("filters").addEventListener("input", (event) => {
  go({ [event.target.name]: event.target.value }, event.target.name === "match");
  if (activity) showActivity();
});
at("filters").addEventListener("submit", (event) => event.preventDefault());

// --- transcripts: `eyespan why` ------------------------------------------------------------------------------------

let report = null;

async function lookWhy() {
  if (at("why").hidden || report?.is_complete) return;
  if (!server.has_report) {
    at("why-lead").textContent = "What did the reads of your host cost, and how many of their tokens had the model seen before?";
    at("why-start").hidden = false;
    return;
  }
  try {
    report = await ask("api/why");
    showWhy();
  } catch (error) {
    trouble(error.message);
  }
}

const share = (part, whole) => `${Math.round((100 * part) / Math.max(1, whole))} %`;
// The rows of the comparison: name, tokens, those of the host for the same reads, and the reads.
const tools = () => {
  const { reads, tokens, dialects } = report.compared;
  const row = ([name, cost]) => [name, cost.tokens, cost.host_tokens, cost.reads];
  return reads ? [["your host", tokens, tokens, reads], ...Object.entries(dialects).map(row)] : [];
};

function showWhy() {
  const { compared } = report;
  if (report.reads) {
    at("why-lead").replaceChildren(
      `${count(report.reads, "read")} of ${report.hosts.join(", ")} cost `,
      strong(report.tokens),
      " tokens. ",
      strong(report.held_tokens),
      ` of them (${share(report.held_tokens, report.tokens)}) showed lines that the model already had, unchanged.`,
    );
  } else
    at("why-lead").textContent =
      report.error ?? (report.is_complete ? "There are no reads in these transcripts." : "Reading the transcripts…");
  at("why-note").textContent =
    `${report.is_complete ? "" : "Counting: "}${count(report.transcripts, "transcript")}; ${count(report.repeated_reads, "read")} showed nothing new. Tokens are estimates.${report.error && report.reads ? ` ${report.error}` : ""}`;
  at("why-found").hidden = at("copy-why").hidden = !report.reads;
  at("again-title").textContent = `The lines of ${count(compared.reads, "read")}, in each tool`;
  at("again-note").textContent =
    `The same lines of today’s files, in as many calls as a tool needs. ${count(report.not_compared, "read")} could not be repeated: the file is gone, denied, or outside of the directory of its session.`;
  const most = Math.max(1, ...tools().map(([, tokens]) => tokens));
  at("again").tBodies[0].replaceChildren(
    ...tools().map(([name, tokens, before, reads], index) => {
      const bar = drawn("svg", { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
      bar.append(
        drawn("rect", {
          width: (100 * tokens) / most,
          height: 10,
          class: name === "native" ? "native" : index ? "others" : "host",
        }),
      );
      const label = reads === compared.reads ? name : `${name} (${count(reads, "read")})`;
      return row([label, tokens, made("span", share(tokens, before), { class: "number" }), bar]);
    }),
  );
  const root = `${server.roots[0].replace(/\/$/, "")}/`;
  at("costly").tBodies[0].replaceChildren(
    ...Object.entries(report.files)
      .slice(0, 50)
      .map(([path, cost]) =>
        row([
          path.startsWith(root) ? fileLink(path.slice(root.length)) : made("span", path, { class: "mono" }),
          cost.reads,
          cost.tokens,
          cost.held_tokens,
        ]),
      ),
  );
}

at("copy-why").addEventListener("click", () => {
  const lines = [
    `${count(report.reads, "read")} of ${report.hosts.join(", ")}: ${count(report.tokens, "token")}, ${share(report.held_tokens, report.tokens)} of them for lines that the model already had.`,
    "",
    "| tool | tokens of the same reads | of the host's |",
    "| --- | ---: | ---: |",
    ...tools().map(([name, tokens, before]) => `| ${name} | ${tokens.toLocaleString()} | ${share(tokens, before)} |`),
  ];
  copy("Report", `${lines.join("\n")}\n`);
});

// --- start ---------------------------------------------------------------------------------------------------------

at("arguments").addEventListener("submit", (event) => {
  event.preventDefault();
  shownCall = "";
  go({ dialect: at("dialect").value, tool: at("tool").value, args: JSON.stringify(given()), lines: "" });
});
at("arguments").addEventListener("input", () => {
  editedCall = latest;
});
at("dialect").addEventListener("change", () => go({ dialect: at("dialect").value, tool: "", args: "" }));
at("tool").addEventListener("change", () => go({ tool: at("tool").value, args: "" }));
at("other").addEventListener("change", () => go({ compare: at("other").value, diff: at("other").value ? place().diff : "" }));
at("differences").addEventListener("click", () => go({ diff: place().diff === "1" ? "" : "1" }));
at("outline").addEventListener("toggle", () => {
  showOutline();
  markFile(place().file); // which the outline pushes out of sight
});
at("show-help").addEventListener("click", () => at("help").showModal());
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  (at("answers").hidden ? at("search") : at("answers")).focus();
});
window.addEventListener("popstate", () => {
  apply();
  if (activity && place().view === "activity") showActivity();
});

async function begin() {
  try {
    server = await ask("api/state");
    at("roots").textContent = server.roots.join(", ");
    at("show-why").hidden = !server.is_local;
    const options = () => server.dialects.map((each) => made("option", each.name, { title: each.summary }));
    at("dialect").replaceChildren(...options());
    at("other").replaceChildren(made("option", "none", { value: "" }), ...options());
    at("host").replaceChildren(...options());
    const others = server.dialects.map((each) => each.name).filter((name) => name !== "native");
    at("host").value = others.find((name) => name.startsWith("claude@")) ?? others[0] ?? "native";
    if (isNarrow()) at("form").open = at("files").open = false;
    at("tree").replaceChildren();
    if (server.roots.length < 2) await fill(at("tree"), "");
    else for (const root of server.roots) directory(at("tree"), root, root);
    setStop(stop() ?? items()[0]);
    showCalls();
    if (place().file) await reveal(place().file);
    apply();
    document.body.dataset.ready = "yes";
    loadFiles();
  } catch (error) {
    trouble(error.message);
  }
}

at("enter").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(KEY, at("token").value);
  at("token").value = "";
  at("enter").hidden = true;
  trouble("");
  begin();
});
begin();
setInterval(() => {
  look();
  if (server?.has_report) lookWhy();
}, 1000);
