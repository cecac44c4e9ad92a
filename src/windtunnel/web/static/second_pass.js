// The joint second pass: items without a strict majority, with all votes; one decision each.
import {Classes} from "./classes.js";
import {Desk} from "./desk.js";
import {byId, counted, element} from "./dom.js";
import {Drafts} from "./drafts.js";
import {History} from "./history.js";
import {prepareInstructions} from "./instructions.js";
import {Keys} from "./keys.js";
import {Outbox} from "./outbox.js";
import {Preloader} from "./queue.js";
import {get, withQuery} from "./requests.js";
import {run} from "./session.js";
import {showSaveState} from "./save_state.js";
import {Storage} from "./storage.js";
import {describe} from "./verdict_text.js";
import {openDesk, viewOf} from "./workbench.js";

const WINDOW = 100;

/** The items of the second pass in the shape of a queue; their order stays while the page is open. */
class Conflicts {
  constructor(path, outbox) {
    Object.assign(this, {path, outbox, items: new Map(), length: 0, ended: true, reason: ""});
    this.preloader = new Preloader();
  }

  async start() {
    await this.refresh();
    return 0;
  }

  /** Load items that are new in the second pass. */
  async refresh() {
    const known = new Set([...this.items.values()].map(({item}) => item));
    for (let start = 0, total = 1; start < total; start += WINDOW) {
      const page = await get(withQuery(this.path, {start, count: WINDOW}));
      total = page.total;
      for (const {decision, ...item} of page.items) {
        if (known.has(item.item)) continue;
        this.items.set(this.length, {...item, place: this.length, verdict: decision, closed: false});
        this.length += 1;
      }
    }
  }

  async at(place) {
    if (place >= this.length) await this.explainEnd();
    this.preloader.load(this.loaded(place, 6));
    return this.items.get(place) ?? null;
  }

  /** Say at the end how many conflicts have no decision, once the decisions of this page have been sent. */
  async explainEnd() {
    await this.outbox.flush();
    const {undecided} = await get(withQuery(this.path, {start: 0, count: 1}));
    this.reason = undecided ? `${counted(undecided, "conflict")} without a decision.` : "Every conflict has a decision.";
  }

  loaded(place, count) {
    return Array.from({length: count}, (_, n) => this.items.get(place + n)).filter(Boolean);
  }
}

function votes(item, task) {
  return element("section", {class: "votes", "aria-label": "Votes"},
    element("h3", {}, "Votes"),
    element("ul", {}, item.votes.map(({name, verdict}) => element("li", {}, element("strong", {}, name), `: ${describe(verdict, task, item.titles)}`,
      verdict.note ? element("div", {class: "soft"}, `“${verdict.note}”`) : null))));
}

run(async () => {
  const name = decodeURIComponent(location.pathname.split("/").at(-2));
  const path = `/api/tasks/${encodeURIComponent(name)}`;
  const person = await get("/api/session");
  const storage = await Storage.open(`windtunnel second pass ${person.person} ${name}`);
  const owned = `/api/owner/tasks/${encodeURIComponent(name)}`;
  const outbox = new Outbox(storage, `${owned}/resolve`, person.person);
  showSaveState(outbox);
  await outbox.start();
  const detail = await get(path);
  const classes = await Classes.load(detail);
  byId("task").textContent = `Second pass: ${detail.title}`;
  const queue = new Conflicts(`${owned}/conflicts`, outbox);
  await queue.start();
  const decided = [...queue.items.values()].filter(({verdict}) => verdict).length;
  // The second pass looks at one item at a time, in whatever layout people judged.
  const task = {...detail, classes, items: queue.length, judged: decided, done: "decided", layout: detail.layout === "grid" ? "single" : detail.layout};
  const keys = new Keys();
  const instructions = prepareInstructions(task);
  byId("open-instructions").onclick = () => instructions.open();
  const shape = ({task: _, seconds: __, action, ...event}) => ({...event, action: action === "verdict" ? "decide" : action});
  const history = await History.open(storage, name);
  const drafts = await Drafts.open(storage, name);
  const desk = new Desk({task, queue, history, drafts, outbox, shape});
  const general = [
    {keys: ["?"], label: "This help", run: () => keys.help()},
    {keys: ["i"], label: "Instructions", run: () => instructions.open()},
  ];
  await openDesk({task, desk, view: viewOf(task), keys, general, extra: (item) => votes(item, task)});
});
