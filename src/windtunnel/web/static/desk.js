// One person at work on one task: the present item, verdicts, undo and redo.
import {newEvent} from "./outbox.js";

const SECONDS_AT_MOST = 86_400;

/**
 * The desk dispatches "shown" when another item or verdict is on it, and "end" when the queue has no further item.
 *
 * `place` is the place in the queue, `item` the item there (null at the end).
 */
export class Desk extends EventTarget {
  constructor({task, queue, history, outbox}) {
    super();
    Object.assign(this, {task, queue, history, outbox, place: 0, item: null, busy: false, since: 0, wanted: 0});
    this.verdicts = new Map();
    this.judged = task.judged;
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
    const waiting = new Set((await this.outbox.pending()).filter(({task}) => task === this.task.task).map(({item}) => item));
    const before = new Map();
    this.history.steps.forEach((step, number) => {
      if (!waiting.has(step.item)) return;
      if (!before.has(step.item)) before.set(step.item, step.before);
      if (number < this.history.cursor) this.verdicts.set(step.item, step.after);
    });
    for (const [item, verdict] of before) if (!this.verdicts.has(item)) this.verdicts.set(item, verdict);
  }

  /** The present verdict on an item, or null. */
  verdictOf(item) {
    return this.verdicts.has(item.item) ? this.verdicts.get(item.item) : item.verdict;
  }

  /** Go to a place without deciding anything. */
  async go(place) {
    const wanted = Math.max(0, place);
    this.wanted = wanted;
    const item = await this.queue.at(wanted);
    if (this.wanted !== wanted) return; // somebody went on meanwhile
    const moved = !this.item || item?.item !== this.item.item;
    Object.assign(this, {place: item ? wanted : Math.min(wanted, this.queue.length), item});
    if (moved) this.since = performance.now();
    this.dispatchEvent(new Event(item ? "shown" : "end"));
  }

  /** Go on by steps; items that need no verdict any more are passed over. */
  async step(by) {
    let place = this.place + by;
    for (;;) {
      const item = this.queue.items.get(place);
      if (place <= 0 || !item?.closed || this.verdictOf(item)) break;
      place += by;
    }
    await this.go(place);
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

  /** Store a verdict on the present item; done when it is on this computer's disk. */
  async decide(verdict) {
    const {item, place} = this;
    if (!item || this.busy) return false;
    this.busy = true;
    try {
      const before = this.verdictOf(item);
      const seconds = Math.min(SECONDS_AT_MOST, (performance.now() - this.since) / 1000);
      const event = newEvent({task: this.task.task, item: item.item, action: "verdict", verdict, seconds});
      const records = this.history.record({event: event.event, item: item.item, place, before, after: verdict});
      await this.outbox.add([event], records);
      this.set(item.item, before, verdict);
    } finally {
      this.busy = false;
    }
    return true;
  }

  async undo() {
    if (this.busy || !this.history.canUndo) return null;
    return this.travel("undo", (step) => step.before);
  }

  async redo() {
    if (this.busy || !this.history.canRedo) return null;
    return this.travel("redo", (step) => step.after);
  }

  async travel(action, verdictAfter) {
    this.busy = true;
    const {step, records} = this.history[action]();
    try {
      const event = newEvent({task: this.task.task, item: step.item, action, target: step.event});
      await this.outbox.add([event], records);
      const other = action === "undo" ? step.after : step.before;
      this.set(step.item, other, verdictAfter(step));
    } finally {
      this.busy = false;
    }
    await this.go(step.place);
    return step;
  }

  set(item, before, verdict) {
    this.judged += (verdict ? 1 : 0) - (before ? 1 : 0);
    this.verdicts.set(item, verdict);
  }
}
