// The tasks of a person.
import {byId, count, counted, element, fill} from "./dom.js";
import {get} from "./requests.js";
import {openSession, run} from "./session.js";

function practiceText({items, passed, correct}) {
  if (!items) return "";
  return passed ? `Practice round passed, ${correct} of ${items} correct.` : `Starts with a practice round of ${counted(items, "item")}.`;
}

function row(task) {
  const done = task.judged > 0;
  const path = `/tasks/${encodeURIComponent(task.task)}`;
  return element(
    "li", {},
    element("div", {class: "grow"},
      element("h2", {}, task.title),
      element("p", {class: "soft"}, `You have judged ${count(task.judged)} of ${counted(task.items, "item")}. ${practiceText(task.practice)}`),
      element("progress", {max: Math.max(1, task.items), value: task.judged, "aria-label": `Progress of ${task.title}`})),
    element("a", {class: "button main", href: path, "aria-label": `${done ? "Continue" : "Start"} ${task.title}`}, done ? "Continue" : "Start"),
  );
}

run(async () => {
  await openSession();
  const list = byId("tasks");
  const tasks = await get("/api/tasks");
  fill(list, tasks.length ? tasks.map(row) : element("li", {}, "There are no tasks yet."));
  list.removeAttribute("aria-busy");
});
