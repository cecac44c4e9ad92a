// The practice round: every verdict is explained at once, and enough correct ones open the task.
import {announce, byId, element, fill} from "./dom.js";
import {newEvent} from "./outbox.js";
import {Panel} from "./panel.js";
import {Preloader} from "./queue.js";
import {get, Unreachable} from "./requests.js";
import {refusesOtherPerson} from "./save_state.js";
import {describe, whyNotJudged} from "./verdict_text.js";

const RETRY_MS = 1500;

function fails(text) {
  byId("failure").hidden = false;
  byId("failure").textContent = text;
}

/** The items of a practice round in the shape of a queue. */
class PracticeItems {
  constructor(items) {
    this.preloader = new Preloader();
    this.update(items);
  }

  update(items) {
    this.items = new Map(items.map((item, place) => [place, {...item, place}]));
    this.length = items.length;
    this.preloader.load(items);
  }

  async at(place) {
    return this.items.get(place) ?? null;
  }

  loaded(place, count) {
    return [...this.items.values()].slice(place, place + count);
  }
}

/** Go through the practice round until it is passed. */
export async function practise(task, page) {
  const path = `/api/tasks/${encodeURIComponent(task.task)}/practice`;
  const {items} = await get(path);
  const round = new Round(task, new PracticeItems(items), path, page);
  byId("desk").hidden = false;
  byId("practice-badge").hidden = false;
  for (const id of ["undo", "redo", "previous", "next"]) byId(id).hidden = true;
  await round.run();
  for (const id of ["undo", "redo", "previous", "next"]) byId(id).hidden = false;
  byId("practice-badge").hidden = true;
  byId("end").hidden = true;
}

class Round {
  constructor(task, queue, path, {outbox, drafts, keys, view, general}) {
    Object.assign(this, {task, queue, path, outbox, drafts, keys, view, place: 0, since: 0, answering: false});
    this.panel = new Panel(byId("panel"), task, drafts, (verdict) => this.decide(verdict));
    this.general = general;
  }

  get item() {
    return this.queue.items.get(this.place);
  }

  /** A verdict of this round; those of an earlier round are hidden until the item is judged again. */
  verdictOf(item) {
    return this.given.get(item.item) ?? null;
  }

  go(place) {
    if (!this.feedback) this.show(place);
  }

  async run() {
    for (;;) {
      this.given = new Map();
      const wrong = [...this.queue.items.values()].filter((item) => item.correct !== true);
      for (const item of wrong) await this.ask(item.place);
      const {score} = await this.load();
      if (score.passed) return this.finish(score);
      await this.again(score);
    }
  }

  /** Ask one item; done when the person has read the answer. */
  ask(place) {
    return new Promise((resolve) => {
      this.feedback = null;
      this.answered = resolve;
      this.keys.set("Verdicts", this.panel.actions);
      this.keys.set("View", this.view.actions());
      this.keys.set("Page", this.general);
      this.show(place);
    });
  }

  show(place) {
    this.place = place;
    this.since = performance.now();
    this.panel.show(this.item, null, {above: this.feedback});
    byId("place").textContent = `${place + 1} of ${this.queue.length}`;
    this.showScore();
    this.view.show(this);
    byId("desk").removeAttribute("aria-busy");
  }

  showScore() {
    const items = [...this.queue.items.values()];
    const correct = items.filter((item) => item.correct).length;
    byId("progress").textContent = `${correct} of ${items.length} correct`;
    Object.assign(byId("progress-bar"), {max: items.length, value: correct});
  }

  async decide(verdict) {
    if (this.answering || this.feedback || refusesOtherPerson(this.outbox)) return;
    this.answering = true;
    byId("failure").hidden = true;
    try {
      await this.view.whenReady();
      const reason = whyNotJudged(this.view, verdict, this.task);
      if (reason) {
        fails(reason);
        announce(reason);
        return;
      }
      const {item} = this;
      const seconds = (performance.now() - this.since) / 1000;
      const event = newEvent({task: this.task.task, item: item.item, action: "verdict", verdict, seconds});
      await this.outbox.add(event, {drafts: this.drafts.remove(item.item)});
      await this.acknowledged(item.item);
      if (this.outbox.refusals.some((refused) => refused.event === event.event)) return; // the notice says why
      this.given.set(item.item, verdict);
      this.queue.update((await this.load()).items);
      this.explain(verdict);
    } catch (error) {
      fails(`The verdict could not be saved: ${error.message} Give it again.`);
    } finally {
      this.answering = false;
    }
  }

  /** The round as the server has it; asked again until the server can be reached. */
  async load() {
    for (;;) {
      try {
        const round = await get(this.path);
        byId("failure").hidden = true;
        return round;
      } catch (error) {
        if (!(error instanceof Unreachable)) throw error;
        fails("The answer cannot be loaded. Your verdict is saved. Trying again…");
        await new Promise((resolve) => {
          setTimeout(resolve, RETRY_MS);
        });
      }
    }
  }

  /** Done when the server has the verdict: only the server knows the right one. */
  async acknowledged(item) {
    const waits = async () => (await this.outbox.pending()).some((event) => event.item === item);
    while (await waits()) {
      await Promise.race([
        new Promise((resolve) => {
          this.outbox.addEventListener("state", resolve, {once: true});
        }),
        new Promise((resolve) => {
          setTimeout(resolve, 1000);
        }),
      ]);
    }
  }

  explain(verdict) {
    const {item} = this;
    const text = item.correct ? "Correct." : `The correct verdict is: ${describe(item.answer, this.task)}.`;
    const next = () => this.answered();
    this.feedback = element("div", {class: `notice ${item.correct ? "success" : "error"}`, id: "feedback"},
      element("p", {}, element("strong", {}, text)),
      item.explanation ? element("p", {}, item.explanation) : null,
      element("button", {type: "button", class: "main", id: "understood", onclick: next}, "Next", element("kbd", {class: "touchless"}, "Enter")));
    this.panel.show(item, verdict, {above: this.feedback});
    this.showScore();
    this.view.show(this);
    this.keys.set("Verdicts", [{keys: ["Enter", "ArrowRight"], label: "Next", run: next}]);
    announce(`${text} ${item.explanation}`);
    byId("understood").focus();
  }

  finish(score) {
    return this.pause("success", "You have passed the practice round.",
      `${score.correct} of ${score.items} correct, ${score.needed} needed.`, "Start the task");
  }

  again(score) {
    return this.pause("error", "Not passed yet. Try the items that were wrong again.",
      `${score.correct} of ${score.items} correct, ${score.needed} needed. Read the instructions again if you are not sure.`, "Try again");
  }

  /** Show the result; done when the person goes on. */
  async pause(kind, title, text, button) {
    byId("desk").hidden = true;
    byId("end").hidden = false;
    this.keys.set("Verdicts", []);
    await new Promise((resolve) => {
      fill(byId("end"), element("div", {class: `notice end ${kind}`}, element("h2", {}, title), element("p", {}, text),
        element("div", {class: "actions"}, element("button", {type: "button", class: "main", id: "go-on", onclick: resolve}, button))));
      announce(`${title} ${text}`);
      byId("go-on").focus();
    });
    byId("desk").hidden = false;
    byId("end").hidden = true;
  }
}
