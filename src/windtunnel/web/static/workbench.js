// A desk on the page: panel, view, buttons and keys, for reviewers and for the second pass.
import {announce, byId, count, counted, element, fill} from "./dom.js";
import {GridView} from "./grid_view.js";
import {ImageView} from "./image_view.js";
import {Panel} from "./panel.js";
import {refusesOtherPerson} from "./save_state.js";
import {describe, whyNotJudged} from "./verdict_text.js";

const AUTO_ADVANCE = "auto-advance";

/** The view for the layout of a task. */
export function viewOf(task) {
  return task.layout === "grid" ? new GridView(byId("stage"), task) : new ImageView(byId("stage"), task.layout === "pair");
}

function showProgress(task, desk) {
  byId("progress").textContent = `${count(desk.judged)} of ${count(task.items)} ${task.done ?? "judged"}`;
  Object.assign(byId("progress-bar"), {max: Math.max(1, task.items), value: desk.judged});
}

function showPlace(desk) {
  byId("place").textContent = `${count(desk.place + 1)}`;
  byId("previous").disabled = desk.place === 0;
  byId("undo").disabled = !desk.history.canUndo;
  byId("redo").disabled = !desk.history.canRedo;
}

/** Nothing fails silently: verdicts that this browser could not store are named until they are given again. */
function showLost(desk) {
  const {lost} = desk.outbox;
  const places = [...desk.queue.items.values()].filter(({item}) => lost.has(item)).map(({place}) => place);
  byId("lost").hidden = !lost.size;
  fill(
    byId("lost"),
    element("p", {}, `This browser could not save the last verdict on ${counted(lost.size, "item")}: ${[...new Set(lost.values())].join(" ")} Give it again.`),
    element("div", {class: "actions"}, places.map((place) => element("button", {type: "button", onclick: () => desk.go(place)}, `Go to item ${count(place + 1)}`))),
  );
}

function showEnd(desk, refresh) {
  const focused = byId("desk").contains(document.activeElement);
  byId("desk").hidden = true;
  byId("end").hidden = false;
  fill(
    byId("end"),
    element("div", {class: "notice success end"},
      element("h2", {}, desk.queue.reason || "There is nothing more to judge."),
      element("p", {}, `${counted(desk.judged, "item")} ${desk.task.done ?? "judged"}. You can go back and change verdicts.`),
      element("div", {class: "actions"},
        element("button", {type: "button", id: "end-back", onclick: () => desk.step(-1)}, "← Back"),
        element("button", {type: "button", onclick: refresh}, "Check for more items"),
        element("a", {class: "button main", href: byId("home").getAttribute("href")}, byId("home").textContent))),
  );
  if (focused) byId("end-back").focus(); // the control that had the focus is hidden now
  announce(desk.queue.reason || "There is nothing more to judge.");
}

/** The check box for going on after a verdict. */
function advanceBox() {
  const box = element("input", {type: "checkbox", id: AUTO_ADVANCE});
  box.checked = localStorage.getItem(AUTO_ADVANCE) !== "off";
  box.addEventListener("change", () => localStorage.setItem(AUTO_ADVANCE, box.checked ? "on" : "off"));
  return {box, label: element("p", {}, element("label", {}, box, "Go to the next item after a verdict"))};
}

function moveActions(desk) {
  return [
    {keys: ["ArrowRight"], label: "Next item, without a verdict", run: () => desk.step(1), repeats: true},
    {keys: ["ArrowLeft"], label: "Previous item, without a verdict", run: () => desk.step(-1), repeats: true},
    {keys: ["End"], label: "First item without a verdict", run: () => desk.goToOpen()},
    {keys: ["Home"], label: "First item", run: () => desk.go(0)},
  ];
}

/** Put a desk on the page and start it. `extra(item)` returns elements to show above the choices. */
export async function openDesk({task, desk, view, keys, general, extra = () => null}) {
  const {box, label} = advanceBox();
  const failure = byId("failure");
  const fails = (text) => {
    failure.hidden = false;
    failure.textContent = text;
  };
  const warn = (text) => {
    fails(text);
    announce(text);
  };
  let decisions = 0;

  async function decide(verdict, {stay = false} = {}) {
    const {item, place} = desk;
    if (!item) {
      announce("There is no item here.");
      return;
    }
    if (refusesOtherPerson(desk.outbox)) return;
    decisions += 1;
    const own = decisions;
    if (!view.ready) {
      // Nobody judges what is not on the screen yet; of several keys, the last one counts.
      announce("The image is still loading.");
      await view.whenReady();
      if (desk.item !== item) {
        warn(`Item ${count(place + 1)} has no new verdict: you went on before its image was loaded.`);
        return;
      }
      if (own !== decisions) return;
    }
    const reason = whyNotJudged(view, verdict, task);
    if (reason) {
      warn(reason);
      return;
    }
    announce(describe(verdict, task));
    await desk.decide(verdict, {stay: stay || !box.checked});
  }

  async function travel(action) {
    if (refusesOtherPerson(desk.outbox)) return;
    const step = await desk[action]();
    if (step) announce(`${action === "undo" ? "Undone" : "Redone"}: ${describe(step.after, task)}`);
    else announce(`Nothing to ${action}.`);
  }

  const undo = () => travel("undo");
  const redo = () => travel("redo");
  const panel = new Panel(byId("panel"), task, desk.drafts, decide);
  desk.outbox.addEventListener("state", () => showLost(desk));
  desk.addEventListener("unreachable", () => {
    byId("desk").removeAttribute("aria-busy");
    fails("The next items cannot be loaded. Your verdicts are saved. Trying again…");
  });
  desk.addEventListener("moving", () => byId("desk").setAttribute("aria-busy", "true"));
  desk.addEventListener("shown", async () => {
    failure.hidden = true;
    byId("desk").hidden = false;
    byId("end").hidden = true;
    panel.keepFocus(() => panel.show(desk.item, desk.verdictOf(desk.item), {above: extra(desk.item), below: label}));
    showPlace(desk);
    showProgress(task, desk);
    await view.show(desk);
    byId("desk").removeAttribute("aria-busy");
  });
  desk.addEventListener("end", () => {
    byId("desk").removeAttribute("aria-busy");
    showProgress(task, desk);
    showPlace(desk);
    showEnd(desk, async () => {
      await desk.queue.refresh();
      await desk.go(desk.place);
    });
  });
  byId("previous").onclick = () => desk.step(-1);
  byId("next").onclick = () => desk.step(1);
  byId("undo").onclick = () => undo();
  byId("redo").onclick = () => redo();
  keys.set("Verdicts", panel.actions);
  keys.set("Navigation", moveActions(desk));
  keys.set("History", [
    {keys: ["z", "Ctrl+z"], label: "Undo, any number of steps", run: undo, repeats: true},
    {keys: ["y", "Ctrl+y", "Ctrl+Shift+z"], label: "Redo", run: redo, repeats: true},
  ]);
  keys.set("View", view.actions());
  keys.set("Page", general);
  await desk.start();
}
