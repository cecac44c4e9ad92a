// The owner's page: progress, speed and agreement of every task, the second pass and the export.
import {byId, count, counted, element, fill} from "./dom.js";
import {get} from "./requests.js";
import {openSession, run, showFailure} from "./session.js";

const REFRESH_MS = 10_000;
const NONE = "–";
const INTERVALS = "In brackets: 95 % intervals. Those of frame tasks are clustered by frame set.";

const cell = (value) => element("td", {class: "number"}, value);
const percent = (value) => `${(100 * value).toFixed(1)} %`;
const plain = (value) => value.toFixed(3);

/** A number with its interval. */
function figure({value, low, high}, format) {
  if (value === null) return NONE;
  return low === null ? format(value) : `${format(value)} (${format(low)} to ${format(high)})`;
}

function table(caption, head, rows) {
  return element("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption},
    element("table", {},
      element("caption", {class: "visually-hidden"}, caption),
      element("thead", {}, element("tr", {}, head.map((title, n) => element("th", {scope: "col", class: n ? "number" : ""}, title)))),
      element("tbody", {}, rows)));
}

function card(name, value, more = "") {
  return element("div", {class: "card"}, element("div", {class: "name"}, name), element("div", {class: "value"}, count(value)),
    element("div", {class: "direction"}, more));
}

function ago(milliseconds) {
  if (milliseconds === null) return "never";
  const minutes = Math.round((Date.now() - milliseconds) / 60_000);
  if (minutes < 1) return "now";
  if (minutes < 120) return `${minutes} min ago`;
  return minutes < 2880 ? `${Math.round(minutes / 60)} h ago` : `${Math.round(minutes / 1440)} days ago`;
}

function people(progress) {
  if (!progress.people.length) return element("p", {class: "soft"}, "Nobody has judged an item yet.");
  return table(`People of ${progress.title}`,
    ["person", "judged", "per hour", "median, s", "check items correct", "practice", "last verdict"],
    progress.people.map((person) => element("tr", {},
      element("th", {scope: "row"}, person.name),
      cell(count(person.judged)),
      cell(person.per_hour === null ? NONE : count(Math.round(person.per_hour))),
      cell(person.median_seconds === null ? NONE : person.median_seconds.toFixed(1)),
      cell(person.checks ? `${person.checks_correct} of ${person.checks}` : NONE),
      cell(person.practice.items ? `${person.practice.correct} of ${person.practice.items}${person.practice.passed ? ", passed" : ""}` : NONE),
      cell(ago(person.last)))));
}

function agreement({questions, accuracy}) {
  const measured = questions.filter(({items}) => items);
  if (!measured.length) return [element("p", {class: "soft"}, "Agreement needs items that two people have judged.")];
  const pairs = measured.flatMap(({question, pairs: all}) => all.map((pair) => ({question, ...pair})));
  return [
    element("p", {class: "soft"}, INTERVALS),
    table("Agreement by question, with 95 % intervals",
      ["question", "items", "agreement", "Fleiss' kappa", "Krippendorff's alpha"],
      measured.map((one) => element("tr", {}, element("th", {scope: "row"}, one.question), cell(count(one.items)),
        cell(figure(one.percent, percent)), cell(figure(one.fleiss_kappa, plain)), cell(figure(one.krippendorff_alpha, plain))))),
    pairs.length ? element("details", {}, element("summary", {}, "Agreement of each pair of reviewers"),
      table("Agreement of each pair of reviewers", ["people", "question", "items", "agreement", "Cohen's kappa"],
        pairs.map((pair) => element("tr", {}, element("th", {scope: "row"}, `${pair.first}, ${pair.second}`), cell(pair.question),
          cell(count(pair.items)), cell(figure(pair.percent, percent)), cell(figure(pair.cohen_kappa, plain)))))) : null,
    accuracy.length ? table("Accuracy of reviewers, with 95 % Clopper-Pearson intervals", ["reviewer", "measured on", "items", "correct", "accuracy"],
      accuracy.map((one) => element("tr", {}, element("th", {scope: "row"}, one.who), cell(one.what), cell(count(one.items)),
        cell(count(one.correct)), cell(figure(one.accuracy, percent))))) : null,
  ];
}

const FILES = {
  "verdicts.csv": "Decisions", "votes.csv": "All votes", "events.csv": "All events", "agreement.json": "Agreement",
};

function downloads(task) {
  const path = `/api/owner/tasks/${encodeURIComponent(task)}/export`;
  return element("div", {class: "actions"}, Object.entries(FILES).map(([file, title]) => element(
    "a", {class: "button", href: `${path}/${file}`, download: `${task}-${file}`}, title, element("span", {class: "soft"}, file))));
}

async function section(task) {
  const path = `/api/owner/tasks/${encodeURIComponent(task.task)}`;
  const [progress, agreed] = await Promise.all([get(`${path}/progress`), get(`${path}/agreement`)]);
  const secondPass = (title, kind) => element("a", {class: `button ${kind}`, href: `/owner/${encodeURIComponent(task.task)}/second-pass`}, title);
  const conflicts = progress.conflicts
    ? secondPass(`Second pass: ${count(progress.conflicts)} to decide`, "main")
    : [element("p", {class: "soft"}, progress.resolved ? "Every conflict is decided." : "There are no conflicts."),
      progress.resolved ? secondPass("Change decisions", "") : null].filter(Boolean);
  return element("section", {id: `task-${task.task}`, "aria-labelledby": `title-${task.task}`},
    element("h2", {id: `title-${task.task}`}, progress.title),
    element("p", {class: "soft"}, `${progress.kind}, ${counted(progress.overlap, "reviewer")} per item`),
    element("progress", {max: Math.max(1, progress.items), value: progress.items - progress.open, "aria-label": `Progress of ${progress.title}`}),
    element("div", {class: "cards"},
      card("items", progress.items), card("open", progress.open, "fewer verdicts than required"),
      card("accepted", progress.accepted, "strict majority or second pass"), card("rejected", progress.rejected),
      card("conflicts", progress.conflicts, "no strict majority"), card("resolved", progress.resolved, "decided in the second pass")),
    element("h3", {}, "Second pass"), conflicts,
    element("h3", {}, "People"), people(progress),
    element("h3", {}, "Agreement"), agreement(agreed).filter(Boolean),
    element("h3", {}, "Export"), downloads(task.task));
}

async function show() {
  const tasks = await get("/api/tasks");
  const sections = await Promise.all(tasks.map(section));
  // A closed table that the reader has opened stays open.
  const open = [...document.querySelectorAll("details")].map((one) => one.open);
  const links = tasks.map(({task, title}) => element("li", {}, element("a", {href: `#task-${task}`}, title)));
  const contents = tasks.length > 1 ? element("nav", {"aria-label": "Tasks"}, element("ul", {class: "chips"}, links)) : null;
  fill(byId("tasks"), contents, sections.length ? sections : element("p", {}, "There are no tasks yet."));
  document.querySelectorAll("details").forEach((one, n) => {
    one.open = open[n] ?? false;
  });
  byId("tasks").removeAttribute("aria-busy");
}

run(async () => {
  await openSession();
  await show();
  byId("refresh").addEventListener("click", () => show().catch(showFailure));
  setInterval(() => document.visibilityState === "visible" && !byId("tasks").contains(document.activeElement) && show().catch(() => null), REFRESH_MS);
});
