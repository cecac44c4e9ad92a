// One person at work on one task: the present item, verdicts, undo and redo.
import {newEvent} from "./outbox.js";
import {get, Unreachable} from "./requests.js";
import {same} from "./verdict_text.js";

const SECONDS_AT_MOST = 86_400;
const RETRY_MS = 1500;

/**
 * The desk dispatches "moving" when it goes to another place, "shown" when another item or verdict is on it, "end" when
 * the queue has no further item, and "unreachable" when the next items cannot be loaded; it tries again by itself.
 *
 * `shape` turns an event into the one that the server takes. `place` is the place in the queue, `item` the item there (null at the end).
 */
export class Desk extends EventTarget {
  constructor({task, queue, history, drafts, outbox, shape = (event) => event}) {
    super();
    Object.assign(this, {task, queue, history, drafts, outbox, shape, place: 0, item: null, since: 0, request: null});
    this.verdicts = new Map();
    this.judged = task.judged;
    this.changes = 0;
    this.writing = []; // items of events that are not on the disk yet
    outbox.addEventListener("refusal", ({detail}) => this.takeBack(detail));
    outbox.addEventListener("present", ({detail}) => this.reconcile(detail.filter((row) => row.task === task.task)));
  }

  /** Show the server's verdicts again instead of those that it refused, and forget the refused steps. */
  takeBack(refused) {
    const own = refused.filter(({item}) => this.verdicts.has(item));
    const stored = new Map([...this.queue.items.values()].map(({item, verdict}) => [item, verdict]));
    for (const {item} of own) this.set(item, this.verdicts.get(item), stored.get(item) ?? null);
    const events = new Set(own.map(({event, target}) => target ?? event));
    const drafts = this.history.steps.filter(({event, draft}) => draft && events.has(event)).map(({draft}) => draft);
    drafts.forEach((draft) => this.drafts.put(draft));
    const records = {...this.history.drop(events), drafts: {put: drafts, remove: []}};
    // If this fails, the steps are removed with the next verdict.
    this.outbox.change(records).then(() => this.history.stored(records), () => null);
    this.refresh();
  }

  /** Take over the server's verdicts on items for which nothing is on its way. */
  async reconcile(present) {
    const waiting = new Set((await this.outbox.pending()).map(({item}) => item));
    const places = new Map([...this.queue.items.values()].map((item) => [item.item, item]));
    let changed = false;
    for (const {item, verdict: found} of present) {
      const verdict = found && {...this.task.blank, ...found};
      if (waiting.has(item) || this.writing.includes(item)) continue;
      if (places.has(item)) places.get(item).verdict = verdict;
      if (!this.verdicts.has(item) || same(this.verdicts.get(item), verdict)) continue;
      this.set(item, this.verdicts.get(item), verdict);
      changed = true;
    }
    if (changed) this.refresh();
  }

  /** Open the queue at the first item without a verdict. */
  async start() {
    await this.restore();
    let place = await this.queue.start();
    for (let item = await this.queue.at(place); item && this.verdictOf(item); item = await this.queue.at(place)) place += 1;
    await this.go(place);
  }

  /** Verdicts that are not sent yet are newer than those of the server. */
  async restore() {
    const steps = new Map(this.history.steps.map((step, number) => [step.event, {...step, done: number < this.history.cursor}]));
    const waiting = (await this.outbox.pending()).filter((event) => steps.has(event.target ?? event.event));
    const known = new Map(); // the server's verdicts, by item
    for (const {action, event, target, item} of waiting) {
      const step = steps.get(target ?? event);
      if (!known.has(item)) known.set(item, action === "undo" ? step.after : step.before);
    }
    for (const [item, stored] of known) {
      const own = [...steps.values()].filter((step) => step.item === item);
      const last = own.filter((step) => step.done).at(-1);
      this.set(item, stored, last ? last.after : own[0].before);
    }
  }

  /** Take over the server's count of judged items when it has all verdicts. */
  async recount() {
    for (;;) {
      await this.outbox.whenSaved();
      const {changes} = this;
      const {judged} = await get(`/api/tasks/${encodeURIComponent(this.task.task)}`);
      if (this.changes !== changes) continue; // a verdict was given meanwhile
      this.judged = judged;
      this.refresh();
      return;
    }
  }

  /** The present verdict on an item, or null. */
  verdictOf(item) {
    return this.verdicts.has(item.item) ? this.verdicts.get(item.item) : item.verdict;
  }

  /** Go to a place without deciding anything. */
  async go(place) {
    const wanted = Math.max(0, place);
    const request = {};
    this.request = request;
    this.dispatchEvent(new Event("moving"));
    let item;
    try {
      item = await this.queue.at(wanted);
    } catch (error) {
      if (this.request !== request) return;
      if (!(error instanceof Unreachable)) throw error;
      this.dispatchEvent(new CustomEvent("unreachable", {detail: error}));
      setTimeout(() => this.request === request && this.go(wanted), RETRY_MS);
      return;
    }
    if (this.request !== request) return; // the person went on meanwhile
    const moved = !this.item || item?.item !== this.item.item;
    Object.assign(this, {place: item ? wanted : Math.min(wanted, this.queue.length), item});
    if (moved) this.since = performance.now();
    this.dispatchEvent(new Event(item ? "shown" : "end"));
  }

  /** Show the present item again; a move that is under way goes on. */
  refresh() {
    if (this.request) this.dispatchEvent(new Event(this.item ? "shown" : "end"));
  }

  /** Go on by steps; items that need no verdict any more are passed over. */
  async step(by) {
    await this.go(this.placeAfter(by));
  }

  placeAfter(by) {
    let place = this.place + by;
    for (;;) {
      const item = this.queue.items.get(place);
      if (place <= 0 || !item?.closed || this.verdictOf(item)) return place;
      place += by;
    }
  }

  /** The place of an item now, or the place where it was if it is not loaded; the order of the second pass may change. */
  placeOf({item, place}) {
    return [...this.queue.items.values()].find((other) => other.item === item)?.place ?? place;
  }

  /** Go to the first item without a verdict. */
  async goToOpen() {
    let place = 0;
    for (;;) {
      const item = await this.queue.at(place);
      if (!item || !(item.closed || this.verdictOf(item))) break;
      place += 1;
    }
    await this.go(place);
  }

  /** Give a verdict on the present item and go on, or stay. The next item need not wait until it is on the disk. */
  async decide(verdict, {stay = false} = {}) {
    const {item, place} = this;
    const before = this.verdictOf(item);
    const draft = this.drafts.of(item.item, before);
    const next = stay ? place : this.placeAfter(1);
    const then = {place: next, item: this.queue.items.get(next)?.item ?? null};
    const seconds = Math.min(SECONDS_AT_MOST, (performance.now() - this.since) / 1000);
    const event = newEvent({task: this.task.task, item: item.item, action: "verdict", verdict, seconds});
    // Undo brings back what was typed before the first verdict; later changes are what it takes back.
    const step = {event: event.event, item: item.item, place, before, after: verdict, draft: before ? null : draft, then};
    const records = {...this.history.record(step), drafts: this.drafts.remove(item.item)};
    this.set(item.item, before, verdict);
    this.store(event, records, () => {
      this.history.drop(new Set([event.event]));
      if (draft) this.drafts.put(draft);
      if (this.verdicts.get(item.item) === verdict) this.set(item.item, verdict, before);
    });
    await this.go(next);
  }

  /** Undo the last step and go to its item, with its draft; returns the step, or null if there is none. */
  async undo() {
    if (!this.history.canUndo) return null;
    const {step, records} = this.history.undo();
    const drafts = step.draft ? this.drafts.put(step.draft) : this.drafts.remove(step.item);
    return this.travel("undo", step, [step.after, step.before], {...records, drafts}, step);
  }

  /** Redo a step and go on to where the person was after it; returns the step, or null if there is none. */
  async redo() {
    if (!this.history.canRedo) return null;
    const {step, records} = this.history.redo();
    const drafts = this.drafts.remove(step.item);
    return this.travel("redo", step, [step.before, step.after], {...records, drafts}, step.then ?? step);
  }

  async travel(action, step, [before, after], records, target) {
    this.set(step.item, before, after);
    this.store(newEvent({task: this.task.task, item: step.item, action, target: step.event}), records, () => {
      this.history.takeBack(step);
      if (action === "redo" && step.draft) this.drafts.put(step.draft);
      if (this.verdicts.get(step.item) === after) this.set(step.item, after, before);
    });
    await this.go(this.placeOf(target));
    return step;
  }

  /** Write to this browser's database, in order; `takeBack` is called if that is impossible. */
  async store(event, records, takeBack) {
    this.writing.push(event.item);
    try {
      await this.outbox.add(this.shape(event), records);
      this.history.stored(records);
    } catch {
      takeBack();
      this.refresh();
    } finally {
      this.writing.splice(this.writing.indexOf(event.item), 1);
    }
  }

  set(item, before, verdict) {
    this.changes += 1;
    this.judged += (verdict ? 1 : 0) - (before ? 1 : 0);
    this.verdicts.set(item, verdict);
  }
}
