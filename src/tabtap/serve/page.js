// The page: what the server tells is kept in two maps, and drawn from them.
"use strict";

const files = new Map();
const runs = new Map();
const forms = new Map(); // what is chosen for each file, before it is asked
const shownAll = new Set(); // files whose every column is shown
const opened = new Set(); // columns whose cells are being described
let chosen = null; // the file that is shown
let looking = 0;

const LEARNERS = [
  ["auto", "not decided: the best of six"],
  ["linear", "a linear model"],
  ["neighbors", "nearest neighbours"],
  ["forest", "a random forest"],
  ["boosting", "boosting"],
  ["small_leaves", "boosting with small leaves"],
  ["network", "a small neural network"],
  ["lightgbm", "LightGBM"],
  ["xgboost", "XGBoost"],
];
const PRESETS = [
  ["default", "default"],
  ["fast", "fast: less time"],
  ["paper", "paper: as published"],
];
const TASKS = [
  ["auto", "by the values of the target"],
  ["classification", "classes"],
  ["regression", "a number"],
];
const MIXTURES = [
  ["real", "as in the table"],
  ["balanced", "as many of each class"],
];
const KINDS = [
  ["continuous", "continuous (numbers)"],
  ["integer", "integer (whole numbers)"],
  ["datetime", "datetime (times)"],
  ["boolean", "boolean (yes or no)"],
  ["category", "category"],
  ["ordered category", "ordered category"],
  ["identifier", "identifier (not learned)"],
  ["as written", "text, as written"],
  ["two numbers", "two numbers in a cell"],
];
const READINGS = ["as written", "two numbers"];
const SIGNS = [["", "as found"], [".", "."], [",", ","]];
const SCORERS = [
  "accuracy", "balanced_accuracy", "roc_auc", "average_precision", "f1", "f1_macro",
  "neg_log_loss", "neg_brier_score", "r2", "neg_root_mean_squared_error",
  "neg_mean_absolute_error",
];
const ANSWERS = {
  decimal: "Decimal sign", thousands: "Thousands sign", date_format: "Dates are",
  missing: "Missing is",
};
const GRAVE = [
  "refused", "question", "leak", "lost", "groups", "tiny class", "duplicates", "code",
];
const STATES = {
  waiting: ["waits", ""], running: ["at work", "good"], stopping: ["stopping", "warn"],
  stopped: ["stopped", "warn"], done: ["done", ""], failed: ["failed", "bad"],
};
const TONES = { augment: "good", gain_too_small: "caution" }; // as in the report
const DOWNLOADS = [
  ["table", "Table"], ["report", "Report"], ["result", "Result (.tap)"],
  ["datasheet", "Data sheet"],
];
const SHOWN_COLUMNS = 60;

// ---- Small things.

const $ = (id) => document.getElementById(id);

/** Return an element; text is never read as markup. */
function make(tag, given = {}, ...inner) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "selected") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...inner.flat().filter((part) => part !== null && part !== undefined));
  return element;
}

const counted = (number, noun) =>
  `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

function sizeWords(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1e6 ? `${Math.round(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1).replace(/\.?$/, ".");

function timeWords(seconds) {
  const whole = Math.max(Math.round(seconds), 0);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  if (hours) return `${hours} h ${minutes} min`;
  return minutes ? `${minutes} min ${whole % 60} s` : `${whole} s`;
}

function tell(text) { $("live").textContent = text; }

function complain(text) {
  $("problem").hidden = !text;
  $("problem").textContent = text || "";
}

/** Ask the server for something; an error is a sentence, and is shown. */
async function send(method, path, body) {
  const given = { method };
  if (body instanceof Blob) given.body = body;
  else if (body !== undefined) given.body = JSON.stringify(body);
  let answer;
  try {
    answer = await fetch(path, given);
  } catch {
    throw new Error("The server does not answer. Start it again with tabtap serve.");
  }
  if (answer.ok) return answer.status === 204 ? null : answer.json();
  const said = await answer.json().catch(() => ({}));
  throw new Error(said.error || `The server refused this (${answer.status}).`);
}

async function attempt(action) {
  complain("");
  try {
    return await action();
  } catch (error) {
    complain(error.message);
    return null;
  }
}

/** Draw something anew, and leave the keyboard where it was. */
function redraw(place, ...parts) {
  const before = document.activeElement;
  const key = place.contains(before) ? before.dataset.key : null;
  const from = key && before.selectionStart;
  place.replaceChildren(...parts.filter((part) => part !== null));
  if (!key) return;
  const same = [...place.querySelectorAll("[data-key]")].find((e) => e.dataset.key === key);
  if (same) {
    same.focus({ preventScroll: true });
    if (typeof from === "number" && same.setSelectionRange) same.setSelectionRange(from, from);
  } else {
    place.tabIndex = -1;
    place.focus({ preventScroll: true });
  }
}

function choice(key, label, pairs, value, onchange, more = {}) {
  const id = `field-${key}`;
  const options = pairs.map(([name, words]) =>
    make("option", { value: name, selected: name === value }, words));
  return make("div", { class: "field" },
    make("label", { for: id }, label),
    make("select", { id, "data-key": key, disabled: more.disabled,
      onchange: (event) => onchange(event.target.value) }, options),
    more.hint ? make("span", { class: "hint" }, more.hint) : null);
}

function entry(key, label, value, onchange, more = {}) {
  const id = `field-${key}`;
  return make("div", { class: "field" },
    make("label", { for: id }, label),
    make("input", { id, type: "text", "data-key": key, value: value || "",
      autocomplete: "off", spellcheck: "false", list: more.list,
      placeholder: more.placeholder, onchange: (event) => onchange(event.target.value),
      oninput: more.live ? (event) => more.live(event.target.value) : undefined }),
    more.hint ? make("span", { class: "hint" }, more.hint) : null);
}

// ---- Files: dropped, sent, chosen, removed.

async function take(list) {
  for (const file of list) {
    $("busy").hidden = false;
    $("busy").textContent = `Reading ${file.name} ...`;
    const path = `/files?name=${encodeURIComponent(file.name)}`;
    const taken = await attempt(() => send("POST", path, file));
    $("busy").hidden = true;
    if (taken) {
      chosen = taken.id;
      onFile(taken);
      tell(`${taken.name}: ${counted(taken.n_rows, "row")}. Choose the column to be predicted.`);
      $("file").scrollIntoView({ block: "start" });
      const target = $("field-target");
      if (target) target.focus({ preventScroll: true });
    }
  }
  $("pick").value = "";
}

function formOf(file) {
  if (!forms.has(file.id)) {
    const options = file.look ? file.look.options : {};
    forms.set(file.id, {
      target: "", task: "auto", groups: "", kinds: {}, cells: {}, learner: "auto",
      scoring: "", preset: "default", budget: "500", mixture: "real", seed: "0",
      time_budget: "", ...structuredClone(options),
    });
  }
  return forms.get(file.id);
}

function onFile(file) {
  const before = files.get(file.id);
  files.set(file.id, file);
  if (!chosen || !files.has(chosen)) chosen = file.id;
  const isOurs = looking > 0;
  const hasNew = file.look && JSON.stringify(file.look) !== JSON.stringify(before && before.look);
  if (hasNew && before && !isOurs) forms.delete(file.id); // chosen in another tab
  drawFiles();
  if (file.id === chosen) drawFile();
}

function drawFiles() {
  $("drop").classList.toggle("few", files.size > 0);
  $("drop-title").textContent = files.size ? "Drop another table here" : "Drop a table here";
  $("files").hidden = files.size < 2;
  redraw($("files").firstElementChild, ...[...files.values()].map((file) =>
    make("li", {}, make("button", {
      "data-key": `file-${file.id}`, type: "button",
      "aria-current": file.id === chosen ? "true" : undefined,
      onclick: () => { chosen = file.id; drawFiles(); drawFile(); },
    }, file.name))));
}

async function removeFile(file) {
  const n = [...runs.values()].filter((run) => run.file === file.id).length;
  const also = n ? ` and its ${counted(n, "run")}` : "";
  if (!window.confirm(`Delete the copy of ${file.name}${also}?`)) return;
  await attempt(() => send("DELETE", `/files/${file.id}`));
}

/** Look the table over, as it is now described. */
async function look(file) {
  const form = formOf(file);
  drawFile();
  if (!form.target) return;
  looking += 1;
  tell("Looking the table over ...");
  drawFile();
  const options = structuredClone(form);
  const found = await attempt(() => send("POST", `/files/${file.id}/look`, options));
  looking -= 1;
  if (found && files.has(file.id)) {
    const now = files.get(file.id);
    now.look = { options, answer: found };
    const n = found.remarks.length;
    tell(n ? `Looked over: ${counted(n, "remark")}.` : "Looked over: nothing stands out.");
  }
  drawFile();
}

function drawFile() {
  const file = files.get(chosen);
  $("file").hidden = !file;
  if (!file) { $("file").replaceChildren(); return; }
  const form = formOf(file);
  const seen = file.look && file.look.options.target === form.target ? file.look.answer : null;
  const names = file.columns.map((column) => column.name);
  redraw($("file"),
    make("div", { class: "titled" },
      make("h2", {}, file.name),
      make("button", { type: "button", class: "plain", "data-key": "remove-file",
        onclick: () => removeFile(file) }, "Remove")),
    make("p", { class: "about" },
      `${counted(file.n_rows, "row")}, ${counted(names.length, "column")}, ${sizeWords(file.size)}`,
      file.sheet ? `, sheet ${file.sheet}` : ""),
    make("div", { class: "step" },
      make("div", { class: "fields" },
        choice("target", "Which column is to be predicted?",
          [["", "choose one"], ...names.map((name) => [name, name])], form.target,
          (value) => { form.target = value; look(file); }),
        choice("groups", "Which rows belong together?",
          [["", "each row is on its own"], ...names.filter((n) => n !== form.target).map((n) => [n, n])],
          form.groups, (value) => { form.groups = value; look(file); },
          { hint: "Such as the patient, if one has several rows." }))),
    drawColumns(file, form, seen),
    form.target ? drawAsk(file, form) : null);
}

// ---- Columns: what each is taken for, what looks wrong, and what is said of it.

function drawColumns(file, form, seen) {
  const remarks = seen ? seen.remarks : [];
  const rows = seen ? seen.columns : file.columns;
  const told = new Map();
  for (const remark of remarks) {
    if (!told.has(remark.column)) told.set(remark.column, []);
    told.get(remark.column).push(remark);
  }
  const examples = new Map(file.columns.map((column) => [column.name, column]));
  const all = shownAll.has(file.id) || rows.length <= SHOWN_COLUMNS;
  const shown = rows.filter((row, i) => all || i < SHOWN_COLUMNS || told.has(row.name));
  const notes = [...new Set([...file.notes, ...(seen ? seen.notes : [])])];
  const body = shown.flatMap((row) => columnRows(file, form, seen, {
    row, known: examples.get(row.name), remarks: told.get(row.name) || [],
  }));
  const busy = looking > 0
    ? make("p", { class: "busy hint" }, "Looking the table over ...") : null;
  return make("div", { class: "step" },
    make("h3", { id: "columns-title" }, "What each column is taken for"),
    seen ? null : make("p", { class: "hint" },
      "Choose the column to be predicted to have the table looked over."),
    busy,
    notes.map((note) => make("p", { class: "remark" }, sentence(note))),
    make("div", { class: "remarks" }, (told.get(null) || []).map((r) => remarkLine(file, form, r))),
    seen && !remarks.length && !busy
      ? make("p", { class: "fine" }, "Nothing stands out.") : null,
    make("table", { class: "grid", role: "table", "aria-labelledby": "columns-title" },
      make("thead", { role: "rowgroup" }, make("tr", { role: "row" },
        ["column", "kind", "seen", "missing", "in new rows", ""].map((title) =>
          make("th", { role: "columnheader", scope: "col", class: title.split(" ")[0] }, title)))),
      make("tbody", { role: "rowgroup" }, body)),
    all ? null : make("p", { class: "actions" }, make("button", { type: "button", class: "small",
      "data-key": "all-columns", onclick: () => { shownAll.add(file.id); drawFile(); } },
      `Show all ${counted(rows.length, "column")}`)));
}

function columnRows(file, form, seen, { row, known, remarks }) {
  const isTarget = row.name === form.target;
  const source = known ? known.source : row.name;
  const key = `${file.id} ${source}`;
  const isOpen = opened.has(key) || source in form.cells;
  const toggle = make("button", { type: "button", class: "plain small",
    "data-key": `cells-${row.name}`, "aria-expanded": isOpen ? "true" : "false",
    "aria-label": `How the cells of ${row.name} are written`,
    onclick: () => { if (opened.has(key)) opened.delete(key); else opened.add(key); drawFile(); },
  }, "cells");
  const line = make("tr", { role: "row" },
    make("th", { role: "rowheader", scope: "row" }, row.name),
    make("td", { role: "cell", class: "kind" }, kindField(file, form, row, isTarget, source)),
    make("td", { role: "cell", class: "seen" }, row.seen || null, exampleLine(row, known)),
    make("td", { role: "cell", class: "missing", "data-label": seen ? "missing" : undefined },
      row.missing || ""),
    make("td", { role: "cell", "data-label": seen ? "in new rows:" : undefined },
      row["new rows"] || ""),
    make("td", { role: "cell", class: "cells" }, toggle));
  const more = remarks.map((remark) => remarkLine(file, form, remark));
  if (isOpen) more.push(cellsFields(file, form, source));
  if (!more.length) return [line];
  return [line, make("tr", { role: "row", class: "said" },
    make("td", { role: "cell", colspan: "6" }, more))];
}

function exampleLine(row, known) {
  if (!known || row.kind === "identifier") return null; // these may name people
  const isNew = (text) => !(row.seen || "").includes(text);
  if (!known.examples.some(isNew)) return null;
  return make("div", { class: "example" }, `such as ${known.examples.join(", ")}`);
}

function kindField(file, form, row, isTarget, source) {
  if (isTarget) return make("span", { class: "mark" }, "target");
  const said = form.kinds[row.name] || form.kinds[source] || "";
  const found = row.kind === "UNCLEAR" ? "unclear" : row.kind;
  const id = `kind-${row.name}`;
  return make("select", { id, "data-key": id, "aria-label": `Kind of ${row.name}`,
    onchange: (event) => {
      delete form.kinds[row.name];
      delete form.kinds[source];
      const kind = event.target.value;
      if (kind) form.kinds[READINGS.includes(kind) ? source : row.name] = kind;
      look(file);
    } },
  make("option", { value: "", selected: !said },
    found && !said ? `${found} (as found)` : "as found"),
  KINDS.map(([kind, words]) => make("option", { value: kind, selected: kind === said }, words)));
}

function cellsFields(file, form, source) {
  const said = form.cells[source] || {};
  const set = (name) => (value) => {
    form.cells[source] = { ...form.cells[source], [name]: value };
    if (!value) delete form.cells[source][name];
    if (!Object.keys(form.cells[source]).length) delete form.cells[source];
    opened.add(`${file.id} ${source}`);
    look(file);
  };
  return make("fieldset", { class: "cells" },
    make("legend", {}, `How the cells of ${source} are written`),
    make("div", { class: "fields" },
      choice(`decimal-${source}`, "decimal sign", SIGNS, said.decimal || "", set("decimal")),
      choice(`thousands-${source}`, "thousands sign", SIGNS, said.thousands || "",
        set("thousands")),
      entry(`date_format-${source}`, "dates", said.date_format, set("date_format"),
        { placeholder: "%d.%m.%Y" }),
      entry(`missing-${source}`, "code for missing", said.missing, set("missing"),
        { placeholder: "999" })));
}

/** A remark in the words of tabtap inspect, with a button for each answer to it. */
function remarkLine(file, form, remark) {
  const answers = [];
  const add = (words, change) => answers.push(make("button", { type: "button", class: "small",
    "data-key": `answer-${remark.column}-${words}`,
    onclick: () => { change(); look(file); } }, words));
  const ignore = () => { form.kinds[remark.column] = "identifier"; };
  if (remark.setting === "groups") {
    add("Use it as groups", () => { form.groups = remark.column; });
  }
  if (remark.setting === "ignore" || /--ignore \S/.test(remark.text)) {
    add("Do not learn it", ignore);
  }
  const options = /--(decimal|thousands|date-format|missing|kind) ('[^']*'|\S+)/g;
  for (const [, option, quoted] of remark.text.matchAll(options)) {
    const text = quoted.replace(/^'|'$/g, "");
    const at = text.lastIndexOf("=");
    const [name, value] = [text.slice(0, at), text.slice(at + 1)];
    const cell = option.replace("-", "_");
    if (at < 1 || !value || name === "COL") continue;
    if (option === "kind") add(`Read it as: ${value}`, () => { form.kinds[name] = value; });
    else {
      add(`${ANSWERS[cell]} ${value}`, () => {
        form.cells[name] = { ...form.cells[name], [cell]: value };
      });
    }
  }
  const place = remark.column === null ? "" : `${remark.column}: `;
  return make("p", { class: GRAVE.includes(remark.topic) ? "remark grave" : "remark" },
    `${place}${remark.text}.`, answers.length ? make("span", { class: "answers" }, answers) : null);
}

// ---- What is asked, and of whom.

function drawAsk(file, form) {
  const set = (name) => (value) => { form[name] = value; };
  const isMore = form.task !== "auto" || form.mixture !== "real" || form.seed !== "0"
    || form.time_budget || opened.has(file.id);
  return make("form", { class: "step", "aria-labelledby": "ask-title",
    onsubmit: (event) => { event.preventDefault(); start(file); } },
  make("h3", { id: "ask-title" }, "What you will train, and what to try"),
  make("div", { class: "fields" },
    choice("learner", "The learner you will train", LEARNERS, form.learner, set("learner"),
      { hint: "The answer is about this one." }),
    entry("scoring", "Yardstick", form.scoring, set("scoring"),
      { list: "scorers", placeholder: "the usual", live: set("scoring"),
        hint: "Any scorer of scikit-learn; the usual one is half accuracy, half Brier score, or the RMSE." }),
    entry("budget", "Most rows to add", form.budget, set("budget"),
      { live: set("budget"), hint: "A number, or auto: stop where the gain levels off." }),
    choice("preset", "Preset", PRESETS, form.preset, set("preset"))),
  make("datalist", { id: "scorers" }, SCORERS.map((name) => make("option", { value: name }))),
  make("details", { class: "more", open: isMore,
    ontoggle: (event) => {
      if (event.target.open) opened.add(file.id); else opened.delete(file.id);
    } },
  make("summary", { "data-key": "more" }, "More"),
  make("div", { class: "fields" },
    choice("task", "The target is", TASKS, form.task,
      (value) => { form.task = value; look(file); }),
    choice("mixture", "Classes of new rows", MIXTURES, form.mixture, set("mixture")),
    entry("seed", "Seed", form.seed, set("seed"),
      { live: set("seed"), hint: "Equal seeds give equal tables." }),
    entry("time_budget", "Time limit", form.time_budget, set("time_budget"),
      { live: set("time_budget"), placeholder: "none",
        hint: "Such as 90s, 5m or 1h30m: it ends with what there is." }))),
  make("p", { class: "actions" },
    make("button", { class: "main", "data-key": "start" }, "Ask")));
}

async function start(file) {
  const form = formOf(file);
  const options = structuredClone(form);
  if (file.look) file.look.options = options;
  const run = await attempt(() => send("POST", `/files/${file.id}/runs`, options));
  if (!run) return;
  onRun(run);
  const card = $(`run-${run.id}`);
  card.scrollIntoView({ block: "start", behavior: "smooth" });
  card.querySelector("h3").focus({ preventScroll: true });
}

// ---- Runs: how far they are, and what came of them.

function onRun(run) {
  const before = runs.get(run.id);
  runs.set(run.id, run);
  speak(run, before);
  $("runs").hidden = false;
  let card = $(`run-${run.id}`);
  if (!card) {
    card = make("article", { class: "run", id: `run-${run.id}`, "aria-labelledby": `title-${run.id}` });
    const later = [...$("run-list").children].find((other) =>
      runs.get(other.id.slice(4)).created < run.created);
    $("run-list").insertBefore(card, later || null);
  }
  const isSame = before && before.state === run.state && card.childElementCount
    && JSON.stringify(before.written) === JSON.stringify(run.written);
  if (isSame && run.state === "running") drawTrack(run, card);
  else drawRun(run, card);
  drawQueue();
  drawNow();
}

/** Say what has changed to those who do not see it. */
function speak(run, before) {
  if (!before) return;
  const [now, then] = [run.progress || {}, before.progress || {}];
  const said = (now.said || []).length > (then.said || []).length;
  if (run.state !== before.state) {
    if (run.state === "done") tell(`Done. ${run.answer ? run.answer.headline : ""}`);
    else if (run.state === "failed") tell(`The run has failed. ${run.sentence}`);
    else tell(`The run ${STATES[run.state][0]}.`);
  } else if (said) tell(now.said[now.said.length - 1]);
  else if (now.stage !== then.stage && now.stage) tell(`Now ${now.stage}.`);
}

function settingWords(run) {
  const o = run.options;
  const learner = (LEARNERS.find(([name]) => name === o.learner) || ["", "any learner"])[1];
  const parts = [`learner: ${learner}`, `preset ${o.preset || "default"}`,
    `at most ${o.budget || 500} rows`, `seed ${o.seed || 0}`];
  if (o.scoring) parts.splice(1, 0, `yardstick ${o.scoring}`);
  if (o.groups) parts.push(`groups: ${o.groups}`);
  if (o.time_budget) parts.push(`at most ${o.time_budget}`);
  return parts.join(", ");
}

function drawRun(run, card) {
  const file = files.get(run.file);
  const [state, tone] = STATES[run.state];
  const act = (method, path) => () => attempt(() => send(method, `/runs/${run.id}${path}`));
  const button = (words, method, path, kind) => make("button", { type: "button", class: kind,
    "data-key": words + run.id, onclick: act(method, path) }, words);
  const isIdle = ["stopped", "failed", "done"].includes(run.state);
  redraw(card,
    make("div", { class: "titled" },
      make("h3", { id: `title-${run.id}`, tabindex: "-1" },
        `${file ? file.name : "A file"}: ${run.options.target}`),
      make("span", { class: `mark ${tone}` }, state)),
    make("p", { class: "about" }, settingWords(run)),
    run.state === "waiting" ? make("p", { class: "queue sentence" }) : null,
    ["running", "stopping"].includes(run.state) ? make("div", { class: "track" }) : null,
    run.state === "stopped" ? make("p", { class: "sentence" }, run.sentence
      || "Stopped. Resume it to go on where it was.") : null,
    run.state === "failed" ? make("p", { class: "problem" }, run.sentence) : null,
    run.state === "done" ? drawVerdict(run) : null,
    make("div", { class: "actions" },
      run.written.length ? make("span", { class: "label" }, "Download") : null,
      DOWNLOADS.filter(([what]) => run.written.includes(what)).map(([what, words]) =>
        make("a", { class: "button", "data-key": what + run.id, download: "",
          href: `/runs/${run.id}/files/${what}` }, words)),
      ["waiting", "running"].includes(run.state) ? button("Stop", "POST", "/stop") : null,
      run.state === "stopped" ? button("Resume", "POST", "/resume", "main") : null,
      run.state === "failed" ? button("Try again", "POST", "/resume", "main") : null,
      isIdle ? button("Remove", "DELETE", "", "plain") : null));
  drawTrack(run, card);
}

function drawVerdict(run) {
  const answer = run.answer;
  if (!answer) return make("p", { class: "problem" }, "The answer of this run cannot be read.");
  const tone = TONES[answer.verdict] || "";
  const report = `/runs/${run.id}/report`;
  return make("div", {},
    make("div", { class: `verdict ${tone}` },
      make("h4", {}, answer.headline),
      make("p", { class: "sentence" }, answer.why),
      answer.advice.length ? make("h5", {},
        "What you can do with these rows, the simplest that is enough first") : null,
      answer.advice.length ? make("ul", {}, answer.advice.map((line) => make("li", {}, line))) : null,
      answer.notes.length ? make("h5", {}, "Notes") : null,
      answer.notes.length ? make("ul", {}, answer.notes.map((line) => make("li", {}, line))) : null),
    run.written.includes("report") ? make("details", { class: "fold",
      ontoggle: (event) => {
        const fold = event.target;
        if (fold.open && !fold.querySelector("iframe")) {
          fold.append(
            make("p", {}, make("a", { href: report, target: "_blank", rel: "noopener" },
              "Open it in a tab of its own")),
            make("iframe", { src: report, sandbox: "", title: "The report of this run" }));
        }
      } },
    make("summary", { "data-key": `report${run.id}` }, "The report: all of the evidence")) : null);
}

function drawTrack(run, card) {
  const track = card.querySelector(".track");
  if (!track) return;
  const now = run.progress;
  if (!track.childElementCount) {
    track.append(
      make("div", { class: "stage" }, make("strong", {}), make("span", { class: "left" })),
      make("progress", { max: "1", "aria-label": "How far the run is" }),
      make("ul", { class: "windows" }));
  }
  const bar = track.querySelector("progress");
  const list = track.querySelector(".windows");
  track.querySelector("strong").textContent =
    run.state === "stopping" ? "ending in order" : now ? now.stage : "reading the table";
  if (now) bar.value = now.share; else bar.removeAttribute("value");
  track.querySelector(".left").textContent = now ? leftWords(now) : "";
  const said = now ? now.said : [];
  const first = list.firstElementChild;
  // A run that was resumed tells its course anew.
  if (first && first.textContent !== said[0]) list.replaceChildren();
  for (const text of said.slice(list.childElementCount)) {
    const kind = / let in,/.test(text) ? "in" : / refused,/.test(text) ? "out" : undefined;
    list.append(make("li", { class: kind }, text));
  }
}

function leftWords(now) {
  const done = now.budget === null ? `${Math.round(100 * now.share)} %`
    : now.line.replace(/, at most .* left$/, "");
  if (now.seconds_left === null || now.stage === "writing") return done;
  return `${done}, at most ${timeWords(now.seconds_left)} left`;
}

/** Say at the top, and in the title of the tab, what is at work. */
function drawNow() {
  const run = [...runs.values()].find((each) => ["running", "stopping"].includes(each.state));
  const line = $("now");
  line.hidden = !run;
  document.title = "tabtap";
  if (!run) return;
  const file = files.get(run.file);
  const now = run.progress;
  const far = now ? `${now.stage}, ${leftWords(now)}` : "reading the table";
  if (now) document.title = `${Math.round(100 * now.share)} % - tabtap`;
  if (!line.childElementCount) {
    line.append(make("a", { href: "#runs-title" }), make("span", {}));
  }
  line.firstElementChild.setAttribute("href", `#title-${run.id}`);
  line.firstElementChild.textContent = `${file ? file.name : "A file"}: ${run.options.target}`;
  line.lastElementChild.textContent = ` is at work: ${far}.`;
}

function drawQueue() {
  const waiting = [...runs.values()].filter((run) => run.state === "waiting")
    .sort((a, b) => a.created - b.created);
  waiting.forEach((run, place) => {
    const line = $(`run-${run.id}`).querySelector(".queue");
    if (line) {
      line.textContent = place ? `Waits for its turn, after ${counted(place, "other")} that wait.`
        : "Waits for its turn: it is the next.";
    }
  });
}

// ---- What the server tells, from the first moment on.

function onGone({ id }) {
  if (files.delete(id)) {
    forms.delete(id);
    if (chosen === id) chosen = files.size ? [...files.keys()][0] : null;
    drawFiles();
    drawFile();
  }
  if (runs.delete(id)) {
    const card = $(`run-${id}`);
    if (card.contains(document.activeElement)) $("runs-title").focus();
    card.remove();
    $("runs").hidden = !runs.size;
    drawQueue();
    drawNow();
  }
}

function listen() {
  const source = new EventSource("/events");
  const on = (name, act) => source.addEventListener(name, (event) => act(JSON.parse(event.data)));
  let isLost = false;
  let unsure = new Set(); // what was known before the server was lost
  source.addEventListener("open", () => {
    if (isLost) complain("");
    isLost = false;
    unsure = new Set([...files.keys(), ...runs.keys()]);
  });
  source.addEventListener("error", () => {
    isLost = true;
    complain(source.readyState === EventSource.CLOSED
      ? "This page is out of date. Open the address that tabtap serve has printed last."
      : "The server does not answer. If it was ended, start it again with tabtap serve "
        + "and open the address that it prints.");
  });
  on("file", (file) => { unsure.delete(file.id); onFile(file); });
  on("run", (run) => { unsure.delete(run.id); onRun(run); });
  on("gone", onGone);
  on("ready", () => { unsure.forEach((id) => onGone({ id })); unsure.clear(); });
}

$("runs-title").tabIndex = -1;
$("pick").addEventListener("change", (event) => take([...event.target.files]));
for (const name of ["dragenter", "dragover"]) {
  window.addEventListener(name, (event) => {
    event.preventDefault();
    $("drop").classList.add("over");
  });
}
for (const name of ["dragleave", "drop"]) {
  window.addEventListener(name, (event) => {
    event.preventDefault();
    $("drop").classList.remove("over");
  });
}
window.addEventListener("drop", (event) => take([...event.dataTransfer.files]));
// The token has done its work; it does not stay in the address.
window.history.replaceState(null, "", "/");
listen();
