// The work page of one task.
import {Desk} from "./desk.js";
import {announce, byId, count, element, fill} from "./dom.js";
import {GridView} from "./grid_view.js";
import {History} from "./history.js";
import {ImageView} from "./image_view.js";
import {prepareInstructions} from "./instructions.js";
import {Keys} from "./keys.js";
import {Panel} from "./panel.js";
import {practise} from "./practice.js";
import {Queue} from "./queue.js";
import {get} from "./requests.js";
import {openSession, run} from "./session.js";
import {describe} from "./verdict_text.js";

const AUTO_ADVANCE = "auto-advance";

/** The name of the task in the page's address. */
const taskName = () => decodeURIComponent(location.pathname.split("/").at(-1));

function showProgress(task, desk) {
  byId("progress").textContent = `${count(desk.judged)} of ${count(task.items)} judged`;
  Object.assign(byId("progress-bar"), {max: Math.max(1, task.items), value: desk.judged});
}

function showPlace(desk) {
  byId("place").textContent = `${count(desk.place + 1)}`;
  byId("previous").disabled = desk.place === 0;
  byId("undo").disabled = !desk.history.canUndo;
  byId("redo").disabled = !desk.history.canRedo;
}

function showEnd(desk, refresh) {
  byId("desk").hidden = true;
  byId("end").hidden = false;
  fill(
    byId("end"),
    element("div", {class: "notice success end"},
      element("h2", {}, desk.queue.reason || "There is nothing more to judge."),
      element("p", {}, `You have judged ${count(desk.judged)}. You can go back and change verdicts.`),
      element("div", {class: "actions"},
        element("button", {type: "button", onclick: () => desk.step(-1)}, "← Back"),
        element("button", {type: "button", onclick: refresh}, "Look for more"),
        element("a", {class: "button main", href: "/"}, "Tasks"))),
  );
  announce(desk.queue.reason || "There is nothing more to judge.");
}

/** The check box for going on after a verdict. */
function advanceBox() {
  const box = element("input", {type: "checkbox", id: AUTO_ADVANCE});
  box.checked = localStorage.getItem(AUTO_ADVANCE) !== "off";
  box.addEventListener("change", () => localStorage.setItem(AUTO_ADVANCE, box.checked ? "on" : "off"));
  return {box, label: element("p", {}, element("label", {}, box, " Go on after a verdict"))};
}

function moveActions(desk) {
  return [
    {keys: ["ArrowRight"], label: "Next, without deciding", run: () => desk.step(1), repeats: true},
    {keys: ["ArrowLeft"], label: "Back, without deciding", run: () => desk.step(-1), repeats: true},
    {keys: ["End"], label: "First one without a verdict", run: () => desk.goToOpen()},
    {keys: ["Home"], label: "The first one", run: () => desk.go(0)},
  ];
}

run(async () => {
  const {storage, outbox} = await openSession();
  const task = await get(`/api/tasks/${encodeURIComponent(taskName())}`);
  const instructions = prepareInstructions(task);
  const keys = new Keys();
  const view = task.layout === "grid" ? new GridView(byId("stage"), task) : new ImageView(byId("stage"), task.layout === "pair");
  byId("open-instructions").onclick = () => instructions.open();
  const general = [
    {keys: ["?"], label: "This help", run: () => keys.help()},
    {keys: ["i"], label: "Instructions", run: () => instructions.open()},
  ];

  const seen = `seen ${task.task}`;
  if (!(await storage.get("settings", seen)) || !task.practice.passed) {
    byId("desk").hidden = true;
    await instructions.open(task.practice.passed ? "Start" : "Start the practice round");
    await storage.write(["settings"], ({settings}) => settings.put({name: seen, value: true}));
  }
  if (!task.practice.passed) await practise(task, {outbox, keys, view, general});

  const history = await History.open(storage, task.task);
  const desk = new Desk({task, queue: new Queue(task.task), history, outbox});
  const {box, label} = advanceBox();

  async function decide(verdict, {stay = false} = {}) {
    if (!view.ready) {
      announce("The image is still loading.");
      return;
    }
    if (!(await desk.decide(verdict))) return;
    announce(`${describe(verdict, task)}, kept`);
    if (box.checked && !stay) await desk.step(1);
    else await desk.go(desk.place);
  }

  async function travel(action) {
    const step = await desk[action]();
    if (step) announce(`${action === "undo" ? "Undone" : "Redone"}: ${describe(step.after, task)}`);
    else announce(`Nothing to ${action}.`);
  }

  const panel = new Panel(byId("panel"), task, decide);
  desk.addEventListener("shown", async () => {
    byId("desk").hidden = false;
    byId("end").hidden = true;
    panel.keepFocus(() => panel.show(desk.item, desk.verdictOf(desk.item), label));
    showPlace(desk);
    showProgress(task, desk);
    await view.show(desk);
    byId("desk").removeAttribute("aria-busy");
  });
  desk.addEventListener("end", () => {
    showProgress(task, desk);
    showPlace(desk);
    showEnd(desk, async () => {
      await desk.queue.refresh();
      await desk.go(desk.place);
    });
  });
  byId("previous").onclick = () => desk.step(-1);
  byId("next").onclick = () => desk.step(1);
  byId("undo").onclick = () => travel("undo");
  byId("redo").onclick = () => travel("redo");
  keys.set("Verdicts", panel.actions);
  keys.set("Moving", moveActions(desk));
  keys.set("History", [
    {keys: ["z", "Ctrl+z"], label: "Undo, as far back as you like", run: () => travel("undo"), repeats: true},
    {keys: ["y", "Ctrl+y", "Ctrl+Shift+z"], label: "Redo", run: () => travel("redo"), repeats: true},
  ]);
  keys.set("View", view.actions());
  keys.set("Page", general);
  await desk.start();
});
