// The work page of one task.
import {Classes} from "./classes.js";
import {Desk} from "./desk.js";
import {byId} from "./dom.js";
import {Drafts} from "./drafts.js";
import {PAGE} from "./grid_view.js";
import {History} from "./history.js";
import {prepareInstructions} from "./instructions.js";
import {Keys} from "./keys.js";
import {practise} from "./practice.js";
import {Queue} from "./queue.js";
import {get} from "./requests.js";
import {openSession, run} from "./session.js";
import {openDesk, viewOf} from "./workbench.js";

/** The name of the task in the page's address. */
const taskName = () => decodeURIComponent(location.pathname.split("/").at(-1));

run(async () => {
  const {storage, outbox} = await openSession();
  const unsent = outbox.waiting > 0; // the count of the task may or may not include them
  const detail = await get(`/api/tasks/${encodeURIComponent(taskName())}`);
  const task = {...detail, classes: await Classes.load(detail)};
  byId("task").textContent = task.title;
  document.title = `${task.title} · windtunnel`;
  const instructions = prepareInstructions(task);
  const keys = new Keys();
  const view = viewOf(task);
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
  const drafts = await Drafts.open(storage, task.task);
  if (!task.practice.passed) await practise(task, {outbox, drafts, keys, view, general});

  const history = await History.open(storage, task.task);
  const desk = new Desk({task, queue: task.layout === "grid" ? new Queue(task.task, PAGE) : new Queue(task.task), history, drafts, outbox});
  await openDesk({task, desk, view, keys, general});
  if (unsent) await desk.recount();
});
